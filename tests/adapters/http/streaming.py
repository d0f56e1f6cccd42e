"""A server with a door behind which a stream never ends; run as a program on a graph."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

import mycel
from mycel.http.app import Mount, build_app
from mycel.http.policy import Policy
from mycel.http.server import bind, resolve, run, url_of

LIVES: list[str] = []


def say(**told: object) -> None:
    print(json.dumps(told), flush=True)


async def endless() -> AsyncIterator[bytes]:
    yield b"begun\n"
    await asyncio.Event().wait()


async def stream(request: Request) -> Response:
    match request.method:
        case "GET":
            return StreamingResponse(endless())
        case "DELETE":
            raise RuntimeError("a secret of the inside")
        case _:
            return PlainTextResponse(f"{','.join(LIVES)} {len(await request.body())}")


@asynccontextmanager
async def lifespan(_app: Starlette) -> AsyncIterator[None]:
    LIVES.append("alive")
    yield
    say(event="door closed")


def main(path: str) -> None:
    app = Starlette(
        routes=[Route("/stream", stream, methods=["GET", "POST", "DELETE"])], lifespan=lifespan
    )
    policy = Policy()
    with mycel.open(path, create=False) as db:
        sockets = bind(resolve("127.0.0.1", 0))
        run(
            build_app(db, policy, mounts=[Mount("/stream", "stream", lambda: app, 8 << 20)]),
            sockets,
            policy,
            on_ready=lambda: say(event="ready", url=url_of(sockets[0], "127.0.0.1")),
            on_stop=lambda running: say(event="stopping", in_progress=running),
        )
    say(event="stopped")


if __name__ == "__main__":
    main(sys.argv[1])
