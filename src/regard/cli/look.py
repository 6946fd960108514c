"""regard look"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.call import SHIPPED, Beam, Engine, Model, load, tell, wished
from regard.fault import Fault


def look(
    text: Annotated[str, typer.Argument(help="A sentence.")],
    model: Model = SHIPPED,
    target: Annotated[str | None, typer.Option(help="A translation to read instead of the model's own.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A file: .png .svg .pdf .html .json")] = None,
    reader: Annotated[str | None, typer.Option(help="One attention, by its name.")] = None,
    head: Annotated[int | None, typer.Option(min=0, help="One head, from 0.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every head of every attention.")] = False,
    beam: Beam = None,
    engine: Engine = "auto",
) -> None:
    """Show which words each word was written from: in the terminal, or as a picture."""
    from rich.console import Console

    from regard.trace import fold
    from regard.trace.choice import panels
    from regard.trace.show import known as drawable
    from regard.trace.show import save

    if out is not None:
        drawable(out)
    known = load(model, engine)
    found = known.translate(text, wished(known, beam)) if target is None else known.given(text, target)
    if not known.looks:
        raise Fault(f"{model}: this model has no attention, there is nothing to look at")
    words = fold.words(found.trace)
    if out is not None:
        trace = found.trace if out.suffix.lower() == ".json" else words
        chosen = (reader, head) if every or reader or head is not None else known.choice(words)
        told = save(trace, out, reader=chosen[0], head=chosen[1], title=found.text, every_head=every)
        if told is not None:
            tell(told)
        tell(f"{out} is written: {found.text}")
        return
    shown = list(panels(words, reader)) if every else [known.heatmap(found.trace, reader, head)]
    console = Console(soft_wrap=False, highlight=False, markup=False, emoji=False)
    console.print(found.text)
    console.print()
    for heatmap in shown:
        console.print(heatmap)
