"""Fields: what a request says, from whichever of the three encodings clients use: JSON, a form, the query string.

The query string counts only where the body says nothing, or beside a form. Text comes out as text: a half of a
surrogate pair, which no file can hold, becomes the sign for what cannot be read. It does not know what fields mean.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from regard.serve.refusal import Refusal, invalid

FEW: Final = 1_000  # fields of one request
Fields = Mapping[str, Any]


async def fields(request: Request) -> Fields:
    """All fields by name; one that a form repeats is a list."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if kind == "application/json" or kind.endswith("+json"):
        return _json(body)
    query = _pairs(request.scope.get("query_string", b""), "the query string")
    if kind == "multipart/form-data":
        return query | await _parts(request)
    if body and kind in {"", "application/x-www-form-urlencoded"}:
        return query | _pairs(body, "the body")
    return query


def _json(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise Refusal(400, "Invalid JSON format") from None
    if not isinstance(found, dict):
        raise Refusal(400, "Invalid JSON format")
    return {text(key): _whole(value) for key, value in found.items()}


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return text(value)
    return [_whole(each) if isinstance(each, str) else each for each in value] if isinstance(value, list) else value


def text(written: str) -> str:
    """Without lone surrogates."""
    return written.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _lone(written) else written


def _lone(written: str) -> bool:
    return any("\ud800" <= each <= "\udfff" for each in written) if not written.isascii() else False


def _pairs(encoded: bytes, where: str) -> dict[str, Any]:
    try:
        pairs = parse_qsl(encoded.decode(), keep_blank_values=True, errors="strict", max_num_fields=FEW)
    except UnicodeDecodeError:
        raise invalid(f"{where} is not UTF-8") from None
    except ValueError:
        raise invalid(f"{where} has more than {FEW} fields") from None
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key not in found:
            found[key] = value
        else:
            found[key] = [*found[key], value] if isinstance(found[key], list) else [found[key], value]
    return found


async def _parts(request: Request) -> dict[str, Any]:
    """Of a multipart form; a file stays a file."""
    try:
        form = await request.form(max_files=8, max_fields=FEW)
    except HTTPException as error:
        raise invalid(f"the form cannot be read ({error.detail})") from None
    found: dict[str, Any] = {}
    for key in form:
        values = [each if isinstance(each, UploadFile) else text(each) for each in form.getlist(key)]
        found[key] = values[0] if len(values) == 1 else values
    return found
