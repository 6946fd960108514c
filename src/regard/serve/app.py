"""App: routes to answers. It does not know what an answer says, nor how connections come and go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from regard.serve import figures, page
from regard.serve.ask import missing
from regard.serve.fields import fields
from regard.serve.gate import Gate
from regard.serve.refusal import Refusal
from regard.serve.service import Service
from regard.serve.spec import spec

TIDY: Final = 60.0  # seconds between two looks for files that are over
_SAFE: Final = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "referrer-policy": "no-referrer",
}

Handler = Callable[[Request], Awaitable[Response]]


def app(service: Service, ready: Callable[[], None] = lambda: None) -> ASGIApp:
    """Everything a client can ask for; `ready` is called when it can. The studio takes the place of `/`."""
    routes = [
        Route("/", _front(service), methods=["GET"]),
        Route("/translate", _watched(service, _translate(service)), methods=["POST"]),
        Route("/detect", _detect(service), methods=["POST"]),
        Route("/languages", _languages(service), methods=["GET"]),
        Route("/frontend/settings", _frontend(service), methods=["GET"]),
        Route("/translate_file", _watched(service, _file(service)), methods=["POST"]),
        Route("/download_file/{name}", _download(service), methods=["GET"]),
        Route("/suggest", _suggest(service), methods=["POST"]),
        Route("/health", _health, methods=["GET"]),
        Route("/metrics", _metrics(service), methods=["GET"]),
        Route("/spec", _spec(service), methods=["GET"]),
        Route("/docs", _docs(service), methods=["GET"]),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        works = [asyncio.create_task(service.batcher.run()), asyncio.create_task(_tidy(service))]
        ready()
        yield
        for each in works:
            each.cancel()
        service.batcher.close()

    made = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={HTTPException: _wrong, Refusal: _refused},
    )
    made.router.redirect_slashes = False
    paths = frozenset(route.path.replace("{name}", "NAME") for route in routes)
    return Gate(made, service.settings.limits, service.figures.request, paths)


async def _tidy(service: Service) -> None:
    while True:
        await asyncio.sleep(TIDY)
        service.shelf.tidy()


def _watched(service: Service, handler: Handler) -> Handler:
    """Gives up the work of a client that has gone."""

    async def handle(request: Request) -> Response:
        form = await fields(request)
        request.state.fields = form
        work = asyncio.ensure_future(handler(request))
        gone = asyncio.ensure_future(_gone(request))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            service.figures.gone()
            return Response(status_code=499)
        finally:
            work.cancel()
            gone.cancel()

    return handle


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _translate(service: Service) -> Handler:
    async def translate(request: Request) -> Response:
        service.allow(request.state.fields)
        return JSONResponse(await service.translate(request.state.fields))

    return translate


def _detect(service: Service) -> Handler:
    async def detect(request: Request) -> Response:
        form = await fields(request)
        service.allow(form)
        return JSONResponse(service.detect(form))

    return detect


def _languages(service: Service) -> Handler:
    async def languages(_: Request) -> Response:
        return JSONResponse(service.library.record())

    return languages


def _frontend(service: Service) -> Handler:
    async def frontend(_: Request) -> Response:
        return JSONResponse(service.frontend())

    return frontend


def _file(service: Service) -> Handler:
    async def translate_file(request: Request) -> Response:
        if not service.settings.files:
            raise Refusal(403, "Files translation are disabled on this server.")
        form = request.state.fields
        service.allow(form)
        file = form.get("file")
        if isinstance(file, UploadFile) and file.filename:
            title, content = file.filename, await file.read()
        elif isinstance(file, str) and file:  # a part of the form without a name
            title, content = "file.txt", file.encode()
        else:
            raise missing("file")
        name = await service.file(form, title, content)
        return JSONResponse({"translatedFileUrl": str(request.url_for("download_file", name=name))})

    return translate_file


def _download(service: Service) -> Handler:
    async def download_file(request: Request) -> Response:
        kept = service.kept(request.path_params["name"])
        headers = {"content-disposition": f'attachment; filename="{kept.title}"', "content-security-policy": "sandbox"}
        return Response(kept.content, media_type="application/octet-stream", headers=headers)

    return download_file


def _suggest(service: Service) -> Handler:
    async def suggest(request: Request) -> Response:
        form = await fields(request)
        service.allow(form)
        return JSONResponse(await service.suggest(form))

    return suggest


async def _health(_: Request) -> Response:
    return JSONResponse({"status": "ok"})


def _metrics(service: Service) -> Handler:
    async def metrics(_: Request) -> Response:
        return Response(service.figures.text(), media_type=None, headers={"content-type": figures.TYPE})

    return metrics


def _spec(service: Service) -> Handler:
    async def openapi(_: Request) -> Response:
        return JSONResponse(spec(service.library, service.settings))

    return openapi


def _docs(service: Service) -> Handler:
    async def docs(_: Request) -> Response:
        return HTMLResponse(page.docs(spec(service.library, service.settings)), headers=_SAFE)

    return docs


def _front(service: Service) -> Handler:
    async def front(_: Request) -> Response:
        return HTMLResponse(page.front(service.library.record()), headers=_SAFE)

    return front


async def _wrong(_: Request, error: Exception) -> Response:
    """No such route, or another method."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return JSONResponse({"error": error.text}, error.status, headers=error.headers)
