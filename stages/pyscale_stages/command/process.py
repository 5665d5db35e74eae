"""Runs a command, also as a rank, hears what it says of its phases, and ends what it leaves."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import get_args

from pydantic import ValidationError

from pyscale_stages.binds import HOME
from pyscale_stages.command.outside import FirstOpen, runs_in_container
from pyscale_stages.contract import Phase
from pyscale_stages.errors import BadInput, MissingPart, StageError
from pyscale_stages.measured import Measured, read_measured
from pyscale_stages.ranks.meeting import Party
from pyscale_stages.telling import TOLD_VARIABLE
from pyscale_stages.wording import first_problem

READ_ONLY = os.strerror(errno.EROFS)
CAN_BE_WRITTEN = f"in an image a step can write only to its output, to HOME and to {HOME}"
LOOK_S = 0.01
"""Between two looks whether a container has started; it takes some tenths of a second."""
PIPE_BYTES = 1 << 20
"""Most that a pipe holds for users, by Linux's default of `/proc/sys/fs/pipe-max-size`."""
LONGEST_LINE_BYTES = 1 << 16
"""Of a line that is not at its end, so much is kept for what it may tell."""


SAYS_PHASE = "::phase "
"""A line of stderr that begins so names the phase which begins with it."""
SAYS_METRIC = "::metric "
"""A line of stderr that begins so names a number (see `pyscale_stages.measured`)."""
LAST_LINES = 3
"""Lines that are repeated of a command that failed."""
_KNOWN: dict[str, Phase] = {phase: phase for phase in get_args(Phase)}

Lasted = tuple[Phase, float, float]
"""A phase with its start and end."""


@dataclass
class Heard:
    """One call of a command, in seconds on the monotonic clock of this process."""

    begin: float
    end: float = 0.0
    in_container: float | None = None
    """When it started in its container; None where it has none, or that was not seen."""
    read: float | None = None
    """When it first opened what it reads; None where that was not seen."""
    read_nothing: bool = False
    """Whether surely nobody opened what it reads while it ran."""
    said: list[tuple[Phase, float]] = field(default_factory=list)
    """Phases that its stderr named, each with the time at which it began."""
    told: list[Lasted] = field(default_factory=list)
    """Phases that its file of spans holds."""
    measured: list[Measured] = field(default_factory=list)
    """Numbers that it named."""
    unknown: list[str] = field(default_factory=list)
    """Phases that it named and that there are not."""
    unread: list[str] = field(default_factory=list)
    """Sentences on lines that should tell something and do not."""
    last_lines: deque[str] = field(default_factory=lambda: deque(maxlen=LAST_LINES))
    left_running: bool = False
    """Whether processes that it had started outlived it, and were ended."""
    is_late: bool = False
    """Whether it was ended, as it took too long."""
    returncode: int = 0

    def line(self, line: str) -> None:
        """Take in one line of its stderr."""
        if line.startswith(SAYS_PHASE):
            name = line.removeprefix(SAYS_PHASE).strip()
            if (phase := self._known(name)) is not None:
                self.said.append((phase, time.monotonic()))
        elif line.startswith(SAYS_METRIC):
            try:
                self.measured.append(read_measured(line.removeprefix(SAYS_METRIC)))
            except ValueError as error:
                self.unread.append(f"the command said {line!r}, which names no number: {error}")
        elif line.strip():
            self.last_lines.append(line.strip())

    def take_file(self, path: Path) -> None:
        """Take in what it wrote to its file of spans, if anything (`pyscale_stages.telling`)."""
        if not path.is_file():
            return
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                self._take_object(json.loads(line))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                why = first_problem(error, Measured) if isinstance(error, ValidationError) else ""
                self.unread.append(
                    f"the command wrote {line!r} to its file of spans, which tells neither a phase "
                    f"nor a number{why and f': {why}'}"
                )

    def _take_object(self, told: dict[str, object]) -> None:
        if "metric" in told:
            number = {"name": told["metric"]} | {k: v for k, v in told.items() if k != "metric"}
            self.measured.append(Measured.model_validate(number))
            return
        start, end = float(str(told["start_s"])), float(str(told["end_s"]))
        if (phase := self._known(str(told["phase"]))) is not None:
            self.told.append((phase, start, end))

    def _known(self, name: str) -> Phase | None:
        if name not in _KNOWN:
            self.unknown.append(name)
        return _KNOWN.get(name)

    @property
    def phases(self) -> Iterator[Lasted]:
        """What it did all the time; without its word it starts up until it reads, then computes."""
        at = self.begin
        if self.in_container is not None:
            yield "container_start", at, self.in_container
            at = self.in_container
        before: Phase = "import"
        for phase, start, end in self._own_phases(at):
            # Those of several threads may lie above each other.
            start, end = max(start, at), min(end, self.end)  # noqa: PLW2901
            if start > at:
                yield before, at, start
            if end > start:
                yield phase, start, end
                at, before = end, "compute"
        if at < self.end:
            yield "compute", at, self.end

    def _own_phases(self, at: float) -> Sequence[Lasted]:
        if self.told:
            return sorted(self.told, key=lambda one: one[1])
        said = self.said or [("compute", at if self.read is None else self.read)]
        ends = [*(start for _, start in said[1:]), self.end]
        return [(phase, start, end) for (phase, start), end in zip(said, ends, strict=True)]


@dataclass(frozen=True)
class Call:
    """One call of a command."""

    words: Sequence[str]
    folder: Path
    """Folder that it runs in."""
    environment: Mapping[str, str]
    told: Path
    """File of spans, where it may tell what it does and measures."""
    reads: Sequence[Path] = ()
    """Files and folders of which the first to be opened ends its start-up."""
    in_image: bool = False
    at_most_s: float | None = None
    """Seconds after which it is ended."""


class Running:
    """A command that runs; what it says goes to the stderr of this process."""

    def __init__(self, call: Call) -> None:
        self._call = call
        # Where the kernel watches no more files, start-up is not told from computing.
        self._opened: FirstOpen | None = None
        with suppress(OSError, AttributeError):
            self._opened = FirstOpen(call.reads)
        self.heard = Heard(time.monotonic())
        try:
            self._process = subprocess.Popen(
                call.words,
                cwd=call.folder,
                env={**call.environment, TOLD_VARIABLE: str(call.told)},
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr.fileno(),
                stderr=subprocess.PIPE,
                # Else a read goes on for as long as the command writes faster than it is read.
                bufsize=0,
                # So that all it starts can be ended, and be told from other processes.
                start_new_session=True,
            )
        except OSError as error:
            raise _why_not_started(error, call.words[0], call.folder) from error
        except ValueError as error:
            raise BadInput(
                f"the command cannot be given to a program ({error}): see its words"
            ) from error

    def follow(self) -> Heard:
        """Hear it until it ends, or is ended as it takes too long."""
        try:
            self.heard.is_late = not self._listen()
        finally:
            self.heard.end = time.monotonic()
            self.heard.left_running = end_group(self._process)
            if self._opened is not None:
                self._opened.take()
                self.heard.read_nothing = not self._opened.was_told
                self._opened.close()
        self.heard.returncode = self._process.returncode
        self.heard.take_file(self._call.told)
        return self.heard

    def end(self) -> None:
        """End it and what it started, where it has not ended."""
        # What has ended may have left its number to another.
        if self._process.returncode is None:
            end_group(self._process)

    def why_failed(self, fine: Collection[int] = (0,)) -> str | None:
        """Say how it failed, with its last lines; None where it did not."""
        heard = self.heard
        if heard.is_late:
            how = f"was ended, as it took longer than {self._call.at_most_s:g} s"
        elif heard.returncode in fine:
            return None
        elif heard.returncode < 0:
            how = f"was killed by {signal.Signals(-heard.returncode).name}"
        else:
            how = f"failed with exit code {heard.returncode}"
        words = f"; its last lines: {' / '.join(heard.last_lines)}" if heard.last_lines else ""
        hint = f"; {CAN_BE_WRITTEN}" if self._call.in_image and READ_ONLY in words else ""
        return f"the command of the step {how}{words}{hint}"

    def _listen(self) -> bool:
        """Hear it until it ends; return whether it did so in time."""
        # What it started may hold its stderr open, so its end is waited for, not that of its words.
        process, heard, opened = self._process, self.heard, self._opened
        most_s = self._call.at_most_s
        assert process.stderr is not None
        ended, tells = os.pipe()

        def tell_of_end() -> None:
            process.wait()
            os.close(tells)

        waiting = threading.Thread(target=tell_of_end, daemon=True)
        waiting.start()
        # A read takes what is there: waiting for more would overlook the end and the time limit.
        os.set_blocking(process.stderr.fileno(), False)
        rest = b""
        with DefaultSelector() as selector, os.fdopen(ended, "rb"):
            selector.register(process.stderr, EVENT_READ)
            selector.register(ended, EVENT_READ)
            if opened is not None:
                selector.register(opened.fd, EVENT_READ)
            while True:
                left_s = None if most_s is None else heard.begin + most_s - time.monotonic()
                looks = self._call.in_image and heard.in_container is None
                wait_s = min(LOOK_S, left_s or LOOK_S) if looks else left_s
                ready = {key.fd for key, _ in selector.select(wait_s)}
                now = time.monotonic()
                if looks and runs_in_container(process.pid):
                    heard.in_container = now
                if opened is not None and opened.fd in ready and opened.is_of(process.pid):
                    heard.read = now
                    selector.unregister(opened.fd)
                    opened = None
                is_over = ended in ready
                if is_over or process.stderr.fileno() in ready:
                    # All that it said itself by its end; what it started may go on without end.
                    told = process.stderr.read(PIPE_BYTES)
                    if told == b"" and not is_over:
                        selector.unregister(process.stderr)
                    rest = _heard_of(rest, told or b"", heard)
                if is_over:
                    heard.line(rest.decode(errors="replace"))
                    return True
                if left_s is not None and left_s <= 0:
                    return False


def run_command(call: Call, fine: Collection[int] = (0,)) -> Heard:
    """Run a command to its end; `fine`: exit codes that are no failure."""
    running = Running(call)
    heard = running.follow()
    why = running.why_failed(fine)
    if why is not None:
        raise StageError(why)
    return heard


def _heard_of(before: bytes, told: bytes, heard: Heard) -> bytes:
    """Repeat what a command said, and take in its whole lines; return what follows them."""
    sys.stderr.buffer.write(told)
    sys.stderr.flush()
    *lines, rest = (before + told).split(b"\n")
    for line in lines:
        heard.line(line.decode(errors="replace"))
    # A progress bar may have no line break for hours, and would be copied at each look.
    return rest[-LONGEST_LINE_BYTES:]


def end_group(process: subprocess.Popen[bytes]) -> bool:
    """End what is left of a command and of all that it started; return whether anything was."""
    is_late = process.poll() is None
    with suppress(ProcessLookupError):
        # It raises where nothing of the group is left.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return not is_late
    process.wait()
    return False


def _why_not_started(error: OSError, program: str, folder: Path) -> StageError:
    """Say why a program did not start, as one sentence."""
    kind = MissingPart if isinstance(error, FileNotFoundError) else BadInput
    return kind(
        f"the program {program!r} of the step cannot be started in {folder} ({error.strerror}): "
        "install it, write its path, make it executable (`chmod +x`), or name the environment or "
        "the image that has it"
    )


NOTHING_READ = "read_nothing"


def run_as_rank(party: Party, call: Call) -> Heard:
    """Run the command of this rank; where another rank ends badly, it is ended."""
    running = Running(call)
    with party.listening(running.end):
        heard = running.follow()
    why = running.why_failed()
    # First, as a command that was ended for the sake of another rank has failed, too.
    party.refuse_lost()
    if why is not None:
        raise StageError(why)
    party.last_words[NOTHING_READ] = heard.read_nothing
    return heard


def await_others(party: Party) -> bool:
    """Wait, as the first rank, until the commands of all have ended; whether none read an input."""
    party.watch()
    party.refuse_lost()
    return all(told.get(NOTHING_READ, True) for told in (party.last_words, *party.heard))
