"""One push or pull by the container program: its progress, end and error sentence."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Literal

import psutil

from pyscale.data.progress import Advance, Report
from pyscale.errors import UserError
from pyscale.images.engine import Engine
from pyscale.images.reference import Reference
from pyscale.interruption import termination_as_interrupt
from pyscale_stages.errors import ResourceExhausted

Verb = Literal["push", "pull"]
LOOK_EVERY_S = 0.2

_UNREACHABLE = re.compile(
    r"no such host|connection refused|connection reset|i/o timeout|network is unreachable"
    r"|no route to host|TLS handshake timeout|server misbehaving|unexpected EOF",
    re.IGNORECASE,
)
_REFUSED = re.compile(r"UNAUTHORIZED|DENIED|401 Unauthorized|403 Forbidden")
_UNKNOWN = re.compile(r"(MANIFEST|NAME)_UNKNOWN|404 Not Found")
_PLAIN = re.compile(r"server gave HTTP response to HTTPS client")
_CERTIFICATE = re.compile(r"x509: [^;]*")
_FULL = re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE)


def call_registry(
    engine: Engine,
    verb: Verb,
    arguments: Sequence[str],
    reference: Reference,
    report: Report,
    *,
    size_bytes: int | None = None,
    scratch: Path | None = None,
) -> None:
    """Push or pull, with a bar.

    `size_bytes`: size of the image, where it is known. `scratch`: where the program may put
    temporary files.
    """
    environment = dict(os.environ)
    if scratch is not None:
        environment |= {f"{engine.option_prefix}TMPDIR": str(scratch), "TMPDIR": str(scratch)}
    command = [sys.executable, "-m", "pyscale.images.mortal", str(os.getpid())]
    command += [engine.program, verb, *arguments]
    with (
        tempfile.TemporaryFile() as said,
        termination_as_interrupt(),
        report.bar(f"{verb} {reference}", size_bytes) as advance,
    ):
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=environment
        )
        try:
            _follow(process, advance, size_bytes)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        if process.returncode != 0:
            raise _sentence(engine, verb, reference, _last_line(said), scratch)


def _follow(process: subprocess.Popen[bytes], advance: Advance, size_bytes: int | None) -> None:
    """Wait for the end; what the process has written, to the network or a file, moves the bar."""
    shown = 0
    watched = psutil.Process(process.pid)
    while True:
        try:
            process.wait(LOOK_EVERY_S)
            return
        except subprocess.TimeoutExpired:
            written = _written_bytes(watched)
        # A pull copies the file once more at its end.
        if size_bytes is not None:
            written = min(written, size_bytes)
        advance(max(0, written - shown))
        shown = max(shown, written)


def _written_bytes(process: psutil.Process) -> int:
    try:
        return int(process.io_counters().write_chars)
    except psutil.Error:
        return 0


def _last_line(said: IO[bytes]) -> str:
    said.seek(0)
    text = re.sub(r"\x1b\[[0-9;]*m", "", said.read().decode(errors="replace"))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("FATAL", "ERROR"))]
    return (fatal or lines or ["no output"])[-1]


def _sentence(
    engine: Engine, verb: Verb, reference: Reference, said: str, scratch: Path | None
) -> UserError | ResourceExhausted:
    host = reference.host
    # The reference's own words must not be taken for those of an error.
    line = said.removeprefix("FATAL:").strip()
    words = line.replace(str(reference), "").replace(f"{host}/", "")
    if _FULL.search(words):
        where = scratch.parents[1] if scratch is not None else Path(tempfile.gettempdir())
        return ResourceExhausted(
            f"the disk of {where} is full: nothing was installed; free space there and "
            f"{verb} {reference} again"
        )
    if _PLAIN.search(words):
        return UserError(f"the registry {host} uses plain http: add --no-https")
    untrusted = _CERTIFICATE.search(words)
    if untrusted is not None:
        return UserError(
            f"the certificate of the registry {host} is not trusted here ({untrusted[0]}): "
            "install the authority that signed it on this machine"
        )
    if _REFUSED.search(words):
        login = f"{Path(engine.program).name} registry login --username NAME oras://{host}"
        return UserError(
            f"the registry {host} refuses to let you {verb} {reference}: log in by `{login}`, or "
            "ask for permission"
        )
    if _UNKNOWN.search(words):
        return UserError(
            f"the registry {host} has no {reference}: check its path and tag, or push it first"
        )
    if _UNREACHABLE.search(words):
        return UserError(
            f"the registry {host} is unreachable ({_cause(words)}): check its name and the "
            "network, or copy the SIF and images.lock as files"
        )
    return UserError(
        f"{engine.name} could not {verb} {reference} ({line}): fix that, and try again"
    )


def _cause(words: str) -> str:
    """The innermost of the causes that Go strings together."""
    return words.rpartition(": ")[2]
