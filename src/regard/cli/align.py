"""regard align"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from regard.cli.call import SHIPPED, Model, Pairs, Source, Target, load, table, tell, write


def align(
    pairs: Pairs = None,
    model: Model = SHIPPED,
    form: Annotated[
        Literal["pharaoh", "json"], typer.Option("--format", help="0-0 1-2, or words and weights.")
    ] = "pharaoh",
    gold: Annotated[Path | None, typer.Option(help="Links made by hand, a line a pair: how right are these?")] = None,
    source: Source = None,
    target: Target = None,
) -> None:
    """Read the word links of given pairs off the attention: a line for each line, i-j counted from 0."""
    from regard.task import aligning

    known = load(model)
    rows = table(pairs, source, target)
    write(aligning.aligned(known, rows, form, tell) if gold is None else aligning.judged(known, rows, gold, tell))
