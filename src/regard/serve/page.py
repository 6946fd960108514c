"""Page: the API for people to read, and the page at `/`; plain HTML that loads nothing. The studio is to come there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, Final

_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "code,pre{font-family:ui-monospace,monospace;font-size:.9em}pre{overflow:auto;padding:.7rem;border:1px solid #8885}"
    "table{border-collapse:collapse}td,th{text-align:left;vertical-align:top;padding:.15rem 1rem .15rem 0}"
    "h2{margin-top:2.2rem;font-size:1.1rem}"
)


def front(languages: Sequence[dict[str, Any]]) -> str:
    """What stands at `/`."""
    rows = "".join(
        f"<tr><td>{escape(each['name'])} (<code>{escape(each['code'])}</code>)</td>"
        f"<td>{escape(', '.join(code for code in each['targets'] if code != each['code'])) or '-'}</td></tr>"
        for each in languages
    )
    return _page(
        "Regard",
        f"<h1>Regard</h1><p>This is a translation server.</p><table><tr><th>from</th><th>into</th></tr>{rows}</table>"
        '<p><a href="docs">The API</a> · <a href="spec">as OpenAPI</a></p>',
    )


def docs(spec: dict[str, Any]) -> str:
    """What stands at `/docs`."""
    example = json.dumps({"q": "Rahul is a good boy.", "source": "en", "target": "mr"})
    curl = f"curl http://127.0.0.1:5000/translate -H 'Content-Type: application/json' -d '{example}'"
    told = f"<h1>Regard</h1><p>{escape(spec['info']['description'])}</p><pre>{escape(curl)}</pre>"
    return _page("Regard: the API", told + "".join(_routes(spec["paths"])))


def _routes(paths: dict[str, Any]) -> Iterator[str]:
    for path, methods in paths.items():
        for method, about in methods.items():
            yield f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(about['summary'])}.</p>"
            bodies = about.get("requestBody", {}).get("content", {})
            if bodies:
                kinds = ", ".join(f"<code>{escape(kind)}</code>" for kind in bodies)
                yield f"<p>{kinds}</p>{_fields(next(iter(bodies.values()))['schema'])}"
            yield (
                "<table>"
                + "".join(
                    f"<tr><td><code>{code}</code></td><td>{escape(answer['description'])}</td></tr>"
                    for code, answer in about["responses"].items()
                )
                + "</table>"
            )


def _fields(schema: dict[str, Any]) -> str:
    rows = []
    for key, value in schema["properties"].items():
        told = {name: each for name, each in value.items() if name != "description"}
        needed = "needed. " if key in schema["required"] else ""
        text = escape(needed + value.get("description", ""))
        rows.append(f"<tr><td><code>{key}</code></td><td>{text} <code>{escape(json.dumps(told))}</code></td></tr>")
    return f"<table>{''.join(rows)}</table>"


def _page(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style><body>{body}</body></html>"
    )
