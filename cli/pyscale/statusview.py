"""`pyscale status`: where a run stands, once or until it ends."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text
from watchfiles import watch

from pyscale.console import answer
from pyscale.settings import load_settings
from pyscale.status import RunStatus, run_status
from pyscale.store.folder import RunFolder, find_run
from pyscale.store.journal import Event, Journal

REFRESH_MS = 1000
"""Running tasks get older although no file changes."""
UNDER_WAY = {"planned", "running"}


def show(name: str | None, *, watch: bool, as_json: bool, log: bool) -> None:
    """Print the state of a run, follow it, or tell its history."""
    run = find_run(load_settings().runs_folder, name)
    if log:
        for event in Journal(run.journal_file).read():
            print(_sentence(event))  # noqa: T201 - the command's answer
    elif watch:
        _follow(run)
    elif as_json:
        print(run_status(run).model_dump_json(indent=1))  # noqa: T201
    else:
        answer(_rendered(run_status(run)))


def _follow(run: RunFolder) -> None:
    """Redraw the state on a terminal until the run ends; elsewhere print it at the end."""
    console = Console()
    if console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:
            for status in _until_the_end(run):
                live.update(_rendered(status), refresh=True)
        return
    *_, last = _until_the_end(run)
    answer(_rendered(last))


def _until_the_end(run: RunFolder) -> Iterator[RunStatus]:
    """Yield the state now and whenever it may have changed, the final one last."""
    status = run_status(run)
    yield status
    if status.state not in UNDER_WAY:
        return
    for _ in watch(run.path, rust_timeout=REFRESH_MS, yield_on_timeout=True, step=50):
        status = run_status(run)
        yield status
        if status.state not in UNDER_WAY:
            return


def _rendered(status: RunStatus) -> RenderableType:
    table = Table(title=f"{status.run_id}  {status.suite}  {status.state}")
    for column in ("stage", "N", "done", "failed", "of", "trial s"):
        table.add_column(column, justify="left" if column == "stage" else "right")
    for row in status.configurations:
        table.add_row(
            row.entry,
            str(row.workers),
            str(row.done),
            Text(str(row.failed), style="bold red" if row.failed else ""),
            str(row.total),
            "" if row.median_s is None else f"{row.median_s:.1f}",
        )
    lines = [
        f"running: {task.trial}/{task.task} on {task.node} for {task.elapsed_s:.0f} s"
        for task in status.running
    ]
    if status.eta_s is not None:
        lines.append(f"about {status.eta_s:.0f} s to go")
    lines += [f"failed: {failure}" for failure in status.failures]
    if status.state in {"interrupted", "cancelled", "incomplete"}:
        lines.append(f"finish it with: pyscale run --resume {status.run_id}")
    return Group(table, *(Text(line, overflow="fold") for line in lines))


def _sentence(event: Event) -> str:
    """One event in plain words."""
    subject = event.trial or "the run"
    verb = event.kind.split("_")[-1]
    jobs = f" as {', '.join(event.job_ids)}" if event.job_ids else ""
    detail = f": {event.detail}" if event.detail else ""
    return f"{event.time_utc:%Y-%m-%d %H:%M:%S} UTC  {subject} {verb}{jobs}{detail}"
