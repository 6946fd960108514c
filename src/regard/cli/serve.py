"""regard serve"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.call import SHIPPED, tell
from regard.fault import Fault


def serve(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="A bundle, many times: a path or a name; mr-en=PATH says what it joins.",
            show_default=SHIPPED,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 is all of them.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 5000,
    characters: Annotated[int, typer.Option(min=-1, help="Most of one request; -1: any number.")] = 20_000,
    batch: Annotated[int, typer.Option(min=-1, help="Most texts of one request; -1: any number.")] = 256,
    alternatives: Annotated[int, typer.Option(min=0, help="Most other translations of one text.")] = 4,
    queue: Annotated[int, typer.Option(min=1, help="Most sentences that wait; then 503 and Retry-After.")] = 2_000,
    seconds: Annotated[float, typer.Option(min=0.1, help="Longest that a request may take.")] = 30.0,
    memory: Annotated[int, typer.Option(min=1, help="MiB of weights that are loaded at once.")] = 2_048,
    each_minute: Annotated[int, typer.Option(min=0, help="Most requests of one address; 0: any number.")] = 0,
    keys: Annotated[Path | None, typer.Option(help="A file of API keys, one a line; then one is needed.")] = None,
    suggestions: Annotated[Path | None, typer.Option(help="A table that POST /suggest adds to.")] = None,
    files: Annotated[bool, typer.Option("--files/--no-files", help="Translate files too.")] = True,
) -> None:
    """Serve translations to whoever speaks the LibreTranslate API: Mastodon, Weblate, libretranslatepy, curl.

    regard serve                                    the bundle that ships, at http://127.0.0.1:5000/

    regard serve -m runs/en-mr -m mr-en=runs/back   two bundles; more of them reach each other through a third language

    Ctrl-C or SIGTERM lets no new request in and ends when all that was begun is done. SIGHUP loads the bundles anew
    without losing a request. /docs tells of the API, /metrics of the load. There is no encryption: put a reverse proxy
    in front before other machines may ask (docs/serving.md).
    """
    from regard.serve.server import serve as run
    from regard.serve.settings import Batching, Limits, Settings

    settings = Settings(
        limits=Limits(characters, batch, alternatives, seconds, each_minute=each_minute),
        batching=Batching(queue=queue),
        memory=memory << 20,
        keys=() if keys is None else _keys(keys),
        files=files,
        suggestions=None if suggestions is None else str(suggestions),
    )
    if suggestions is not None:
        _writable(suggestions)
    run(model or [SHIPPED], host, port, settings, tell)


def _writable(path: Path) -> None:
    try:
        with path.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise Fault(f"{path}: suggestions cannot be written there ({error.strerror})") from None


def _keys(path: Path) -> tuple[str, ...]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Fault(f"{path}: the keys cannot be read ({getattr(error, 'strerror', None) or error})") from None
    found = tuple(dict.fromkeys(line.strip() for line in lines if line.strip() and not line.startswith("#")))
    if not found:
        raise Fault(f"{path}: holds no key; write one on each line")
    return found
