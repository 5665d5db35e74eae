"""`pyscale status`: the state of a run, once or until it ends."""

from __future__ import annotations

from collections.abc import Iterator

from rich.live import Live
from watchfiles import watch

from pyscale.console import Console, answer, harmless, talk
from pyscale.errors import UserError
from pyscale.journalwords import story
from pyscale.settings import load_settings
from pyscale.status import RunStatus, StatusReader, run_status
from pyscale.statustable import rendered
from pyscale.store.folder import RunFolder, find_run
from pyscale.store.journal import Journal
from pyscale.store.lock import is_locked

REFRESH_MS = 1000
"""Running tasks get older although no file changes."""
UNDER_WAY = {"planned", "queued", "running"}


def show(name: str | None, *, watch: bool, as_json: bool, log: bool) -> None:
    """Print the state of a run, follow it, or tell its history."""
    run = find_run(load_settings().runs_folder, name)
    if log:
        for line in story(Journal(run.journal_file).read()):
            print(harmless(line))  # noqa: T201 - the command's answer
    elif watch:
        try:
            _follow(run)
        except KeyboardInterrupt:
            # On `pyscale run` the same keys end the run.
            if is_locked(run.path):
                talk(f"the run continues; end it with: pyscale cancel {run.path.name}")
            raise
    elif as_json:
        print(run_status(run, all_tasks=True).model_dump_json(indent=1))  # noqa: T201
    else:
        answer(rendered(run_status(run)))


def _follow(run: RunFolder) -> None:
    """Redraw the state on a terminal until the run ends; elsewhere print it at the end."""
    console = Console()
    if console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:
            for status in _until_the_end(run):
                live.update(rendered(status), refresh=True)
        return
    *_, last = _until_the_end(run)
    answer(rendered(last))


def _until_the_end(run: RunFolder) -> Iterator[RunStatus]:
    """Yield the state now and whenever it may have changed, the final one last."""
    reader = StatusReader(run)
    status = reader.read()
    yield status
    if status.state not in UNDER_WAY:
        return
    # The journal alone is watched: ten thousand folders of tasks would use up the system's
    # watches, and another node's changes are not told anyway.
    for _ in watch(
        run.path, recursive=False, rust_timeout=REFRESH_MS, yield_on_timeout=True, step=50
    ):
        if not run.path.exists():
            raise UserError(f"the run {run.path.name} was moved or deleted: {run.path} is gone")
        status = reader.read()
        if status.state not in UNDER_WAY:
            # What Slurm said some seconds ago may be of jobs that were ended since.
            yield run_status(run)
            return
        yield status
