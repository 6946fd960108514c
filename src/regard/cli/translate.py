"""regard translate"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from regard.cli.call import SHIPPED, Beam, Json, Model, load, tell, wished, write
from regard.fault import Fault

if TYPE_CHECKING:
    from regard.task.translation import Translation

TOGETHER: Final = 1024  # lines that are translated at once, where so many are there already


def translate(
    text: Annotated[list[str] | None, typer.Argument(help="Sentences; without any, the lines of stdin.")] = None,
    model: Model = SHIPPED,
    beam: Beam = None,
    best: Annotated[int, typer.Option(min=1, help="So many translations of each; with --json.")] = 1,
    length: Annotated[float | None, typer.Option(min=0, help="Exponent of the length normalisation.")] = None,
    coverage: Annotated[float | None, typer.Option(min=0, help="Weight of the coverage penalty.")] = None,
    prefix: Annotated[str, typer.Option(help="What every translation begins with.")] = "",
    sample: Annotated[
        bool, typer.Option("--sample", help="Draw translations instead of searching for the best.")
    ] = False,
    temperature: Annotated[float, typer.Option(help="Of drawing: above 1 flatter, below 1 sharper.")] = 1.0,
    top_k: Annotated[int | None, typer.Option(min=1, help="Draw among so many pieces.")] = None,
    top_p: Annotated[float, typer.Option(help="Draw among the pieces that make up this share.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Of drawing.")] = 1,
    as_json: Json = False,
) -> None:
    """Translate sentences, or the lines of standard input: as many lines, in the same order."""
    from regard.search.sample import Draw

    if best > 1 and not as_json:
        raise Fault("--best gives several translations of a line; add --json, which keeps them together")
    known = load(model)
    wish = wished(known, beam)
    asked: dict[str, Any] = {"length": length, "coverage": coverage}
    search = replace(wish.search, **{key: value for key, value in asked.items() if value is not None})
    try:
        draw = Draw(temperature, top_k, top_p, seed) if sample else None
    except ValueError as error:
        raise Fault(str(error)) from error
    wish = replace(wish, search=search, best=best, draw=draw, prefix=prefix)
    for lines in [text] if text else _arriving():
        done = known.translate(lines, wish)
        write(json.dumps(_record(each), ensure_ascii=False) if as_json else _line(each.text) for each in done)


def _line(text: str) -> str:
    """On one line, whatever a model writes."""
    return " ".join(text.splitlines())


def _record(found: Translation) -> dict[str, Any]:
    about = {"source": found.source, "text": found.text, "score": found.score, "log_prob": found.log_prob}
    if not found.finished:
        about["finished"] = False
    if found.alternatives:
        about["alternatives"] = [_record(each) for each in found.alternatives]
    return about


def _arriving() -> Iterator[list[str]]:
    """The lines of standard input as they come: those that are there together, so that none waits for the next."""
    from regard.source.lines import STDIN
    from regard.source.report import Report
    from regard.source.table import read_lines
    from regard.task.translator import CHARACTERS

    report = Report()
    coming: Queue[str | BaseException | None] = Queue(2 * TOGETHER)

    def read() -> None:
        try:
            for line in read_lines(STDIN, report):
                if len(line.text) > CHARACTERS:
                    tell(f"{line.place}: over {CHARACTERS:,} characters; the rest is not translated")
                coming.put(line.text)
        except BaseException as error:
            coming.put(error)
        coming.put(None)

    Thread(target=read, daemon=True).start()
    while (first := coming.get()) is not None:
        lines, rest = [first], True
        while rest and len(lines) < TOGETHER:
            try:
                line = coming.get(timeout=0.01)
            except Empty:
                break
            lines, rest = ([*lines, line], True) if line is not None else (lines, False)
        for line in lines:
            if isinstance(line, BaseException):
                raise line
        yield [line for line in lines if isinstance(line, str)]
        if not rest:
            break
    if report.counts:
        for told in report.lines()[1:] or report.lines():
            tell(told)
