"""A builder of the tables that a run leaves, trial by trial."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import polars as pl

from pyscale.analysis.scaling import configurations
from pyscale.analysis.timeline import timeline_of
from pyscale.analysis.trials import trial_table
from pyscale.analysis.workers import worker_table
from pyscale.evaluation.results import analysed
from pyscale.report.context import ReportContext
from pyscale.store.tables import span_schema, task_schema

RUN_START = datetime(2026, 3, 17, 11, 42, 24, tzinfo=UTC)


def rank_header(stage, suite, family, point, count, block, rank, params):
    """What the table of a kind says of every rank, whatever it measured."""
    return {
        "trial": f"{stage}-n{count}-b{block + 1}",
        "suite": suite,
        "stage": stage,
        "family": family,
        "point": json.dumps(point),
        "workers": count,
        "block": block + 1,
        "task": f"w{rank}",
        "rank": rank,
        "attempt": 1,
        "status": "done",
        "hardware": "Xeon Gold 6338, 32 cores, 256 GiB",
        "oversubscribed": False,
        "disturbed": False,
        "settings": json.dumps(params, sort_keys=True),
    }


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
        `movie_frames`. `check` is the status of a check task, `beside` the agreement with the
        output of another entry, or measures of it; `hardware` and `nodes` are dealt to the windows
        in turn.
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
        after = base | {"verb": "check", "wall_s": 1.0, "start_utc": end}
        after |= {"end_utc": end + timedelta(seconds=1)}
        if check or agreement is not None or quality is not None:
            known = agreement is not None
            self._tasks.append(
                after
                | {
                    "task": "check",
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
            details = isinstance(beside, dict)
            agreement = {
                "beside_agreement": beside,
                "beside_tolerance": 0.999,
                "beside_identical": beside == 1.0,
                "beside_measure": "pairs that both have",
            }
            found = {"beside_details": json.dumps(beside)} if details else agreement
            self._tasks.append(after | {"task": "beside"} | found)
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

    def curve(self, stage, spent, counts=(1, 2), blocks=6, **of_trial):
        """Add a trial of each N in each block, in which each worker spends what `spent` says.

        It is asked with N and the block, as is whatever else is a function; a number are seconds
        of computing.
        """
        for block, count in product(range(blocks), counts):
            phases = spent(count, block)
            phases = phases if isinstance(phases, dict) else {"compute": phases}
            own = {
                name: value(count, block) if callable(value) else value
                for name, value in of_trial.items()
            }
            self.trial(stage, [phases] * count, block=block, **own)
        return self

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

    @property
    def trials(self):
        return trial_table(self.tasks, self.spans)

    @property
    def workers(self):
        return worker_table(self.tasks, self.spans)

    @property
    def configurations(self):
        return configurations(self.trials)

    def results(self, title="a run", **context):
        """What the analysis finds in it."""
        return analysed(self.trials, ReportContext(title=title, **context), workers=self.workers)

    def results_with_timeline(self, title="a run"):
        """The same, with what the timeline shows."""
        found = self.results(title)
        return replace(found, timeline=timeline_of(self.tasks, self.spans, found.trials))
