r"""Picture: the heat map as PNG, SVG or PDF; source words across the top, target words down the left.

Letters are shaped by HarfBuzz inside matplotlib (3.11 or later), in a font that travels with the package, so Devanagari
looks the same on every machine. The same trace gives the same bytes. It does not know where its matrices come from.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from regard.trace.choice import chosen, panels
from regard.trace.colour import ramp
from regard.trace.core import Trace
from regard.trace.label import clean, clipped, columns
from regard.trace.terminal import Heatmap
from regard.trace.write import whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FONT: Final = Path(__file__).parent / "font" / "RegardSans.ttf"
FAMILY: Final = ("Regard Sans", "DejaVu Sans")
LABEL: Final = 28  # columns of a label before it is cut
INCH: Final = 72.0  # points
POINTS: Final = 10.0  # size of the words
# matplotlib's settings and fonts are one for the whole process; a server draws in threads.
LOCK: Final = threading.Lock()


def save(
    trace: Trace,
    path: str | Path,
    *,
    reader: str | None = None,
    head: int | None = None,
    title: str = "",
    every_head: bool = False,
) -> None:
    """Draw one matrix, or every head as a panel of its own, into a file whose ending says what it is."""
    maps = list(panels(trace, reader)) if every_head else [chosen(trace, reader, head)]
    write(maps, path, title)


def write(maps: Sequence[Heatmap], path: str | Path, title: str = "") -> None:
    """Draw heat maps side by side into a `.png`, `.svg` or `.pdf`; one colour scale serves them all."""
    kind = Path(path).suffix.lower().removeprefix(".")
    words = _told(maps, title)
    about: dict[str, dict[str, Any]] = {
        "svg": {"Title": words, "Date": None},
        "pdf": {"Title": words, "CreationDate": None},
        "png": {"Title": words},
    }
    settings = {"svg.fonttype": "path", "svg.hashsalt": "regard", "font.family": list(_families(words))}
    from matplotlib import style

    with LOCK, style.context(["default", settings]), warnings.catch_warnings():
        # A letter that no font on the machine has is drawn as a box that names its script.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = draw(maps, title)
        whole(path, lambda beside: figure.savefig(beside, format=kind, dpi=160, metadata=about[kind]))


def draw(maps: Sequence[Heatmap], title: str = "") -> Figure:
    """The figure, its size found from the words: nothing is squeezed and nothing cut off."""
    from matplotlib.figure import Figure

    cell = _cell(maps)
    left = max((_wide(each) for heat in maps for each in heat.target.labels), default=0.2)
    slanted = max((_wide(each) for heat in maps for each in heat.source.labels), default=0.2) * math.sin(math.pi / 4)
    top = slanted + 0.3 + (0.3 if any(heat.title for heat in maps) else 0.0)
    across = max((len(heat.source) for heat in maps), default=0) * cell
    down = max((len(heat.target) for heat in maps), default=0) * cell
    # The last word leans over the right edge; short rows of one matrix still leave room for the title.
    wide = max(left + 0.2 + max(across, cell) + slanted, 2.2)
    high = top + max(down, cell) + 0.15
    per_row = min(len(maps), max(1, round(math.sqrt(len(maps) * high / wide * 1.4)))) if maps else 1
    rows = max(math.ceil(len(maps) / per_row), 1)
    head = 0.4 if title else 0.1
    width, height = per_row * wide + 0.8, rows * high + head
    figure = Figure(figsize=(width, height), facecolor="white")
    most = max((heat.weights.max().item() for heat in maps if heat.weights.numel()), default=0.0) or 1.0
    for at, heat in enumerate(maps):
        row, column = divmod(at, per_row)
        x, y = column * wide + left + 0.2, height - head - row * high - top
        size = (max(len(heat.source), 1) * cell, max(len(heat.target), 1) * cell)
        axes = figure.add_axes((x / width, (y - size[1]) / height, size[0] / width, size[1] / height))
        _map(axes, heat, most, cell)
        if heat.title:
            figure.text(x / width, (y + top - 0.12) / height, clean(heat.title), va="top", **_ink(POINTS))
    if title:
        room = int((width - 0.3) * INCH / (POINTS * 0.78))
        figure.text(0.15 / width, 1 - 0.12 / height, clipped(clean(title), room), va="top", **_ink(POINTS * 1.3))
    _bar(figure, most, min(high - top, 2.0), top + head)
    return figure


def _map(axes: Axes, heat: Heatmap, most: float, cell: float) -> None:
    """One matrix with its words; weights are written into cells that have room."""
    from matplotlib.colors import ListedColormap

    axes.set_xlim(0, max(len(heat.source), 1))
    axes.set_ylim(max(len(heat.target), 1), 0)
    weights = heat.weights.detach().float().cpu().numpy()
    if weights.size:
        axes.pcolormesh(weights, cmap=ListedColormap(ramp(256)), vmin=0, vmax=most, edgecolors="#e3e7ee", linewidth=0.5)
    axes.tick_params(length=0)
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_color("#9aa5b5")
        side.set_linewidth(0.6)
    for slot, label in enumerate(heat.source.labels):
        where: dict[str, Any] = {"rotation": 45, "rotation_mode": "anchor", "ha": "left", "va": "center"}
        axes.text(slot + 0.5, -0.12 / cell, _label(label), clip_on=False, **where, **_ink(_size(cell)))
    for query, label in enumerate(heat.target.labels):
        axes.text(-0.1 / cell, query + 0.5, _label(label), ha="right", va="center", clip_on=False, **_ink(_size(cell)))
    if cell >= 0.3:
        for query, slot in zip(*(weights >= 0.05).nonzero(), strict=True):
            weight = float(weights[query, slot])
            ink = "#ffffff" if weight / most > 0.5 else "#1b2433"
            axes.text(slot + 0.5, query + 0.5, f"{weight:.0%}"[:-1], ha="center", va="center", **_ink(7, ink))


def _bar(figure: Figure, most: float, long: float, top: float) -> None:
    """The scale, at the right of everything."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize
    from matplotlib.ticker import PercentFormatter

    width, height = figure.get_size_inches()
    long = max(long, 0.6)
    axes = figure.add_axes(((width - 0.65) / width, (height - top - long) / height, 0.13 / width, long / height))
    bar = figure.colorbar(ScalarMappable(Normalize(0, most), ListedColormap(ramp(256))), cax=axes)
    bar.set_ticks([0, most / 2, most] if long >= 0.8 else [0, most])
    bar.ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    bar.ax.tick_params(length=2, labelsize=8, color="#9aa5b5", labelcolor="#1b2433")
    bar.outline.set_edgecolor("#9aa5b5")


def _cell(maps: Sequence[Heatmap]) -> float:
    """The side of a cell in inches: room for a number in a sentence, smaller in long ones and in many panels."""
    longest = max((max(len(heat.source), len(heat.target)) for heat in maps), default=1)
    return min(0.36, max(14 / max(longest, 1), 0.14)) if len(maps) == 1 else min(0.22, max(6 / max(longest, 1), 0.14))


def _size(cell: float) -> float:
    return min(POINTS, cell * INCH * 0.9)


def _label(label: str) -> str:
    return clipped(clean(label), LABEL)


def _wide(label: str) -> float:
    """Inches that a label may take: no letter of a text face is much wider than this for each column."""
    return columns(_label(label)) * POINTS * 0.68 / INCH + 0.08


def _ink(size: float, colour: str = "#1b2433") -> dict[str, Any]:
    # A word may hold a dollar sign and mean it.
    return {"fontsize": size, "color": colour, "parse_math": False}


def _told(maps: Sequence[Heatmap], title: str) -> str:
    """What the picture shows, for those who do not see it: title and both sentences."""
    first = [f"{_sentence(maps[0], 'source')} → {_sentence(maps[0], 'target')}"] if maps else []
    names = [", ".join(heat.title for heat in maps if heat.title)]
    return clean(". ".join(each for each in (title, *names, *first) if each))


def _sentence(heat: Heatmap, side: str) -> str:
    axis = heat.source if side == "source" else heat.target
    return axis.text or " ".join(axis.labels)


@cache
def _families(words: str) -> tuple[str, ...]:
    """Our fonts, then a font of the machine for the letters that ours lack."""
    from matplotlib import font_manager

    if not any(entry.fname == str(FONT) for entry in font_manager.fontManager.ttflist):
        font_manager.fontManager.addfont(str(FONT))
    found = list(FAMILY)
    ours = [font_manager.get_font(font_manager.findfont(family)) for family in FAMILY]
    lacking = {ord(letter) for letter in words if not letter.isspace()}
    lacking -= {code for font in ours for code in font.get_charmap()}
    for entry in sorted(font_manager.fontManager.ttflist, key=lambda each: (each.name, each.fname)):
        if not lacking:
            break
        if "Last Resort" in entry.name or entry.name in found:
            continue
        held = lacking & font_manager.get_font(entry.fname).get_charmap().keys()
        if held:
            found.append(entry.name)
            lacking -= held
    return tuple(found)
