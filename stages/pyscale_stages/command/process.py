"""Runs a command, hears what it says of its phases, and ends what it leaves running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import get_args

from pyscale_stages.contract import Phase
from pyscale_stages.errors import BadInput, MissingPart, StageError
from pyscale_stages.measured import Measured, read_measured

SAYS_PHASE = "::phase "
"""A line of stderr that begins so names the phase which begins with it."""
SAYS_METRIC = "::metric "
"""A line of stderr that begins so names a number (see `pyscale_stages.measured`)."""
LAST_LINES = 3
"""Lines that are repeated of a command that failed."""


@dataclass
class Heard:
    """What a command said while it ran, on the monotonic clock of this process."""

    begin: float
    marks: list[tuple[Phase, float]] = field(default_factory=list)
    """Phases that it named, each with the time at which it began."""
    unknown: list[str] = field(default_factory=list)
    """Phases that it named and that there are not."""
    last_lines: deque[str] = field(default_factory=lambda: deque(maxlen=LAST_LINES))
    left_running: bool = False
    """Whether processes that it had started outlived it, and were ended."""
    end: float = 0.0
    is_late: bool = False
    """Whether it was ended, as it took too long."""
    returncode: int = 0
    measured: list[Measured] = field(default_factory=list)
    """Numbers that it named."""
    unread: list[str] = field(default_factory=list)
    """Sentences on lines that should name a number and do not."""

    def line(self, line: str) -> None:
        """Take in one line."""
        if line.startswith(SAYS_PHASE):
            name = line.removeprefix(SAYS_PHASE).strip()
            known: dict[str, Phase] = {phase: phase for phase in get_args(Phase)}
            if name in known:
                self.marks.append((known[name], time.monotonic()))
            else:
                self.unknown.append(name)
        elif line.startswith(SAYS_METRIC):
            try:
                self.measured.append(read_measured(line.removeprefix(SAYS_METRIC)))
            except ValueError as error:
                self.unread.append(f"the command said {line!r}, which names no number: {error}")
        elif line.strip():
            self.last_lines.append(line.strip())

    @property
    def phases(self) -> list[tuple[Phase, float, float]]:
        """Phases with their start and end; of a command that names some, it starts by importing."""
        first: Phase = "import" if self.marks else "compute"
        marks = [(first, self.begin), *self.marks]
        ends = [*(at for _, at in self.marks), self.end]
        return [(phase, at, end) for (phase, at), end in zip(marks, ends, strict=True)]


def run_command(
    words: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    at_most_s: float | None,
    fine: Collection[int] = (0,),
) -> Heard:
    """Run a command to its end; what it says goes to the stderr of this process.

    Parameters
    ----------
    words : sequence of str
    folder : Path
        Folder that it runs in.
    environment : mapping of str to str
    at_most_s : float or None
        Seconds after which it is ended.
    fine : collection of int
        Exit codes that are no failure.

    Raises
    ------
    BadInput, MissingPart
        If it cannot be started.
    StageError
        If it fails, or takes too long.
    """
    process, heard = started(words, folder, environment)
    follow(process, heard, at_most_s)
    if heard.is_late or heard.returncode not in fine:
        raise StageError(why_failed(heard, at_most_s))
    return heard


def started(
    words: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], Heard]:
    """Start a command, whose words nobody hears yet."""
    heard = Heard(time.monotonic())
    try:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr.fileno(),
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise _why_not_started(error, words[0], folder) from error
    except ValueError as error:
        raise BadInput(
            f"the command cannot be given to a program ({error}): see its words"
        ) from error
    return process, heard


def follow(process: subprocess.Popen[bytes], heard: Heard, at_most_s: float | None) -> None:
    """Hear a command until it ends, or is ended as it takes too long."""
    try:
        heard.is_late = not _listen(process, heard, at_most_s)
    finally:
        heard.end = time.monotonic()
        heard.left_running = end_group(process)
    heard.returncode = process.returncode


def _listen(process: subprocess.Popen[bytes], heard: Heard, at_most_s: float | None) -> bool:
    """Hear a command until it ends; return whether it did so in time.

    What it started may hold its stderr open for longer, so its end is waited for and not that of
    its words.
    """
    assert process.stderr is not None
    ended, tells = os.pipe()
    waiting = threading.Thread(target=_tell_of_end, args=(process, tells), daemon=True)
    waiting.start()
    os.set_blocking(process.stderr.fileno(), False)
    rest = b""
    with DefaultSelector() as selector, os.fdopen(ended, "rb"):
        selector.register(process.stderr, EVENT_READ)
        selector.register(ended, EVENT_READ)
        while True:
            left_s = None if at_most_s is None else heard.begin + at_most_s - time.monotonic()
            ready = {key.fd for key, _ in selector.select(left_s)}
            if process.stderr.fileno() in ready:
                told = process.stderr.read()
                if not told:
                    selector.unregister(process.stderr)
                rest = _heard_of(rest + (told or b""), heard)
            elif ended in ready:
                heard.line(rest.decode(errors="replace"))
                return True
            elif not ready:
                return False


def _tell_of_end(process: subprocess.Popen[bytes], tells: int) -> None:
    process.wait()
    os.close(tells)


def _heard_of(told: bytes, heard: Heard) -> bytes:
    """Repeat what a command said, and take in its whole lines; return what follows them."""
    *lines, rest = told.split(b"\n")
    for line in lines:
        sys.stderr.buffer.write(line + b"\n")
        heard.line(line.decode(errors="replace"))
    sys.stderr.flush()
    return rest


def end_group(process: subprocess.Popen[bytes]) -> bool:
    """End what is left of a command and of all that it started; return whether anything was."""
    is_late = process.poll() is None
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return not is_late
    process.wait()
    return False


def _why_not_started(error: OSError, program: str, folder: Path) -> StageError:
    """Say why a program did not start, as one sentence."""
    if not folder.is_dir():
        return BadInput(f"the folder {folder} of the step is not there on this machine")
    if isinstance(error, FileNotFoundError):
        return MissingPart(
            f"the program {program!r} of the step is not found: install it, write its path, or "
            "name the environment or the image that has it"
        )
    if isinstance(error, PermissionError):
        return BadInput(f"{program!r} may not be run: make it executable (`chmod +x`)")
    return BadInput(f"{program!r} cannot be started ({error.strerror}): name a program")


def why_failed(heard: Heard, at_most_s: float | None) -> str:
    """Say how a command failed, with its last lines."""
    words = f"; its last lines: {' / '.join(heard.last_lines)}" if heard.last_lines else ""
    if heard.is_late:
        how = f"was ended, as it took longer than {at_most_s:g} s"
    elif heard.returncode < 0:
        how = f"was killed by {signal.Signals(-heard.returncode).name}"
    else:
        how = f"failed with exit code {heard.returncode}"
    return f"the command of the step {how}{words}"
