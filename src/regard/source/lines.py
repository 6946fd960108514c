"""Lines: the bytes of a plain, .gz or .zst file, a line at a time. It does not know what a line means.

A line longer than the limit is cut, so that one of ten megabytes costs no memory; the rest of it is read past.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, cast

import zstandard

from regard.fault import Fault

LONGEST: Final = 1 << 20  # bytes
STDIN: Final = "-"
_CHUNK: Final = 1 << 16
_BOM: Final = b"\xef\xbb\xbf"
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")


def name(path: str | Path) -> str:
    """What places are called by."""
    return "stdin" if str(path) == STDIN else str(path)


def form(path: str | Path) -> str:
    """The ending that tells the format, without .gz and .zst: '.tsv', '.jsonl', '.parquet', ..."""
    bare = Path(path)
    return (bare.with_suffix("") if bare.suffix.lower() in (".gz", ".zst") else bare).suffix.lower()


def lines(path: str | Path, limit: int = LONGEST) -> Iterator[bytes]:
    """Each line without its end. One that is longer than `limit` bytes comes as its first `limit` + 1."""
    rest = b""
    for chunk in _without_bom(chunks(path), path):
        first, *more = chunk.split(b"\n")
        rest += first[: max(0, limit + 2 - len(rest))]  # one more than needed, for a \r that will be taken off
        for line in more:
            yield rest.removesuffix(b"\r")[: limit + 1]
            rest = line
    if rest:
        yield rest.removesuffix(b"\r")[: limit + 1]


def chunks(path: str | Path) -> Iterator[bytes]:
    """The bytes of a file, decompressed."""
    if str(path) == STDIN:
        # what is there already, so that nobody waits for more
        yield from _read(cast("io.BufferedReader", sys.stdin.buffer).read1)
        return
    file = Path(path)
    with faults(path), file.open("rb") as stream:
        if file.suffix.lower() == ".gz":
            with gzip.open(stream) as inflated:
                yield from _read(inflated.read)
        elif file.suffix.lower() == ".zst":
            yield from _zstandard(stream)
        else:
            yield from _read(stream.read)


@contextmanager
def faults(path: str | Path) -> Iterator[None]:
    """Every way that opening or reading a file can go wrong, as a Fault that says how."""
    try:
        yield
    except FileNotFoundError:
        raise Fault(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise Fault(f"{path}: is a folder; name a file in it") from None
    except PermissionError:
        raise Fault(f"{path}: may not be read; check its permissions") from None
    except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
        raise Fault(f"{path}: the compressed file is damaged ({error}); copy or make it again") from None
    except OSError as error:
        raise Fault(f"{path}: cannot be read ({error.strerror or error})") from None


def _read(more: Callable[[int], bytes]) -> Iterator[bytes]:
    while chunk := more(_CHUNK):
        yield chunk


def _zstandard(stream: io.BufferedReader) -> Iterator[bytes]:
    """Frame after frame. The library's own reader takes a file cut in the middle for a whole one, so this asks."""
    frame = zstandard.ZstdDecompressor().decompressobj()
    fresh = True
    while packed := stream.read(_CHUNK // 8):
        while packed:
            if frame.eof:
                frame = zstandard.ZstdDecompressor().decompressobj()
            if chunk := frame.decompress(packed):
                yield chunk
            packed = frame.unused_data
            fresh = False
    if fresh or not frame.eof:
        raise EOFError("it ends too early")


def _without_bom(stream: Iterator[bytes], path: str | Path) -> Iterator[bytes]:
    first = next(stream, b"")
    if first.startswith(_UTF16):
        raise Fault(f"{name(path)}: is UTF-16; save it as UTF-8")
    if first:
        yield first.removeprefix(_BOM)
    yield from stream
