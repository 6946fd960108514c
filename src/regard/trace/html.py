r"""HTML: the heat map as one page that needs no network, or as the fragment that a notebook shows.

The page has every reader and head to choose from, and shades the source words that a target word read, by mouse, touch
or keyboard. Every text in it is escaped: a label may be `</script>`. It does not know where its weights come from.
"""

from __future__ import annotations

import base64
import hashlib
import json
import unicodedata
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, Final

import numpy as np

from regard.array import host, single
from regard.shape import Float
from regard.trace.choice import chosen, main_memory
from regard.trace.core import Axis, Trace
from regard.trace.label import clean
from regard.trace.page import FAINT, PAGE, SCALE, SCRIPT, STEPS, style
from regard.trace.terminal import Heatmap
from regard.trace.typeface import embedded
from regard.whole import whole

HEADING: Final = "What was read"
MEAN: Final = "mean over all heads"


def save(
    trace: Trace, path: str | Path, *, reader: str | None = None, head: int | None = None, title: str = ""
) -> None:
    """Write the page; it opens with the chosen reader and head."""
    text = page(trace, reader, head, title).encode()

    def fill(beside: Path) -> None:
        beside.write_bytes(text)

    whole(path, fill)


def fragment(heatmap: Heatmap) -> str:
    """One heat map for a page that is already there: no script, and no style that reaches beyond it."""
    title = f"<div dir=auto>{_text(heatmap.title)}</div>" if heatmap.title else ""
    return (
        f'<div class="regard"><style>{style()}</style>{title}'
        f"{_table(heatmap, hover=True)}{_scale(heatmap.weights)}</div>"
    )


def page(trace: Trace, reader: str | None = None, head: int | None = None, title: str = "") -> str:
    """The whole document; the same trace gives the same text."""
    first = chosen(trace, reader, head)
    choices = _choices(trace)
    shown = host(first.weights)
    opened = next((at for at, each in enumerate(choices) if np.array_equal(host(each.weights), shown)), len(choices))
    choices += [first] if opened == len(choices) else []
    weights = json.dumps([_whole(each.weights) for each in choices], separators=(",", ":"))
    font = embedded("".join(clean(each) for axis in (first.source, first.target) for each in (axis.text, *axis.labels)))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{_policy()}\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title or first.target.text or HEADING)}</title>\n"
        f"<style>\n{_face(font)}{style()}{PAGE}</style>\n</head>\n<body>\n"
        f'<main class="regard">\n<h1 dir=auto>{_text(title or HEADING)}</h1>\n'
        f"<dl><dt>source</dt><dd lang dir={_direction(first.source)}>{_sentence(first.source, 'slot')}</dd>\n"
        f"<dt>target</dt><dd lang dir={_direction(first.target)}>{_sentence(first.target, 'row')}</dd></dl>\n"
        f"{_select(choices, opened)}<output>point at a word or a cell</output>\n"
        f"{_table(first)}\n{_scale(first.weights)}\n</main>\n"
        # Nothing but numbers stands here.
        f'<script type="application/json" id="weights">{weights}</script>\n<script>{SCRIPT}</script>\n'
        "</body>\n</html>\n"
    )


def _choices(trace: Trace) -> list[Heatmap]:
    """The mean over all, then each reader's mean and heads, as far as they differ."""
    readers = trace.of(main_memory(trace))
    found = [chosen(trace)]
    for each in readers:
        if len(readers) > 1 or len(each.weights) > 1:
            found += [chosen(trace, each.reader)] if len(readers) > 1 else []
            found += [chosen(trace, each.reader, at) for at in range(len(each.weights)) if len(each.weights) > 1]
    return found


def _select(choices: list[Heatmap], opened: int) -> str:
    if len(choices) < 2:
        return ""
    options = (
        f"<option value={at}{' selected' if at == opened else ''}>{_text(each.title or MEAN)}</option>"
        for at, each in enumerate(choices)
    )
    return f"<label>reader and head <select autocomplete=off>{''.join(options)}</select></label>\n"


def _table(heat: Heatmap, hover: bool = False) -> str:
    """Target words down, source words across. Each cell holds its number; the faint ones hide it from the eye."""
    most = heat.weights.max().item() if 0 not in heat.weights.shape else 0.0
    slots = "".join(
        f'<th scope=col lang title="{_text(label)}"><span dir=auto>{_text(label)}</span></th>'
        for label in heat.source.labels
    )
    rows = "".join(f"<tr>{row}</tr>\n" for row in _rows(heat, most or 1.0, hover))
    return (
        '<div class="scroll" tabindex=0 role=region aria-label="weights">\n<table>'
        "<caption>how much of each source word (across) each target word (down) read, in percent</caption>\n"
        f"<thead><tr><td class=corner></td>{slots}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>"
    )


def _rows(heat: Heatmap, most: float, hover: bool) -> Iterator[str]:
    for label, weights in zip(heat.target.labels, single(heat.weights).tolist(), strict=True):
        cells = []
        for slot, weight in zip(heat.source.labels, weights, strict=True):
            shown = round(100 * weight)
            told = f' title="{_text(label)} ← {_text(slot)} {weight:.1%}"' if hover else ""
            faint = " faint" if shown < FAINT else ""
            cells.append(f'<td class="w{round(STEPS * weight / most)}{faint}"{told}>{shown}</td>')
        yield f'<th scope=row lang dir=auto title="{_text(label)}">{_text(label)}</th>{"".join(cells)}'


def _scale(weights: Float[Any, "query slot"]) -> str:
    most = weights.max().item() if 0 not in weights.shape else 0.0
    steps = "".join(f"<b class=w{level}></b>" for level in range(STEPS + 1))
    return f'<div class="scale">0%<i aria-hidden=true>{steps}</i><span class=most>{most:.0%}</span></div>'


def _sentence(axis: Axis, kind: str) -> str:
    """The text as it was written, each labelled part of it a button; labels without a text are buttons in a row."""
    found, reached = [], 0
    for at, label in enumerate(axis.labels):
        start, end = axis.spans[at] if axis.spans is not None and axis.text else (reached, reached)
        gap = axis.text[reached:start] if start < end else " "
        found.append(f"{_text(gap)}<button type=button dir=auto data-{kind}={at}>{_text(label)}</button>")
        reached = max(reached, end)
    return "".join([*found, _text(axis.text[reached:])])


def _direction(axis: Axis) -> str:
    """That of the first letter that has one: a browser finds it in plain text, but not among buttons."""
    letters = map(unicodedata.bidirectional, axis.text or "".join(axis.labels))
    return "rtl" if next((each for each in letters if each in {"L", "R", "AL"}), "L") != "L" else "ltr"


def _whole(weights: Float[Any, "query slot"]) -> list[list[int]]:
    """Hundredths of a percent: a page of many heads stays small."""
    return [[round(SCALE * weight) for weight in row] for row in single(weights).tolist()]


def _text(text: str) -> str:
    return escape(clean(text))


def _face(font: str) -> str:
    """Our own font, as much of it as is needed, for machines that have no such letters."""
    source = f"url(data:font/woff;base64,{font})"
    return f'@font-face {{ font-family: "Regard Sans"; src: {source} format("woff") }}\n' if font else ""


def _policy() -> str:
    """The browser itself is told: nothing from anywhere, and no script but ours."""
    ours = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode("ascii")
    rules = f"default-src 'none'; style-src 'unsafe-inline'; font-src data:; script-src 'sha256-{ours}'"
    return f'<meta http-equiv="Content-Security-Policy" content="{rules}">'
