"""A server on loopback that can fail in every way that servers do, and registries to serve."""

from __future__ import annotations

import hashlib
import random
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pyscale.data.registry import Registry

NOISE = random.Random(1).randbytes(600_000)
"""A file's worth of bytes in which no two chunks are alike."""
SMALL_MOVIE = {
    "frames": 2,
    "height_px": 64,
    "width_px": 80,
    "cell_types": 1,
    "cells": 3,
    "radius_px": 5,
    "max_drift_px": 0,
}
LONG_S = 600.0
"""What a process or a server that does what it should never takes, on a busy machine."""
SMALL_SLIDES = {"slides": 2, "height_px": 512, "width_px": 640, "seed": 1}


@dataclass
class Answer:
    status: int = 200
    body: bytes | None = None
    break_after: int | None = None
    hold_after: int | None = None
    held: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Request:
    path: str
    status: int
    authorization: str | None


class FaultyServer(ThreadingHTTPServer):
    """Serves a folder; `script` holds answers for the next requests, `always` for the rest."""

    daemon_threads = True

    def __init__(self, root):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.root = root
        self.script = []
        self.always = Answer()
        self.requests = []

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def put(self, name, content):
        """Serve a file of the dataset `cells`."""
        path = self.root / "cells" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)

    def handle_error(self, request, client_address):
        """A client that hangs up early is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: FaultyServer
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        answer = self.server.script.pop(0) if self.server.script else self.server.always
        path = self.server.root / self.path.lstrip("/")
        is_there = answer.body is not None or path.is_file()
        body = answer.body
        if body is None:
            body = path.read_bytes() if is_there else b""
        status = answer.status if is_there else 404
        content = body if status == 200 else b""
        sent = content if answer.break_after is None else content[: answer.break_after]
        # Before the bytes, so that whoever has them all finds the request recorded.
        login = self.headers.get("Authorization")
        self.server.requests.append(Request(self.path, status, login))
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if answer.hold_after is not None:
            self.wfile.write(sent[: answer.hold_after])
            self.wfile.flush()
            answer.held.set()
            answer.release.wait()
            sent = sent[answer.hold_after :]
        self.wfile.write(sent)
        self.close_connection = len(sent) < len(content)

    def log_message(self, *_):
        """Tests read `requests` instead."""


def serve(root):
    with FaultyServer(root) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def row(name, content):
    """The short form of a file, as TOML gives it."""
    return [name, len(content), hashlib.sha256(content).hexdigest()]


def entry(files, **changes):
    """A registry entry as TOML gives it."""
    return {
        "title": "Cells of a test",
        "kind": "movie",
        "base_url": "http://127.0.0.1:9/",
        "files": files,
        "movie": ".",
        "licence": "CC0-1.0",
        "licence_url": "http://127.0.0.1:9/licence",
        "citation": "This test",
        "axes": "TYX",
    } | changes


def registry_of(files, **changes):
    """A registry whose only dataset is `cells`."""
    return Registry.model_validate({"datasets": {"cells": entry(files, **changes)}})


def dataset_of(files, **changes):
    return registry_of(files, **changes).get("cells")


CELLS = dataset_of([row("cells.tif", NOISE)], movie="cells.tif")
"""The file that `server` has."""
MADE_MOVIE = registry_of([], base_url=None, synth=SMALL_MOVIE, movie="movie.ome.tif")
"""A registry whose only dataset, `cells`, is made here."""
MADE_SLIDES = registry_of([], base_url=None, kind="slides", slides=SMALL_SLIDES, axes="YXS")
"""The same of slides."""
