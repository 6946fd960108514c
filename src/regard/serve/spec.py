"""Spec: the API as OpenAPI 3.1, with the languages and limits that this server has. It is tested against the server."""

from __future__ import annotations

from typing import Any, Final

from regard import __version__
from regard.serve.ask import AUTO
from regard.serve.document import FORMATS
from regard.serve.library import Library
from regard.serve.settings import Settings

Schema = dict[str, Any]

ABOUT: Final = (
    "The API of LibreTranslate, and what goes beyond it. Every POST takes its fields as JSON, as a form, or in the"
    " query string of a request without a body."
)
_ERROR: Final[Schema] = {
    "type": "object",
    "properties": {"error": {"type": "string"}},
    "required": ["error"],
    "additionalProperties": False,
}
_WORDS: Final = ("true", "false", "1", "0", "")
_WHY: Final = {
    "400": "What was asked for is wrong; the text says what.",
    "403": "A key is needed and was not given, or this is turned off.",
    "404": "There is no such thing.",
    "405": "Another method is needed.",
    "408": "The request came too slowly.",
    "413": "The request is too large.",
    "429": "Too many requests of one address.",
    "503": "Too much is waiting; Retry-After says for how many seconds to stay away.",
}


def spec(library: Library, settings: Settings) -> Schema:
    """The whole document."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Regard", "version": __version__, "description": ABOUT},
        "paths": _asking(library, settings) | _telling(library),
        "components": {"schemas": {"Error": _ERROR, "Detected": _DETECTED, "Link": _LINK, "Attention": _ATTENTION}},
    }


def _asking(library: Library, settings: Settings) -> Schema:
    texts = {"q": _q(settings)}
    found = {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Detected"}}
    paths = {
        "/translate": _post(
            "Translate a text, or several", _bodies(_translate(library, settings)), _TRANSLATED, settings
        ),
        "/detect": _post("Which language is this?", _bodies(_form(settings, texts)), found, settings),
    }
    if settings.files:
        url = _object({"translatedFileUrl": {"type": "string", "format": "uri"}})
        body = {"multipart/form-data": {"schema": _file(library, settings)}}
        paths["/translate_file"] = _post("Translate a file of text, HTML or subtitles", body, url, settings)
    if settings.suggestions is not None:
        word = {"type": "string", "minLength": 1, **_most(settings)}
        sides = {key: {"type": "string", "enum": list(library.languages)} for key in ("source", "target")}
        done = _object({"success": {"type": "boolean"}})
        bodies = _bodies(_form(settings, {"q": word, "s": word, **sides}))
        paths["/suggest"] = _post("Tell of a better translation", bodies, done, settings)
    return paths


def _form(settings: Settings, needed: Schema, more: Schema | None = None) -> Schema:
    """The fields of a request. Where no key is needed, what is given as one is not looked at."""
    key = {"type": "string"} if settings.keys else {"description": "Not looked at: no key is needed."}
    required = [*needed, *(["api_key"] if settings.keys else [])]
    return {"type": "object", "properties": {**needed, **(more or {}), "api_key": key}, "required": required}


def _translate(library: Library, settings: Settings) -> Schema:
    flags = {
        "confidence": _flag("How likely a person would have written the same words; null where nobody measured that."),
        "alignment": _flag("Word links with probabilities; with the format text."),
        "attention": _flag("The weights that the links are read off; likewise."),
    }
    more = {
        "format": {"enum": ["text", "html", "", None], "default": "text"},
        "alternatives": _count(settings.limits.alternatives),
        **flags,
    }
    form = _form(settings, {"q": _q(settings), **_sides(library)}, more)
    textual = [_both({"format": ["html"]}, {flag: [True, "true", "1"]}) for flag in ("alignment", "attention")]
    return {**form, "anyOf": _pairs(library), "not": {"anyOf": textual}}


def _file(library: Library, settings: Settings) -> Schema:
    endings, most = ", ".join(FORMATS), settings.limits.file
    about = f"UTF-8 text of {most} bytes at most, its name ending in {endings}, or in nothing."
    file = {"type": "string", "contentMediaType": "text/plain", "minLength": 1, "description": about}
    form = _form(settings, {"file": file, **_sides(library)})
    return {**form, "anyOf": _pairs(library)}


def _sides(library: Library) -> Schema:
    sources = [*library.languages, AUTO]
    return {
        "source": {"type": "string", "enum": sources, "description": f"A code, or {AUTO}."},
        "target": {"type": "string", "enum": list(library.languages)},
    }


def _pairs(library: Library) -> list[Schema]:
    """Those that are there, not all that could be. What is found in a text may have no way to a target: a 400."""
    ways = {each: library.targets(each) for each in library.languages}
    return [
        {"properties": {"source": {"const": source}, "target": {"enum": targets}}}
        for source, targets in {**ways, AUTO: list(library.languages)}.items()
    ]


def _both(*wanted: dict[str, list[Any]]) -> Schema:
    """Each of these fields is there with one of its values."""
    enums = {key: {"enum": values} for each in wanted for key, values in each.items()}
    return {"properties": enums, "required": list(enums)}


def _count(most: int) -> Schema:
    digits = {"type": "string", "enum": ["", *map(str, range(most + 1))]}
    return {"anyOf": [digits, {"type": "integer", "maximum": most}, {"type": "null"}], "default": 0}


def _flag(about: str) -> Schema:
    return {"enum": [*_WORDS, True, False, None], "default": False, "description": about}


def _q(settings: Settings) -> Schema:
    limits = settings.limits
    one = {"type": "string", "minLength": 1, **_most(settings)}
    most = {"maxItems": limits.batch} if limits.batch >= 0 else {}
    many = {"type": "array", "items": {"type": "string"}, "minItems": 1, **most}
    return {"anyOf": [one, many], "description": "A text, or a list of texts; the limit is that of all together."}


def _most(settings: Settings) -> Schema:
    return {"maxLength": settings.limits.characters} if settings.limits.characters >= 0 else {}


def _object(properties: Schema, *optional: str) -> Schema:
    needed = [each for each in properties if each not in optional]
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def _one_or_more(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "array", "items": schema}]}


_DETECTED: Final = _object(
    {"confidence": {"type": "number", "minimum": 0, "maximum": 100}, "language": {"type": "string"}}
)
_PLACE: Final = _object({"text": {"type": "string"}, "start": {"type": "integer"}, "end": {"type": "integer"}})
_LINK: Final = _object(
    {"source": _PLACE, "target": _PLACE, "probability": {"type": "number", "minimum": 0, "maximum": 1}}
)
_LABELS: Final[Schema] = {"type": "array", "items": {"type": "string"}}
_ATTENTION: Final = _object(
    {
        "source": _LABELS,
        "target": _LABELS,
        "weights": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
    }
)
_LINKS: Final[Schema] = {"type": "array", "items": {"$ref": "#/components/schemas/Link"}}
_SEEN: Final[Schema] = {"type": "array", "items": {"$ref": "#/components/schemas/Attention"}}
_BEYOND: Final = {
    "detectedLanguage": _one_or_more({"$ref": "#/components/schemas/Detected"}),
    "alternatives": _one_or_more({"anyOf": [{"type": "string"}, _LABELS]}),
    "confidence": _one_or_more({"type": ["number", "null"], "minimum": 0, "maximum": 1}),
    "alignment": {"anyOf": [_LINKS, {"type": "array", "items": _LINKS}]},
    "attention": {"anyOf": [_SEEN, {"type": "array", "items": _SEEN}]},
}
_TRANSLATED: Final = _object({"translatedText": _one_or_more({"type": "string"}), **_BEYOND}, *_BEYOND)


def _bodies(schema: Schema) -> Schema:
    """JSON, or a form, where everything is a word."""
    form = {**schema, "properties": {key: _written(value) for key, value in schema["properties"].items()}}
    return {"application/json": {"schema": schema}, "application/x-www-form-urlencoded": {"schema": form}}


def _written(schema: Schema) -> Schema:
    if "anyOf" in schema:
        first: Schema = schema["anyOf"][0]
        return first
    if "enum" in schema:
        return schema | {"enum": [each for each in schema["enum"] if isinstance(each, str)]}
    return schema


def _answers(schema: Schema, *why: str, kind: str = "application/json") -> Schema:
    told = {"200": {"description": "Done.", "content": {kind: {"schema": schema}}}}
    refs = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return told | {each: {"description": _WHY[each], "content": refs} for each in why}


def _post(about: str, bodies: Schema, answer: Schema, settings: Settings) -> Schema:
    limited = ["429"] if settings.limits.each_minute else []
    answers = _answers(answer, "400", "403", "408", "413", *limited, "503")
    return {"post": {"summary": about, "requestBody": {"required": True, "content": bodies}, "responses": answers}}


def _telling(library: Library) -> Schema:
    codes: Schema = {"type": "string", "enum": list(library.languages)}
    language = _object({"code": codes, "name": {"type": "string"}, "targets": {"type": "array", "items": codes}})
    side = _object({"code": {"type": "string"}, "name": {"type": "string"}})
    flags = ("apiKeys", "keyRequired", "suggestions", "filesTranslation")
    frontend = {
        "charLimit": {"type": "integer"},
        "frontendTimeout": {"type": "integer"},
        **{each: {"type": "boolean"} for each in flags},
        "supportedFilesFormat": _LABELS,
        "language": _object({"source": side, "target": side}),
    }
    json, html, text = "application/json", "text/html", "text/plain"
    told: list[tuple[str, str, Schema, str]] = [
        ("/languages", "The languages, and what each is translated into", {"type": "array", "items": language}, json),
        ("/frontend/settings", "What a page that uses this server has to know", _object(frontend), json),
        ("/health", "Is it there?", _object({"status": {"const": "ok"}}), json),
        ("/metrics", "Figures for Prometheus: counts and times, nothing personal", {"type": "string"}, text),
        ("/spec", "This document", {"type": "object"}, json),
        ("/docs", "This document as a page", {"type": "string"}, html),
    ]
    paths: Schema = {
        path: {"get": {"summary": about, "responses": _answers(schema, kind=kind)}}
        for path, about, schema, kind in told
    }
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    file = {"type": "string", "contentMediaType": "application/octet-stream"}
    answers = _answers(file, "404", kind="application/octet-stream")
    about = "A translated file, by the name that /translate_file gave"
    paths["/download_file/{name}"] = {"get": {"summary": about, "parameters": [name], "responses": answers}}
    return paths
