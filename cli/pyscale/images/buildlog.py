"""What happens in a build: its events on a terminal, and the log that says why it failed."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from rich.markup import escape
from rich.progress import SpinnerColumn, TaskID, TimeElapsedColumn

from pyscale.console import vanishing_progress

Layer = Literal["base", "libraries", "image"]


@dataclass(frozen=True)
class BuildEvent:
    """One thing that happened.

    `layer`: which part of it is in hand. `kind`: `current`: it is there already; `waiting`: another
    process makes it; `started`; `said`: a line of what goes on; `finished`. `detail`: the line.
    """

    image: str
    layer: Layer
    kind: Literal["current", "waiting", "started", "said", "finished"]
    detail: str = ""


Listener = Callable[[BuildEvent], None]


_REMEMBERED_LINES = 400
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# What the program says after a step has failed repeats only that it has.
_EMPTY_TALK = re.compile(
    r"^(INFO:|\+ |FATAL: +While performing build: .*exit status \d+$|E: Sub-process )"
)
_COMPLAINT = re.compile(r"\b(error|fatal|failed|cannot|unable|no such|not found)\b|^E: ", re.I)
_FULL_DISK = re.compile(r"no space left on device|disk quota exceeded", re.I)


class BuildLog:
    """Writes lines to a file and remembers the last ones.

    `folder`: folder of the logs; made where it is absent. `name`: what is built.
    """

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}.log"
        self.full_disk = False
        self._last: deque[str] = deque(maxlen=_REMEMBERED_LINES)
        self._file = self.path.open("w", encoding="utf-8")

    def __enter__(self) -> BuildLog:
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()

    def write(self, raw: str) -> str:
        """Keep a line; return it without colours and blanks around it."""
        line = _COLOURS.sub("", raw).strip()
        if line:
            # Said before the write: the log's own disk may be the one that is full.
            self.full_disk |= bool(_FULL_DISK.search(line))
            self._last.append(line)
            self._file.write(line + "\n")
            self._file.flush()
        return line

    def reason(self) -> str:
        """The last line that says why a build failed."""
        telling = [line for line in self._last if not _EMPTY_TALK.match(line)]
        complaints = [line for line in telling if _COMPLAINT.search(line)]
        lines = complaints or telling or list(self._last) or ["no output"]
        return lines[-1].removeprefix("FATAL:").strip()


_STEPS = {"base": "Debian base", "libraries": "libraries", "image": "stage code"}


class BuildProgress:
    """Shows the events of a build as they happen, on stderr."""

    def __init__(self) -> None:
        self._progress = vanishing_progress(
            SpinnerColumn(),
            "{task.description}",
            TimeElapsedColumn(),
            "[dim]{task.fields[doing]}",
        )
        self._begun_s: dict[str, float] = {}
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> BuildProgress:
        self._progress.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._progress.stop()

    def hear(self, event: BuildEvent) -> None:
        """Show one event."""
        step = f"{event.image}: {_STEPS[event.layer]}"
        if event.kind == "said":
            self._show(step, event.detail)
            return
        if event.kind == "current":
            self._say(f"{event.image}: nothing has changed")
        elif event.kind == "waiting":
            self._say(f"{step}: waiting for another build that is making it")
        elif event.kind == "started":
            self._begun_s[step] = time.monotonic()
            self._say(f"{step}: building")
            self._show(step, "")
        else:
            self._progress.remove_task(self._tasks.pop(step))
            took_s = time.monotonic() - self._begun_s.pop(step)
            self._say(f"{step}: done in {took_s:.0f} s")

    def _say(self, sentence: str) -> None:
        self._progress.console.print(sentence, markup=False, soft_wrap=True)

    def _show(self, step: str, said: str) -> None:
        """Keep one line for a step on the terminal: for how long it goes on, and what is done."""
        room = max(20, self._progress.console.width - len(step) - 16)
        doing = escape(said[:room])
        if step not in self._tasks:
            self._tasks[step] = self._progress.add_task(escape(step), doing=doing)
        self._progress.update(self._tasks[step], doing=doing)
