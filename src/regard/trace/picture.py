r"""Picture: the heat map as PNG, SVG or PDF; source words across the top, target words down the left.

Letters are shaped by HarfBuzz inside matplotlib (3.11 or later), in a font that travels with the package, so Devanagari
looks the same on every machine. The same trace gives the same bytes. It does not know where its matrices come from.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from regard.array import host, single
from regard.trace.choice import chosen, panels
from regard.trace.colour import ramp
from regard.trace.core import Trace
from regard.trace.label import clean, clipped, columns
from regard.trace.terminal import Heatmap
from regard.trace.typeface import families, missing
from regard.whole import whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABEL: Final = 28  # columns of a label before it is cut
INCH: Final = 72.0  # points
DPI: Final = 160
BAR: Final = 0.6  # inches that the scale takes at least
SLANT: Final = math.sqrt(0.5)  # of a source word's length, across and up
POINTS: Final = 10.0  # size of the words
TITLE: Final = 13.0
NUMBER: Final = 7.0  # in a cell
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
) -> str | None:
    """Draw one matrix, or every head as a panel of its own, into a file whose ending says what it is."""
    maps = list(panels(trace, reader)) if every_head else [chosen(trace, reader, head)]
    return write(maps, path, title)


def write(maps: Sequence[Heatmap], path: str | Path, title: str = "") -> str | None:
    """Draw heat maps side by side into a `.png`, `.svg` or `.pdf`; one colour scale serves them all.

    Gives one line to pass on where letters had to be drawn as boxes, for want of a font.
    """
    kind = Path(path).suffix.lower().removeprefix(".")
    words = _told(maps, title)
    about: dict[str, dict[str, Any]] = {
        "svg": {"Title": words, "Date": None},
        "pdf": {"Title": words, "CreationDate": None},
        "png": {"Title": words},
    }
    from matplotlib import style

    labels = (each for heat in maps for each in (heat.title, *heat.source.labels, *heat.target.labels))
    drawn = clean("".join([title, *labels]))
    with LOCK:
        settings = {"svg.fonttype": "path", "svg.hashsalt": "regard", "font.family": families(drawn)}
        with style.context(["default", settings]), warnings.catch_warnings():
            # A letter that no font on the machine has is drawn as a box that names its script.
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            figure = draw(maps, title)
            whole(path, lambda beside: figure.savefig(beside, format=kind, dpi=DPI, metadata=about[kind]))
        return missing([drawn])


def draw(maps: Sequence[Heatmap], title: str = "") -> Figure:
    """The figure, its size found from the words: nothing is squeezed and nothing cut off."""
    from matplotlib.figure import Figure

    cell = _cell(maps)
    left, top, wide, high = _panel(maps, cell)
    per_row = min(len(maps), max(1, round(math.sqrt(len(maps) * high / wide * 1.4)))) if maps else 1
    rows = max(math.ceil(len(maps) / per_row), 1)
    head = 0.4 if title else 0.1
    width, height = max(per_row * wide + 0.8, min(_wide(title, TITLE) + 0.3, 8.0)), rows * high + head
    figure = Figure(figsize=(width, height), facecolor="white")
    most = max((heat.weights.max().item() for heat in maps if 0 not in heat.weights.shape), default=0.0) or 1.0
    for at, heat in enumerate(maps):
        row, column = divmod(at, per_row)
        x, y = column * wide + left, height - head - row * high - top
        size = (max(len(heat.source), 1) * cell, max(len(heat.target), 1) * cell)
        axes = figure.add_axes((x / width, (y - size[1]) / height, size[0] / width, size[1] / height))
        _map(axes, heat, most, cell)
        if heat.title:
            figure.text(x / width, (y + top - 0.12) / height, clean(heat.title), va="top", **_ink(POINTS))
    if title:
        room = columns(title) * min((width - 0.3) / _wide(title, TITLE), 1)
        figure.text(0.15 / width, 1 - 0.12 / height, clipped(clean(title), int(room)), va="top", **_ink(TITLE))
    _bar(figure, most, min(high - top - 0.15, 2.0), top + head, per_row * wide)
    return figure


def _panel(maps: Sequence[Heatmap], cell: float) -> tuple[float, float, float, float]:
    """Inches that every panel keeps left of its matrix and above it, and its whole width and height."""
    size = _size(cell)
    targets = {label for heat in maps for label in heat.target.labels}
    left = max((_wide(_label(each), size) for each in targets), default=0.0)
    up, right = 0.0, cell
    for axis in {heat.source for heat in maps}:
        reaches = [_wide(_label(each), size) * SLANT for each in axis.labels]
        up = max([up, *reaches])
        # The last words lean over the right edge.
        right = max(right, len(axis) * cell, *((slot + 0.5) * cell + each for slot, each in enumerate(reaches)))
    # Short rows still leave room for the name of the panel.
    right = max(right, *(_wide(heat.title) for heat in maps), 1.2) if maps else right
    top = up + 0.25 + (0.3 if any(heat.title for heat in maps) else 0.0)
    down = max((len(heat.target) for heat in maps), default=0) * cell
    return left + 0.25, top, left + right + 0.4, top + max(down, BAR) + 0.15


def _map(axes: Axes, heat: Heatmap, most: float, cell: float) -> None:
    """One matrix with its words; weights are written into cells that have room."""
    from matplotlib.colors import ListedColormap

    axes.set_xlim(0, max(len(heat.source), 1))
    axes.set_ylim(max(len(heat.target), 1), 0)
    weights = host(single(heat.weights))
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
            axes.text(slot + 0.5, query + 0.5, f"{weight:.0%}"[:-1], ha="center", va="center", **_ink(NUMBER, ink))


def _bar(figure: Figure, most: float, long: float, top: float, left: float) -> None:
    """The scale, at the right of everything."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize
    from matplotlib.ticker import PercentFormatter

    width, height = figure.get_size_inches()
    axes = figure.add_axes(((left + 0.15) / width, (height - top - long) / height, 0.13 / width, long / height))
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
    # Slanted lines stand nearer to each other than their cells.
    return min(POINTS, cell * INCH * SLANT * 0.83)


def _label(label: str) -> str:
    return clipped(clean(label), LABEL)


def _wide(text: str, size: float = POINTS) -> float:
    """Inches that a text takes, its letters shaped as they will be."""
    from matplotlib.backends import backend_agg
    from matplotlib.font_manager import FontProperties

    agg: Any = backend_agg.RendererAgg
    wide, _, _ = agg(1, 1, DPI).get_text_width_height_descent(clean(text), FontProperties(size=size), False)
    return float(wide) / DPI


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
