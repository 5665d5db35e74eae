"""The folder of a run on a cluster, with all records that its tasks would have left."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from random import Random
from typing import NamedTuple

from pyscale.measuring.trialrunner import TaskWriter
from pyscale.planning.planentry import Dataset
from pyscale.planning.planner import make_plan
from pyscale.planning.sites import load_site
from pyscale.planning.suite import load_suite
from pyscale.runtimes.starting import NativeRuntime
from pyscale.settings import load_settings
from pyscale.store.folder import RunFolder, new_run_id
from pyscale.store.journal import Event
from pyscale.store.records import (
    EXIT_FILE,
    LAUNCH_FILE,
    NODE_FILE,
    ORDER_FILE,
    RESULT_FILE,
    SPEC_FILE,
    Bystanders,
    ExitRecord,
    LaunchRecord,
    NodeRecord,
    Requested,
    Surroundings,
    TrialCache,
)
from pyscale_stages.contract import (
    Agreement,
    Counters,
    OutputFile,
    Span,
    TaskResult,
    TaskSpec,
)
from pyscale_stages.measure.pagecache import Eviction
from pyscale_stages.measure.stamp import collect
from pyscale_stages.registry import load_stage
from pyscale_stages.residency import InputCache, Residency

START = datetime(2026, 3, 17, 11, 42, 24, tzinfo=UTC)
LANES_A_NODE = 16
CORES = 32
FRAME_BYTES = 2 * 512 * 512
AT_ONCE = 8
"""Trials that are written at once: the disk is waited for."""


class Cost(NamedTuple):
    import_s: float
    load_s: float
    frame_s: float
    memory_bytes: int
    quality: dict[str, float]


COSTS = {
    "register_denoise": Cost(2.1, 0.0, 3.0, 900 << 20, {"drift_error_px": 0.084}),
    "segment": Cost(6.8, 0.4, 1.2, 1300 << 20, {"ap_50": 0.931, "ap_75": 0.702}),
    "contact": Cost(1.2, 2.0, 0.2, 400 << 20, {"contact_precision": 0.961}),
    "track": Cost(1.9, 0.0, 0.3, 300 << 20, {"link_precision": 0.984, "link_recall": 0.991}),
}


class Ended(NamedTuple):
    """A task that has ended: when, and on which node."""

    task: str
    lane: int
    end: datetime


def make_run(root, *, counts, repeats, frames, slower=1.0, run_id=None, stamp=None):
    """Make a complete run of the pipeline below `root`; every number is drawn by one seed.

    Computing takes `slower` times as long; `stamp` is its nodes' hardware, else this machine's.
    """
    root.mkdir(parents=True, exist_ok=True)
    movie = root / "movie.ome.tif"
    movie.write_bytes(b"frames")
    settings = load_settings(
        repeats=repeats,
        executor="slurm",
        runs_folder=root / "runs",
        prices={"core_hour": 0.02, "currency": "EUR"},
    )
    plan = make_plan(
        load_suite("pipeline"),
        Dataset(movie, frames, truth=root / "truth"),
        run_id=run_id or new_run_id(),
        settings=settings.model_dump(mode="json"),
        workers=counts,
        site=load_site("plain"),
    )
    run = RunFolder.create(root / "runs", plan)
    stamp = stamp or collect([movie])
    ends = []
    start = START
    # One trial begins when the one before it is sure to have ended.
    for trial in plan.trials:
        ends.append((trial, start))
        start += timedelta(
            seconds=120 + 2 * slower * COSTS[trial.stage].frame_s * frames / trial.workers
        )
    with ThreadPoolExecutor(AT_ONCE) as pool:
        events = pool.map(lambda each: _Pretended(run, *each, stamp, slower).run(), ends)
        lines = [event.model_dump_json(exclude_defaults=True) for own in events for event in own]
    run.journal_file.write_text("\n".join(lines) + "\n")
    return run


class _Pretended:
    """One trial: its windows at once, then the merge, then the check."""

    def __init__(self, run, trial, start, stamp, slower):
        self._run = run
        self._trial = trial
        self._now = start
        self._stamp = stamp
        self._cost = COSTS[trial.stage]
        self._frame_s = slower * self._cost.frame_s
        self._random = Random(f"{trial.id} {slower}")
        self._writer = TaskWriter(run, NativeRuntime())

    def run(self):
        """Write all records of the trial, and return what the journal says of it."""
        events = [self._event("trial_started", self._now)]
        steps = [("windows", self._trial.window_tasks)]
        steps += [(task, (task,)) for task in self._trial.tasks[len(self._trial.windows) :]]
        for name, tasks in steps:
            events.append(self._event("submitted", self._now))
            ended = [self._task(task, lane) for lane, task in enumerate(tasks)]
            for _ in ended:
                # Numbers of jobs once: what is drawn after them stays as stored results have it.
                self._random.randint(1, 99999)
            if name == "windows":
                self._nodes(1 + max(lane for _, lane, _ in ended) // LANES_A_NODE)
            self._now = max(end for _, _, end in ended) + timedelta(seconds=0.5)
        return [*events, self._event("trial_finished", self._now)]

    def _event(self, kind, when):
        return Event(time_utc=when, kind=kind, trial=self._trial.id)

    def _task(self, task, lane):
        self._writer.write_spec(self._trial, task)
        folder = self._run.task(self._trial, task)
        spec = TaskSpec.model_validate_json((folder / SPEC_FILE).read_bytes())
        token = f"{self._random.getrandbits(64):016x}"
        (order,) = self._writer.drafts(self._trial, [task], None).values()
        requested = Requested(cpus=1, memory_bytes=4 << 30, time_limit_s=3600, gpus=0)
        filled = {"token": token, "submit_utc": self._now, "slot": lane, "requested": requested}
        begin = self._now + timedelta(seconds=1 + 4 * self._random.random())
        spawn = begin + timedelta(seconds=0.02)
        result = self._result(spec, spawn, lane)
        _write(folder / ORDER_FILE, order.model_copy(update=filled))
        _write(
            folder / LAUNCH_FILE,
            LaunchRecord(
                token=token,
                pid=self._random.randint(1000, 99999),
                node=_node(lane),
                begin_utc=begin,
                spawn_utc=spawn,
                job_id=f"17_{lane}",
                cpus=(lane % CORES,),
            ),
        )
        _write(folder / RESULT_FILE, result)
        end = result.end_utc + timedelta(seconds=0.8)
        _write(folder / EXIT_FILE, ExitRecord(token=token, returncode=0, end_utc=end))
        for log in ("stdout", "stderr"):
            (folder / log).touch()
        return Ended(task, lane, end)

    def _result(self, spec, start, lane):
        frames = len(range(*spec.frames)) if spec.frames else self._run.plan.movie_frames
        spans = tuple(_spans(list(self._phases(spec, frames)), start))
        wall_s = spans[-1].end_monotonic_s + 0.01
        name = load_stage(spec.stage).output
        output_bytes = 0 if spec.verb == "check" else frames * 5000
        return TaskResult(
            spec=spec,
            status="done",
            start_utc=start,
            end_utc=start + timedelta(seconds=wall_s),
            wall_s=wall_s,
            spans=spans,
            counters=Counters(
                frames=frames,
                objects=30 * frames,
                input_bytes=frames * FRAME_BYTES,
                input_files=1,
                output_bytes=output_bytes,
                read_bytes=frames * FRAME_BYTES,
                write_bytes=output_bytes,
                storage_read_bytes=frames * FRAME_BYTES,
                cpu_s=0.95 * wall_s,
                cpu_wait_s=0.01 * wall_s,
                peak_rss_bytes=int(self._cost.memory_bytes * self._noise()),
            ),
            page_cache=tuple(
                InputCache(before=_residency(path, 0), after=_residency(path, 1))
                for _, path in spec.inputs
            ),
            outputs=(OutputFile(name=name, size_bytes=output_bytes, sha256="5" * 64),)
            if output_bytes
            else (),
            quality=self._cost.quality if spec.verb == "check" else {},
            agreement=_agreement(self._trial) if spec.verb == "check" else None,
            determinism=load_stage(spec.stage).determinism,
            versions=dict.fromkeys(load_stage(spec.stage).packages, "1.0"),
            stamp=self._stamp | {"node": _node(lane), "slurm": {"SLURM_JOB_ID": f"17_{lane}"}},
        )

    def _phases(self, spec, frames):
        """Phases of a task and their seconds: two for each frame that a window holds."""
        yield "python_start", 0.02 * self._noise()
        yield "import", self._cost.import_s * self._noise()
        if spec.verb == "merge":
            yield "merge", 0.01 * frames * self._noise()
            return
        yield "read", 0.004 * frames * self._noise()
        if spec.verb == "check":
            yield "compute", 0.01 * frames * self._noise()
            return
        if self._cost.load_s:
            yield "model_load", self._cost.load_s * self._noise()
        # Workers on one node share its memory, so that each frame takes longer.
        crowded = 1 + 0.03 * min(self._trial.workers, LANES_A_NODE) ** 0.5
        share = self._noise(0.06)
        for _ in range(frames):
            yield "compute", self._frame_s * crowded * share * self._noise()
            yield "write", 0.002 * self._noise()

    def _nodes(self, count):
        """Write what the first task of the trial on each node found there."""
        for lane in range(0, count * LANES_A_NODE, LANES_A_NODE):
            node = _node(lane)
            evictions = tuple(
                Eviction(
                    path=path,
                    node=node,
                    before=_residency(path, 1),
                    after=_residency(path, 0),
                    state="verified-cold",
                )
                for _, path in self._writer.inputs(self._trial)
            )
            idle = Bystanders(node=node, cores=CORES, pyscale_tasks=0, runnable=0.0)
            _write(
                self._run.trial(self._trial) / NODE_FILE.format(node=node),
                NodeRecord(
                    cache=TrialCache(asked="cold", state="verified-cold", evictions=evictions),
                    surroundings=Surroundings(start=idle),
                ),
            )

    def _noise(self, width=0.02):
        return self._random.lognormvariate(0, width)


def _spans(phases, start):
    at = 0.0
    for phase, wall_s in phases:
        yield Span(
            phase=phase,
            start_monotonic_s=at,
            end_monotonic_s=at + wall_s,
            start_utc=start + timedelta(seconds=at),
        )
        at += wall_s


def _agreement(trial):
    if trial.is_reference:
        return None
    return Agreement(
        same=True,
        identical=trial.stage != "track",
        score=0.9995 if trial.stage == "track" else 1.0,
        measure="what both outputs have",
        tolerance=0.99,
    )


def _residency(path, share):
    return Residency(
        path=path, size_bytes=FRAME_BYTES, resident_bytes=share * FRAME_BYTES, method="cachestat"
    )


def _node(lane):
    return f"node{1 + lane // LANES_A_NODE}"


def _write(path, record):
    path.write_text(record.model_dump_json(indent=1) + "\n")
