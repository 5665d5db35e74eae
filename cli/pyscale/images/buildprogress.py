"""Live progress of a build on a terminal; one line a step elsewhere."""

from __future__ import annotations

import time

from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from pyscale.console import Console
from pyscale.images.buildlog import BuildEvent

_STEPS = {
    "base": "Debian base",
    "libraries": "libraries",
    "image": "stage code",
}


class BuildProgress:
    """Shows the events of a build as they happen, on stderr."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            TextColumn("[dim]{task.fields[doing]}"),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._begun_s: dict[tuple[str, str], float] = {}

    def __enter__(self) -> BuildProgress:
        self._progress.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._progress.stop()

    def hear(self, event: BuildEvent) -> None:
        """Show one event."""
        step = f"{event.image}: {_STEPS[event.layer]}"
        key = (event.image, event.layer)
        if event.kind == "said":
            self._show(step, event.detail)
            return
        if event.kind == "current":
            self._say(f"{event.image}: nothing has changed")
        elif event.kind == "waiting":
            self._say(f"{step}: waiting for another build that is making it")
        elif event.kind == "started":
            self._begun_s[key] = time.monotonic()
            self._say(f"{step}: building")
            self._show(step, "")
        else:
            for task in [t for t in self._progress.tasks if t.description == escape(step)]:
                self._progress.remove_task(task.id)
            took_s = time.monotonic() - self._begun_s.pop(key)
            self._say(f"{step}: done in {took_s:.0f} s")

    def _say(self, sentence: str) -> None:
        self._console.print(sentence, markup=False, soft_wrap=True)

    def _show(self, step: str, said: str) -> None:
        """Keep one line for a step on the terminal: for how long it goes on, and what is done."""
        room = max(20, self._console.width - len(step) - 16)
        description, doing = escape(step), escape(said[:room])
        shown = next((t for t in self._progress.tasks if t.description == description), None)
        if shown is not None:
            self._progress.update(shown.id, doing=doing)
            return
        self._progress.add_task(description, doing=doing)
