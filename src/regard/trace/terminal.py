r"""Heat map: $a_{ti}$ as one coloured cell, in a terminal of any width.

Each source word is hung from a leader over its own column and each target word stands at the right of its row, so
every word is the last thing on its line: no two terminals agree how wide "राहुल" is, and none of them can shift a cell.
It knows no reader and no head: it draws one matrix with its two axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, final

from rich.console import Console, ConsoleOptions
from rich.text import Text

from regard.shape import Float
from regard.trace.core import Axis
from regard.trace.label import LEFT_TO_RIGHT, clean, clipped, columns, turned

SHADES: Final = " ░▒▓█"
# One hue from night to day; the cells carry their own ground, so dark and light terminals show the same picture.
RAMP: Final = ((20, 28, 44), (28, 66, 112), (38, 120, 178), (116, 188, 232), (236, 248, 255))
WIDEST, NARROWEST = 5, 2  # columns of a cell; from 4 on there is room for the number
LABEL: Final = 24  # columns that a target word may ask for before cells shrink and panels fold


@final
@dataclass(frozen=True, slots=True)
class Heatmap:
    """Target words down, source words across. Print it with rich, or ask for its `text`."""

    weights: Float[Any, "query slot"]
    source: Axis
    target: Axis
    title: str = ""

    def __post_init__(self) -> None:
        if tuple(self.weights.shape) != (len(self.target), len(self.source)):
            raise ValueError(f"weights {tuple(self.weights.shape)} for {len(self.target)}x{len(self.source)} labels")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        # Sixteen colours hold no ramp. NO_COLOR and pipes reach us through the console.
        colour = console.color_system in {"256", "truecolor"} and not console.no_color
        yield self.text(options.max_width, colour)

    def text(self, width: int = 80, colour: bool = False) -> Text:
        """The heat map in at most `width` columns; without colour, in shades."""
        top = max(self.weights.max().item(), 1e-9) if 0 not in self.weights.shape else 1.0
        room = min(max((columns(each) for each in self.target.labels), default=0), LABEL, width // 3)
        cell = max(NARROWEST, min(WIDEST, (width - room - 1) // max(len(self.source), 1)))
        across = max(1, (width - room - 1) // cell)
        lines = [Text(clipped(clean(self.title), width), style="bold")] if self.title else []
        for start in range(0, len(self.source), across):
            slots = range(start, min(start + across, len(self.source)))
            lines += [*self._header(slots, cell, width), *self._rows(slots, cell, top, width, colour), Text()]
        lines.append(_legend(top, colour))
        return Text("\n", no_wrap=True, overflow="crop").join(lines)

    def _header(self, slots: range, cell: int, width: int) -> Iterator[Text]:
        """One line a source word: the leaders of the words before it, its own corner, the word."""
        for at, slot in enumerate(slots):
            label = clean(self.source.labels[slot])
            leaders = "".join("│".ljust(cell) for _ in range(at))
            line = Text(_mark(label) + leaders, style="dim")
            line.append("┌ ", style="dim")
            line.append(clipped(label, width - at * cell - 2), style="not dim")
            yield line

    def _rows(self, slots: range, cell: int, top: float, width: int, colour: bool) -> Iterator[Text]:
        for query, label in enumerate(map(clean, self.target.labels)):
            line = Text(_mark(label))
            for slot in slots:
                weight = self.weights[query, slot].item()
                if colour:
                    line.append(_number(weight, cell), style=_style(weight / top))
                else:
                    shade = _shade(weight / top)
                    # A dot under its leader shows the way down and across where nothing was read.
                    line.append("·".ljust(cell) if shade == " " else shade * cell)
            line.append(" " + clipped(label, width - len(slots) * cell - 1))
            yield line


def _mark(label: str) -> str:
    return LEFT_TO_RIGHT if turned(label) else ""


def _shade(share: float) -> str:
    return SHADES[round(min(max(share, 0.0), 1.0) * (len(SHADES) - 1))]


def _number(weight: float, cell: int) -> str:
    """The weight in percent where it is worth reading and there is room for it."""
    percent = f"{weight:.0%}".removesuffix("%")
    return percent.center(cell) if cell > 3 and weight >= 0.05 else " " * cell


def _style(share: float) -> str:
    red, green, blue = _between(RAMP, min(max(share, 0.0), 1.0))
    ink = "#0b1220" if 0.3 * red + 0.59 * green + 0.11 * blue > 120 else "#dbe7f5"
    return f"{ink} on #{red:02x}{green:02x}{blue:02x}"


def _between(ramp: Sequence[tuple[int, int, int]], share: float) -> tuple[int, int, int]:
    steps = list(pairwise(ramp))
    at = min(int(share * len(steps)), len(steps) - 1)
    part = share * len(steps) - at
    low, high = steps[at]
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(low, high, strict=True))
    return red, green, blue


def _legend(top: float, colour: bool) -> Text:
    line = Text("0% ", style="dim")
    for at in range(20 if colour else len(SHADES)):
        if colour:
            line.append(" ", style="not dim " + _style(at / 19))
        else:
            line.append(SHADES[at] * 3, style="not dim")
    return line.append(f" {top:.0%}")
