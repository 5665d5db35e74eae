"""One push to or pull from a registry: its progress, end and error sentence."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal

import psutil

from pyscale.data.progress import Advance, Report
from pyscale.errors import Sayings, UserError, explained
from pyscale.images.engine import Engine
from pyscale.interruption import termination_as_interrupt
from pyscale.settings import without_login
from pyscale_stages.errors import ResourceExhausted

SCHEME = "oras://"
DEFAULT_TAG = "latest"
_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d+)?|\[[0-9a-fA-F:]+\](?::\d+)?"
_PART = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?P<host>{_HOST})/(?P<path>{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?",
    re.ASCII,
)


@dataclass(frozen=True)
class Reference:
    """A place in a registry.

    `host`: name of the registry, with its port where it has one. `path`: repository in it.
    `digest`: digest of the manifest, which pins more than a tag does. `scheme`: `oras://` of SIFs,
    or `docker://` of layers.
    """

    host: str
    path: str
    tag: str = DEFAULT_TAG
    digest: str | None = None
    scheme: str = SCHEME

    def __str__(self) -> str:
        version = f"@{self.digest}" if self.digest else f":{self.tag}"
        return f"{self.scheme}{self.host}/{self.path}{version}"

    def below(self, name: str) -> Reference:
        """The place of an image of this name below this one, with the same tag."""
        return replace(self, path=f"{self.path}/{name}")


def parse_reference(text: str) -> Reference:
    """Read a reference."""
    found = _REFERENCE.fullmatch(text.removeprefix(SCHEME)) if text.startswith(SCHEME) else None
    if found is None:
        raise UserError(
            f"{without_login(text)!r} is not a valid registry address: write oras://HOST/PATH or "
            "oras://HOST/PATH:TAG, the path in small letters"
        )
    return Reference(found["host"], found["path"], found["tag"] or DEFAULT_TAG, found["digest"])


Verb = Literal["push", "pull"]
LOOK_EVERY_S = 0.2

_SAID: Sayings = (
    (
        r"(?i)no space left on device|disk quota exceeded",
        ResourceExhausted,
        "the disk of {disk} is full: nothing was installed; free space there and {verb} "
        "{reference} again",
    ),
    (
        r"server gave HTTP response to HTTPS client",
        UserError,
        "the registry {host} uses plain http: {plainly}",
    ),
    (
        r"(?P<why>x509: [^;]*)",
        UserError,
        "the certificate of the registry {host} is not trusted here ({why}): install the "
        "authority that signed it on this machine",
    ),
    (
        r"UNAUTHORIZED|DENIED|401 Unauthorized|403 Forbidden",
        UserError,
        "the registry {host} refuses to let you {verb} {reference}: log in by `{program} registry "
        "login --username NAME {scheme}{host}`, or ask for permission",
    ),
    (
        r"(?i)(manifest|name)[_ ]unknown|404 Not Found",
        UserError,
        "the registry {host} has no {reference}: check its path and tag, or push it first",
    ),
    (
        r"(?i)no such host|connection refused|connection reset|i/o timeout|network is unreachable"
        r"|no route to host|TLS handshake timeout|server misbehaving|unexpected EOF",
        UserError,
        "the registry {host} is unreachable ({cause}): check its name and the network, or copy "
        "{files}",
    ),
)
"""What the container program says of a registry, in the order in which it counts."""


def call_registry(
    engine: Engine,
    verb: Verb,
    sif: Path,
    reference: Reference,
    report: Report,
    *,
    no_https: bool = False,
    size_bytes: int | None = None,
    scratch: Path | None = None,
) -> None:
    """Push a file or pull into one, with a bar.

    `size_bytes`: size of the image, where it is known. `scratch`: where the program may put
    temporary files.
    """
    environment = dict(os.environ)
    if scratch is not None:
        environment |= {f"{engine.option_prefix}TMPDIR": str(scratch), "TMPDIR": str(scratch)}
    command = [sys.executable, "-m", "pyscale.interruption", str(os.getpid())]
    command += [engine.program, verb, *(["--disable-cache"] if verb == "pull" else [])]
    command += [*(["--no-https"] if no_https else []), str(sif), str(reference)]
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
            written = _written(watched)
        # A pull copies the file once more at its end.
        if size_bytes is not None:
            written = min(written, size_bytes)
        advance(max(0, written - shown))
        shown = max(shown, written)


def _written(process: psutil.Process) -> int:
    """Bytes that a process and all that it started have written so far."""
    # Linux adds those of a child only when it has ended, and the container program is a child.
    family = [process]
    with suppress(psutil.Error):
        family += process.children(recursive=True)
    written = 0
    for each in family:
        with suppress(psutil.Error):
            written += int(each.io_counters().write_chars)
    return written


def _last_line(said: IO[bytes]) -> str:
    said.seek(0)
    text = re.sub(r"\x1b\[[0-9;]*m", "", said.read().decode(errors="replace"))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("FATAL", "ERROR"))]
    return (fatal or lines or ["no output"])[-1]


def _sentence(
    engine: Engine, verb: Verb, reference: Reference, said: str, scratch: Path | None
) -> Exception:
    line = said.removeprefix("FATAL:").strip()
    ours = reference.scheme == SCHEME
    # The reference's own words must not be taken for those of an error.
    words = line.replace(str(reference), "").replace(f"{reference.host}/", "")
    known = explained(
        words,
        _SAID,
        verb=verb,
        reference=reference,
        host=reference.host,
        scheme=reference.scheme,
        plainly="add --no-https" if ours else f"set {engine.option_prefix}NOHTTPS=true",
        files="the SIF and images.lock as files" if ours else "its SIF, and name that file",
        program=Path(engine.program).name,
        disk=scratch.parents[1] if scratch is not None else Path(tempfile.gettempdir()),
        # The innermost of the causes that Go strings together.
        cause=words.rpartition(": ")[2],
    )
    return known or UserError(
        f"{engine.name} could not {verb} {reference} ({line}): fix that, and try again"
    )
