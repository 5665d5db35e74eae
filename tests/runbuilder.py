"""A builder of the tables that a run leaves, trial by trial."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import polars as pl

from pyscale.analysis.timeline import timeline_of
from pyscale.analysis.trials import trial_table
from pyscale.analysis.workers import worker_table
from pyscale.report.context import ReportContext
from pyscale.results import analysed
from pyscale.store.tables import span_schema, task_schema

RUN_START = datetime(2026, 3, 17, 11, 42, 24, tzinfo=UTC)


class RunBuilder:
    """Builds `tasks` and `spans` in order of execution."""

    def __init__(self):
        self._tasks = []
        self._spans = []
        self._trials = 0
        self._now = RUN_START

    def trial(
        self,
        stage,
        workers,
        *,
        block=0,
        merge=None,
        start_s=None,
        movie_frames=80,
        lanes=None,
        nodes=("node1",),
        agreement=None,
        same=None,
        identical=None,
        quality=None,
        check=None,
        beside=None,
        failed=(),
        hardware=("xeon",),
        **every_task,
    ):
        """Add one trial.

        `workers` and `merge` give seconds by phase; the key `unattributed` is time without a
        span. A merge that takes no time is added where several windows need one. With `lanes`
        an item of `workers` is a window, and `lanes` says which worker does it; the windows share
        `movie_frames`. `check` is the
        status of a check task, `beside` the agreement with the output of another entry;
        `hardware` and `nodes` are dealt to the windows in turn.
        """
        lanes = lanes or range(len(workers))
        count = max(lanes) + 1
        base = {
            "trial": f"{stage}-n{count}-b{block}-{self._trials}",
            "suite": "demo",
            "stage": stage,
            "workers": count,
            "windows": len(workers),
            "joins": len(workers) > 1,
            "block": block,
            "position": self._trials,
            "status": "done",
            "device": "cpu",
            "queue_s": 0.5,
            "prepare_s": 0.25,
            "node": nodes[0],
            "frames": movie_frames,
            "objects": 100,
            "input_bytes": 1 << 20,
            "input_files": 1,
            "output_bytes": 1 << 20,
            "cpu_s": 1.0,
            "peak_rss_bytes": 1 << 28,
            "cache_asked": "cold",
            "cache_state": "verified-cold",
            "quality": "{}",
            "attempt": 1,
            "oversubscribed": False,
            "disturbed": False,
            "family": stage,
            "point": "{}",
            "start": "cold",
        } | every_task
        self._trials += 1
        free = dict.fromkeys(lanes, self._now)
        for index, (phases, lane) in enumerate(zip(workers, lanes, strict=True)):
            label = hardware[index % len(hardware)]
            first, end = (movie_frames * edge // len(workers) for edge in (index, index + 1))
            own = base | {"frames": end - first} | every_task
            own |= {"lane": lane, "node": nodes[index % len(nodes)]}
            start = self._now + timedelta(seconds=start_s[index]) if start_s else free[lane]
            free[lane] = self._task(own, f"w{index}", "run", phases, start, failed, label)
        end = max(free.values())
        if len(workers) > 1:
            end = self._task(base, "merge", "merge", merge or {}, end, failed, hardware[0])
        after = {"wall_s": 1.0, "start_utc": end, "end_utc": end + timedelta(seconds=1)}
        if check or agreement is not None or quality is not None:
            known = agreement is not None
            self._tasks.append(
                {
                    **base,
                    **after,
                    "task": "check",
                    "verb": "check",
                    "status": check or "done",
                    "hardware": "login",
                    "agreement": agreement,
                    "agreement_same": same if same is not None else known or None,
                    "agreement_identical": identical,
                    "agreement_measure": "pairs that both have" if known else None,
                    "agreement_tolerance": 0.999 if known else None,
                    "quality": json.dumps(quality or {}),
                }
            )
        if beside is not None:
            self._tasks.append(
                {
                    **base,
                    **after,
                    "task": "beside",
                    "verb": "check",
                    "beside_agreement": beside,
                    "beside_tolerance": 0.999,
                    "beside_identical": beside == 1.0,
                    "beside_measure": "pairs that both have",
                }
            )
        self._now = end + timedelta(seconds=5)
        return self

    def _task(self, base, task, verb, phases, start, failed, hardware):
        at = start
        for phase, wall_s in phases.items():
            if phase != "unattributed":
                keys = ("trial", "stage", "workers", "block")
                self._spans.append(
                    {key: base[key] for key in keys}
                    | {"task": task, "phase": phase, "start_utc": at, "wall_s": wall_s}
                )
            at += timedelta(seconds=wall_s)
        self._tasks.append(
            {
                **base,
                "task": task,
                "verb": verb,
                "status": "failed" if task in failed else "done",
                "wall_s": float(sum(phases.values())),
                "start_utc": start,
                "end_utc": at,
                "hardware": hardware,
            }
        )
        return at

    def of_ranks(self, entries, ranks, repeats, phases, beside=None):
        """Add ranks of entries, and a stage that reads a movie at N = 1 and 2 `beside` them."""
        machine = {"hardware": ("Xeon Gold 6338, 32 cores, 256 GiB",)}
        for block, entry, count in product(range(1, repeats + 1), entries, ranks):
            self.trial(entry.stage, [phases] * count, block=block, **machine)
        for block, count in product(range(1, 7), (1, 2) if beside else ()):
            work = beside | {"compute": 20.0 / count + block / 10}
            self.trial("register_denoise", [work] * count, block=block, **machine)
        return self

    @property
    def last_task(self):
        return self._tasks[-1]

    @property
    def tasks(self):
        return pl.DataFrame(self._tasks, schema=task_schema())

    @property
    def spans(self):
        return pl.DataFrame(self._spans, schema=span_schema())

    def results(self, title="a run", **context):
        """What the analysis finds in it."""
        trials = trial_table(self.tasks, self.spans)
        context_of_report = ReportContext(title=title, **context)
        return analysed(trials, context_of_report, workers=worker_table(self.tasks, self.spans))

    def results_with_timeline(self, title):
        """The same, with what the timeline shows."""
        found = self.results(title)
        return replace(found, timeline=timeline_of(self.tasks, self.spans, found.trials))
