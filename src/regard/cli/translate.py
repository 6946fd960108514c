"""regard translate"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from regard.cli.call import SHIPPED, Beam, Engine, Json, Model, load, tell, wished, write
from regard.fault import Fault
from regard.schema import WIDEST

if TYPE_CHECKING:
    from regard.task.translation import Translation

READER: Final = "standard input"  # the name of the thread that waits for it
CUT: Final = "over {:,} characters; the rest is not translated"
TOGETHER: Final = 1024  # lines that are translated at once, where so many are there already


def translate(
    text: Annotated[list[str] | None, typer.Argument(help="Sentences; without any, the lines of stdin.")] = None,
    model: Model = SHIPPED,
    beam: Beam = None,
    best: Annotated[int, typer.Option(min=1, max=WIDEST, help="So many translations of each; with --json.")] = 1,
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
    engine: Engine = "auto",
    as_json: Json = False,
) -> None:
    """Translate sentences, or the lines of standard input: as many lines, in the same order."""
    from regard.search.sample import Draw
    from regard.task.translator import CHARACTERS

    if best > 1 and not as_json:
        raise Fault("--best gives several translations of a line; add --json, which keeps them together")
    known = load(model, engine)
    try:
        draw = Draw(temperature, top_k, top_p, seed) if sample else None
    except ValueError as error:
        raise Fault(str(error)) from error
    wish = replace(wished(known, beam, length=length, coverage=coverage), best=best, draw=draw, prefix=prefix)
    for number, each in enumerate(text or (), 1):
        if len(each) > CHARACTERS:
            tell(f"sentence {number}: {CUT.format(CHARACTERS)}")
    for lines in [text] if text else _arriving(CHARACTERS):
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


def _arriving(longest: int) -> Iterator[list[str]]:
    """The lines of standard input as they come: those that are there together, so that none waits for the next."""
    coming: Queue[str | BaseException | None] = Queue(2 * TOGETHER)
    Thread(target=_read, args=(coming, longest), name=READER, daemon=True).start()
    while isinstance(line := coming.get(), str):
        lines = [line]
        with suppress(Empty):
            while len(lines) < TOGETHER and isinstance(line := coming.get(timeout=0.01), str):
                lines.append(line)
        yield lines
        if not isinstance(line, str):
            break
    if isinstance(line, BaseException):
        raise line


def _read(coming: Queue[str | BaseException | None], longest: int) -> None:
    """Every line into the queue, as far as it is read, then None or what went wrong."""
    from regard.source.lines import STDIN
    from regard.source.report import Kind, Report
    from regard.source.table import read_lines

    report = Report()
    cut: list[str] = []
    try:
        for line in read_lines(STDIN, report):
            if len(line.text) > longest:
                cut.append(line.place)
            coming.put(line.text[: longest + 1])
        mended = [kind for kind in Kind if kind in report.counts and kind is not Kind.TOO_LONG]
        told = [f"{report.counts[kind]:,} {kind.value} (first: {report.first[kind]})" for kind in mended]
        if told:
            tell(f"mended before it was translated: {', '.join(told)}")
        if cut:
            tell(f"{cut[0]}{f' and {len(cut) - 1:,} more' if cut[1:] else ''}: {CUT.format(longest)}")
        coming.put(None)
    except BaseException as error:
        coming.put(error)
