"""Where a run stands in words: `pyscale status` once or until it ends, and a run as it happens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from textwrap import shorten

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text
from watchfiles import watch

from pyscale.console import Console, answer, harmless, talk
from pyscale.errors import UserError
from pyscale.planning.plan import Plan, Trial
from pyscale.progress.course import BEGINNINGS, ENDS, Course, usual_s
from pyscale.progress.status import (
    LEFT,
    AllocationStatus,
    ConfigurationStatus,
    RunStatus,
    StatusReader,
    run_status,
)
from pyscale.progress.taskstatus import TaskStatus, TrialStatus
from pyscale.settings import load_settings
from pyscale.store.folder import RunFolder, find_run
from pyscale.store.journal import Event, EventKind, Journal
from pyscale.store.lock import is_locked
from pyscale.wording import listing, seconds_of

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


MOST_ROWS = 24
"""Configurations that are told one by one where they are points of a grid."""
STYLES = {"failed": "bold red", "gone": "red", "running": "green"}


def rendered(status: RunStatus) -> RenderableType:
    """The configurations, the tasks of trials under way, and what there is to do."""
    parts: list[RenderableType] = [_configurations(status)]
    parts += [_line(_allocation(one)) for one in status.allocations if one.state != "ended"]
    # Before the tasks: a live table is cut where the terminal ends.
    parts += [_line(sentence) for sentence in _outlook(status)]
    for trial in status.trials:
        counts = ", ".join(f"{count} {state}" for state, count in trial.counts.items())
        parts += [_line(f"{trial.trial}: {counts}"), _tasks(trial)]
    parts += [_line(f"failed: {failure}") for failure in status.failures]
    if status.left_running:
        pids = ", ".join(map(str, status.left_running))
        noun, verb = ("processes", "run") if len(status.left_running) > 1 else ("process", "runs")
        parts.append(
            _line(
                f"{noun} {pids} of this run still {verb} and would disturb other measurements "
                f"here; end with: pyscale cancel {status.run_id}"
            )
        )
    if status.state in LEFT:
        parts.append(_line(_advice(status)))
    return Group(*parts)


def duration(seconds: float) -> str:
    """A time as people say it: 48 s, 12 min, 3 h 20 min."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours / 24:.0f} days"


def _in_few_rows(rows: Sequence[ConfigurationStatus]) -> list[ConfigurationStatus]:
    """Rows as they are or, where they are many, one for all points of a grid at each N."""
    groups: dict[tuple[str, int], list[ConfigurationStatus]] = {}
    for row in rows:
        name = row.family if row.family and len(rows) > MOST_ROWS else row.entry
        groups.setdefault((name, row.workers), []).append(row)
    # Times of points are too different for one.
    return [
        own[0]
        if len(own) == 1
        else ConfigurationStatus(
            entry=f"{name} ({len(own)} points)",
            workers=workers,
            done=sum(row.done for row in own),
            failed=sum(row.failed for row in own),
            total=sum(row.total for row in own),
        )
        for (name, workers), own in groups.items()
    ]


def _configurations(status: RunStatus) -> Table:
    table = Table(title=f"{status.run_id}  {status.suite}  {status.state}")
    for column in ("stage", "N", "done", "failed", "of", "trial s"):
        table.add_column(column, justify="left" if column == "stage" else "right", overflow="fold")
    for row in _in_few_rows(status.configurations):
        table.add_row(
            row.entry,
            str(row.workers),
            str(row.done),
            Text(str(row.failed), style="bold red" if row.failed else ""),
            str(row.total),
            "" if row.median_s is None else f"{row.median_s:.1f}",
        )
    return table


def _tasks(trial: TrialStatus) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2), show_header=False)
    for column in range(5):
        table.add_column(justify="right" if column == 3 else "left", overflow="fold")
    for task in trial.tasks:
        table.add_row(*_cells(task))
    # How many of each state have no line of their own.
    told = [task.state for task in trial.tasks]
    more = {state: count - told.count(state) for state, count in trial.counts.items()}
    rest = ", ".join(f"{count} more {state}" for state, count in more.items() if count)
    return Group(table, *([_line(f"  … and {rest}")] if rest else []))


def _cells(task: TaskStatus) -> tuple[Text, ...]:
    where = f"on {task.node}" if task.node else ""
    elapsed = "" if task.elapsed_s is None else duration(task.elapsed_s)
    state = Text(task.state, style=STYLES.get(task.state, ""))
    return (Text(f"  {task.task}"), state, Text(where), Text(elapsed), Text(task.why))


def _outlook(status: RunStatus) -> Iterator[str]:
    if status.slurm_complaint is not None:
        yield (f"Slurm does not answer ({status.slurm_complaint}): this shows the records only")
    if status.eta_s is not None:
        yield f"about {duration(status.eta_s)} left"
    ended = all(row.done + row.failed == row.total for row in status.configurations)
    if status.state == "running" and ended and not status.trials:
        yield "all trials have ended; writing the report"


def _allocation(one: AllocationStatus) -> str:
    """An allocation in a line: what it does, where, and how long it can still do so."""
    if one.state == "queued":
        told = f"allocation {one.job_id} waits in the queue: {one.why}"
        if one.starts_utc is None:
            return told
        return f"{told}; Slurm plans to start it at {one.starts_utc:%Y-%m-%d %H:%M} UTC"
    if one.state == "unknown":
        return f"allocation {one.job_id} was submitted"
    left = "" if one.left_s is None else f", {duration(one.left_s)} left of its time"
    waited = "" if one.waited_s is None else f"; it waited {duration(one.waited_s)} in the queue"
    return f"allocation {one.job_id} runs on {one.nodes}{left}{waited}"


def _advice(status: RunStatus) -> str:
    resume = f"pyscale resume {status.run_id}"
    living = [one.job_id for one in status.allocations if one.state in {"queued", "running"}]
    if not living:
        return f"finish it with: {resume}"
    return (
        f"{status.state}; job {listing(living)} of it {'goes' if len(living) == 1 else 'go'} on; "
        f"go on with: {resume}, or end it with: pyscale cancel {status.run_id}"
    )


def _line(text: str) -> Text:
    return Text(text, overflow="fold")


PHRASES: dict[EventKind, str] = {
    "run_started": "the run started",
    "trial_started": "started",
    "submitted": "submitted",
    "trial_finished": "done",
    "trial_failed": "failed",
    "trial_retried": "retried",
    "trial_continued": "continued",
    "trial_skipped": "skipped",
    "trial_interrupted": "was interrupted; it starts again",
    "jobs_ended": "ended leftovers of an earlier pyscale",
    "slurm_silent": "Slurm does not answer",
    "slurm_answers": "Slurm answers again",
    "run_interrupted": "the run was interrupted, and its tasks were ended",
    "run_cancelled": "the run was cancelled",
    "run_finished": "the run finished",
    "run_extended": "the run was extended",
    "allocation_submitted": "submitted the allocation",
    "pilot_started": "the allocation started",
    "allocation_ended": "the allocation ended",
    "run_stopped": "the run was stopped",
}
STOPS = {f"run_{end}" for end in ("interrupted", "cancelled", "finished", "extended", "stopped")}
LONGEST_LIST = 60
"""Characters of the tasks and of the jobs of one event."""


def story(events: Sequence[Event]) -> Iterator[str]:
    """Tell each event in a line with its time."""
    started = stopped = False
    for event in events:
        words = said(event)
        if event.kind == "run_started" and started:
            lost = "" if stopped else ": the pyscale before ended without a record"
            words = f"the run was resumed{lost}{_detail(event)}"
        started = started or event.kind == "run_started"
        stopped = event.kind in STOPS
        yield f"{event.time_utc:%Y-%m-%d %H:%M:%S} UTC  {words}"


def said(event: Event) -> str:
    """Tell one event by itself."""
    words = f"{event.trial} {PHRASES[event.kind]}" if event.trial else PHRASES[event.kind]
    jobs = f" as {_shortened(', '.join(event.job_ids))}" if event.job_ids else ""
    return f"{words}{_detail(event)}{jobs}"


def _detail(event: Event) -> str:
    # Where tasks are submitted, it is a list of them.
    detail = _shortened(event.detail) if event.kind == "submitted" else event.detail
    return f": {detail}" if detail else ""


def _shortened(names: str) -> str:
    return shorten(names, LONGEST_LIST, placeholder=" …")


SHOWN = {
    "trial_failed",
    "trial_skipped",
    "trial_retried",
    "trial_interrupted",
    "jobs_ended",
    "slurm_silent",
    "slurm_answers",
    "allocation_submitted",
    "pilot_started",
    "allocation_ended",
}
"""Events that are told in words wherever they happen."""


class RunProgress:
    """Shows the events of a run as they happen, after those `before` where it is resumed."""

    def __init__(self, run: RunFolder, before: Sequence[Event] = ()) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._run = run
        self._course = Course(before)
        self._ended = {event.trial for event in before if event.kind == "trial_finished"}
        self._running: str | None = None
        self._earlier_s = usual_s(run.plan)
        self._progress = Progress(
            BarColumn(bar_width=20),
            TextColumn("{task.fields[run]}", markup=False),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
            # Seldom, as the trials have these cores too.
            refresh_per_second=1,
        )
        # It is written anew at each refresh: a trial under way gets older.
        self._bar = self._progress.add_task("", completed=len(self._ended), run=self)
        self._show(run.plan)

    def __enter__(self) -> RunProgress:
        self._print(f"{self._plan.headline}{self._left('; {}')}")
        self._progress.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._progress.stop()

    def hear(self, event: Event) -> None:
        """Show one event."""
        self._course.hear(event)
        if event.kind == "run_extended":
            self._show(RunFolder(self._run.path).plan)
        if event.kind in BEGINNINGS:
            self._running = event.trial
            self._ended.discard(event.trial)
        if event.kind in ENDS:
            self._ended.add(event.trial)
            self._running = None
        self._progress.update(self._bar, completed=len(self._ended))
        if event.kind in SHOWN:
            self._print(f"{self._count} {said(event)}")
        elif event.kind == "trial_finished" and not self._console.is_terminal:
            took_s = self._course.durations_s.get(str(event.trial))
            took = "done" if took_s is None else f"{took_s:.1f} s"
            left = self._left(" ({} left)")
            self._print(f"{self._count} {self._named(event.trial)}: {took}{left}")

    def _show(self, plan: Plan) -> None:
        """Show the trials of a plan, which an extended one has more of."""
        self._plan = plan
        self._trials: Mapping[str, Trial] = {trial.id: trial for trial in plan.trials}
        self._progress.update(self._bar, total=len(plan.trials))

    def __str__(self) -> str:
        """How far the run is now."""
        since = self._course.under_way.get(str(self._running))
        if self._running is None or since is None:
            return f"{self._count}{self._left('; {} left')}"
        runs_s = (datetime.now(UTC) - since).total_seconds()
        trial = self._trials[self._running]
        lasts_s = self._course.expected_s([trial], self._earlier_s).get(trial.id)
        of = f" of about {lasts_s:.0f} s" if lasts_s is not None else ""
        return (
            f"{self._count} {self._named(self._running)}: {runs_s:.0f}{of or ' s'}"
            f"{self._left('; {} left')}"
        )

    @property
    def _count(self) -> str:
        return f"[{len(self._ended)}/{len(self._trials)}]"

    def _left(self, pattern: str) -> str:
        """The time left in a pattern; nothing where none is known, or nothing is left."""
        if at_most := self._plan.settings.get("at_most"):
            rest_s = max(0.0, seconds_of(at_most) - self._course.worked_s)
            return pattern.format(f"at most {duration(rest_s)}")
        remaining = [trial for trial in self._plan.trials if trial.id not in self._ended]
        left_s = self._course.left_s(remaining, datetime.now(UTC), self._earlier_s)
        if not remaining or left_s is None:
            return ""
        return pattern.format(f"about {duration(left_s)}")

    def _named(self, trial_id: str | None) -> str:
        trial = self._trials[str(trial_id)]
        return f"{trial.entry} N={trial.workers} block {trial.block}"

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)
