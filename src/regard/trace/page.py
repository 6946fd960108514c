"""Page: the style and the script of an HTML heat map, the same for every trace. They ask nothing of the network.

A weight is a class, `w0` to `w20`, its colour by the line of `colour`; so light and dark are two lists of colours.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from regard.trace.colour import INK, PAPER, oklab, ramp

STEPS: Final = 20
SCALE: Final = 10_000  # what the script gets for a weight of 1
NIGHT, SNOW = "#0f1522", "#a5d4ff"  # of dark pages: nothing was read; everything was
DARK_TEXT, LIGHT_TEXT = "#1b2433", "#ffffff"
# One weight below this share is left blank to the eye, but not to a reader of the screen.
FAINT: Final = 5


@cache
def style() -> str:
    """Everything stays inside `.regard`, for a notebook has styles of its own."""
    return f"{STYLE}{_levels(PAPER, INK)}@media (prefers-color-scheme: dark) {{\n{DARK}{_levels(NIGHT, SNOW)}}}\n"


def _levels(low: str, high: str) -> str:
    lines = []
    for level, colour in enumerate(ramp(STEPS + 1, low, high)):
        ink = DARK_TEXT if oklab(colour)[0] > 0.6 else LIGHT_TEXT
        lines.append(f".regard .w{level} {{ background: {colour}; color: {ink} }}\n")
    return "".join(lines)


STYLE: Final = """\
.regard { --paper: #ffffff; --text: #1b2433; --soft: #5b6778; --line: #d5dbe5; --mark: #b45309;
  color-scheme: light dark; padding: .5rem 0; background: var(--paper); color: var(--text); line-height: 1.5;
  font-family: "Regard Sans", system-ui, "Noto Sans", "Noto Sans Devanagari", "Noto Sans CJK", sans-serif }
.regard * { box-sizing: border-box }
.regard .scroll { overflow-x: auto; padding-bottom: .5rem }
.regard table { border-collapse: separate; border-spacing: 1px; margin: 0; width: auto; font-size: .9rem }
.regard caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
.regard tr, .regard tbody tr, .regard thead tr { background: none; border: 0 }
.regard th { font-weight: normal; border: 0; padding: .1rem .5rem; background: var(--paper); color: var(--text);
  white-space: nowrap }
.regard thead th { vertical-align: bottom; text-align: center; padding: .3rem 0 }
.regard thead span { display: inline-block; writing-mode: vertical-rl; transform: rotate(180deg); max-height: 11rem;
  overflow: hidden; text-overflow: ellipsis; line-height: 1.4 }
.regard tbody th { position: sticky; left: 0; text-align: right; max-width: min(14rem, 35vw); overflow: hidden;
  text-overflow: ellipsis }
.regard td { width: 2.2rem; min-width: 2.2rem; height: 2.2rem; padding: 0; border: 0; text-align: center;
  vertical-align: middle; font-size: .72rem; font-variant-numeric: tabular-nums; outline: 1px solid var(--line) }
.regard td.corner { background: none; outline: 0 }
.regard td.faint { color: transparent }
.regard td:hover { outline: 2px solid var(--mark); outline-offset: -1px }
.regard tbody tr:hover th { color: var(--mark) }
.regard .scale { display: flex; align-items: center; gap: .5rem; color: var(--soft); font-size: .8rem }
.regard .scale i { display: flex; border: 1px solid var(--line) }
.regard .scale b { width: .4rem; height: .7rem }
"""

DARK: Final = """\
.regard { --paper: #0f1522; --text: #dbe5f2; --soft: #98a6ba; --line: #2a3446; --mark: #fbbf24 }
"""

PAGE: Final = """\
:root { color-scheme: light dark }
body { margin: 0; background: #ffffff }
@media (prefers-color-scheme: dark) { body { background: #0f1522 } }
.regard { max-width: 76rem; margin: 0 auto; padding: 1rem }
.regard h1 { font-size: 1.25rem; font-weight: 500; margin: 0 0 .75rem; overflow-wrap: anywhere }
.regard dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: 0 0 .75rem }
.regard dt { color: var(--soft); font-size: .8rem; line-height: 2rem }
.regard dd { margin: 0; font-size: 1.1rem; line-height: 2rem; overflow-wrap: anywhere; min-width: 0 }
.regard button { font: inherit; color: inherit; background: none; border: 0; border-radius: .25rem; margin: 0;
  padding: .1rem .15rem; cursor: pointer; line-height: 1.5 }
.regard button:focus-visible, .regard .scroll:focus-visible { outline: 2px solid var(--mark) }
.regard .on { box-shadow: 0 0 0 2px var(--mark) }
.regard th.on { box-shadow: none; color: var(--mark) }
.regard label { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .5rem; color: var(--soft);
  font-size: .8rem; margin-bottom: .75rem }
.regard select { font: inherit; font-size: .9rem; max-width: 100%; padding: .3rem .4rem; border: 1px solid var(--line);
  border-radius: .25rem; background: var(--paper); color: var(--text) }
.regard output { display: block; min-height: 1.5rem; margin: .25rem 0 .5rem; overflow-wrap: anywhere }
@media (max-width: 40rem) {
  .regard { padding: .75rem }
  .regard dl { grid-template-columns: 1fr; gap: 0 }
  .regard dt { line-height: 1.5 }
  .regard td { width: 1.9rem; min-width: 1.9rem; height: 1.9rem }
  .regard th { padding: .1rem .3rem }
}
"""

SCRIPT: Final = """\
"use strict";
(() => {
  const root = document.querySelector(".regard");
  const maps = JSON.parse(document.getElementById("weights").textContent);
  const all = (selector, within = root) => [...within.querySelectorAll(selector)];
  const rows = all("tbody tr").map((row) => all("td", row));
  const heads = { slot: all("thead th[scope=col]"), row: all("tbody th") };
  const words = { slot: all("button[data-slot]"), row: all("button[data-row]") };
  const select = root.querySelector("select"), told = root.querySelector("output");
  const hint = told.textContent;
  let map = maps[select ? select.value : 0], top = 1;

  const level = (weight) => "w" + Math.round((STEPS * weight) / top);
  const percent = (weight) => (weight / 100).toFixed(1) + "%";
  const part = (text) => Object.assign(document.createElement("bdi"), { textContent: text });

  const draw = () => {
    top = map.reduce((most, row) => row.reduce((a, b) => Math.max(a, b), most), 0) || 1;
    root.querySelector(".most").textContent = Math.round(top / 100) + "%";
    rows.forEach((row, at) => row.forEach((cell, slot) => {
      const shown = Math.round(map[at][slot] / 100);
      cell.className = level(map[at][slot]) + (shown < FAINT ? " faint" : "");
      cell.textContent = shown;
    }));
    clear();
    told.textContent = hint;
  };

  const clear = () => {
    [...words.slot, ...words.row, ...heads.slot, ...heads.row].forEach((each) => (each.className = ""));
    told.replaceChildren();
  };

  const mark = (kind, at) => [words[kind][at], heads[kind][at]].forEach((each) => each && each.classList.add("on"));

  // Shade the words of the other side by one row or one column, and say the strongest.
  const shade = (kind, at) => {
    const other = kind === "row" ? "slot" : "row";
    const weights = words[other].map((_, place) => (kind === "row" ? map[at][place] : map[place][at]));
    weights.forEach((weight, place) => words[other][place].classList.add(level(weight)));
    const order = weights.map((_, place) => place).sort((a, b) => weights[b] - weights[a]).slice(0, 4);
    told.append(part(words[kind][at].textContent), kind === "row" ? " read " : " was read by ");
    order.filter((place) => weights[place] >= 100).forEach((place, index) => {
      told.append(index ? ", " : "", part(words[other][place].textContent), " " + percent(weights[place]));
    });
  };

  const show = (kind, at) => { clear(); mark(kind, at); shade(kind, at); };

  const cell = (event) => {
    const found = event.target.closest("td");
    const row = found ? rows.findIndex((cells) => cells.includes(found)) : -1;
    if (row < 0) return;
    const slot = rows[row].indexOf(found);
    show("row", row);
    mark("slot", slot);
    const source = part(words.slot[slot].textContent), target = part(words.row[row].textContent);
    told.replaceChildren(target, " read ", source, " " + percent(map[row][slot]));
  };

  const table = root.querySelector("table");
  ["pointerover", "click"].forEach((kind) => table.addEventListener(kind, cell));
  Object.entries(words).forEach(([kind, buttons]) => buttons.forEach((button, at) =>
    ["pointerover", "focus", "click"].forEach((event) => button.addEventListener(event, () => show(kind, at)))));
  if (select) select.addEventListener("change", () => { map = maps[select.value]; draw(); });
  draw();
})();
""".replace("STEPS", str(STEPS)).replace("FAINT", str(FAINT))
