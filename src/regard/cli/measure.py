"""regard evaluate, regard compare"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.call import SHIPPED, Beam, Json, Model, Pairs, Source, Strict, Target, load, table, tell, wished, write
from regard.fault import Fault

if TYPE_CHECKING:
    from regard.source.table import References
    from regard.task.measure import Measured


def evaluate(
    pairs: Pairs = None,
    model: Model = SHIPPED,
    beam: Beam = None,
    as_json: Json = False,
    source: Source = None,
    target: Target = None,
    strict: Strict = False,
) -> None:
    """Say how good a model is: BLEU and chrF2 with their signatures, by length, with confidence intervals.

    All translations that a table has of a sentence count as right.
    """
    from regard.task.corpus import references
    from regard.task.measure import evaluate as evaluated

    found = evaluated(_outputs(model, references(table(pairs, source, target), tell, strict), beam))
    write([json.dumps({"model": model, **found.as_dict()}, ensure_ascii=False)] if as_json else found.lines())


def compare(
    pairs: Annotated[str, typer.Argument(help="A table of pairs that neither was trained on.")],
    model: Annotated[list[str], typer.Option("--model", "-m", help="Twice: the bundles to compare.")],
    beam: Beam = None,
    as_json: Json = False,
    strict: Strict = False,
) -> None:
    """Ask whether two models really differ, by paired bootstrap, and where."""
    from regard.task.compare import compare as compared
    from regard.task.corpus import references

    if len(model) != 2:
        raise Fault(f"compare takes two bundles, --model A --model B, and was given {len(model)}")
    found = references(table(pairs, None, None), tell, strict)
    a, b = (_outputs(each, found, beam) for each in model)
    made = compared(a, b, (model[0], model[1]))
    write([json.dumps(made.as_dict(), ensure_ascii=False)] if as_json else made.lines())


def _outputs(model: str, references: Sequence[References], beam: int | None) -> list[Measured]:
    from regard.task.measure import Measured

    known = load(model)
    outputs = known.translate([each.source for each in references], wished(known, beam))
    return [Measured(each, one.text) for each, one in zip(references, outputs, strict=True)]
