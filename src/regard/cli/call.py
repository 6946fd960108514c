"""Call: what the verbs share: options that mean the same everywhere, tables, bundles, and lines in and out."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from regard import config
from regard.fault import Fault
from regard.schema import WIDEST

if TYPE_CHECKING:
    from regard.task.corpus import Table
    from regard.task.translation import Wish
    from regard.task.translator import Translator

SHIPPED: Final = "en-mr"

Model = Annotated[str, typer.Option("--model", "-m", help="A bundle: its path, or the name of one that ships.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
Strict = Annotated[bool, typer.Option("--strict", help="The first faulty line is an error, not counted and skipped.")]
Pairs = Annotated[
    str | None, typer.Argument(metavar="PAIRS", help="sentence TAB translation; .jsonl .parquet .gz .zst; - is stdin.")
]
Source = Annotated[str | None, typer.Option("--source", help="With --target: two parallel files instead of PAIRS.")]
Target = Annotated[str | None, typer.Option("--target", help="The second of two parallel files.")]
Beam = Annotated[
    int | None,
    typer.Option("--beam", min=1, max=WIDEST, help="Width of the search; 1 is greedy [default: the bundle's]."),
]

Engine = Annotated[
    Literal["auto", "onnx", "torch"],
    typer.Option(help="Who does the arithmetic; auto: ONNX Runtime where it is there and the bundle has graphs."),
]


def table(pairs: str | None, source: str | None, target: str | None) -> Table:
    """The one table that a call names, in either way."""
    from regard.task.corpus import Table

    if (source is None) != (target is None):
        raise Fault("--source and --target go together: line n of one is the translation of line n of the other")
    if source is not None:
        if pairs is not None:
            raise Fault(f"give PAIRS ({pairs}) or --source and --target, not both")
        return Table(source, target)
    if pairs is None:
        raise Fault("name a table of pairs (sentence TAB translation), or --source FILE --target FILE; - is stdin")
    return Table(pairs)


def load(model: str, engine: Literal["auto", "onnx", "torch"] = "auto") -> Translator:
    """The bundle of that path or name, ready to be used."""
    from regard.task import bundle
    from regard.task.translator import Translator

    return Translator(bundle.opened(model), engine=engine)


def wished(known: Translator, beam: int | None, **asked: float | None) -> Wish:
    """The bundle's own search, changed by what the call asks for."""
    from dataclasses import replace

    recipe = known.bundle.recipe
    over = [f"search.{key}={value}" for key, value in {"beam": beam, **asked}.items() if value is not None]
    search = config.build(config.override(config.dump(recipe), over), "the call").search
    return replace(known.wish, search=search)


def tell(line: str) -> None:
    """To people, beside the output."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def write(lines: Iterable[str]) -> None:
    """The output. Each line is there as soon as it is known."""
    for line in lines:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
