"""Columns of the tidy tables of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyscale.analysis.schema import FLAG, REAL, TEXT, TIME, WHOLE, Schema, columns
from pyscale.plan import Trial

OF_TASK = (
    *("trial", "suite", "stage", "family", "point", "workers", "block", "task", "attempt"),
    *("status", "error", "node", "hardware", "oversubscribed", "disturbed"),
)
"""Columns of the table of tasks that the tables with a row for each rank have too."""


def task_schema() -> Schema:
    """Columns of the table of tasks; what is not known of a task is null.

    trial, suite, stage, workers, windows, block, device, image
        As planned: `stage` is the entry of the suite, `windows` the number of window tasks,
        `block` the repeat.
    position
        Place of the trial in the order of execution, from 0.
    task, verb
        Like w0, merge or check; and run, merge or check.
    lane
        Which of the N workers did it, from 0; null for merge and check.
    status, error
        done or failed, and why.
    attempt, oversubscribed, disturbed
        How often the trial was begun; whether workers shared cores or a GPU; whether other work
        was seen on the node.
    wall_s, start_utc, end_utc
        From the start of the task's process to the end of its work.
    submit_utc, begin_utc, queue_s, prepare_s
        When it was submitted, when its launcher began, the time between these two, and that from
        there to the start of the process.
    node, job_id, clock_offset_s, clock_error_s
        Where it ran. `begin_utc`, `start_utc` and `end_utc` are on the clock of the machine that
        ran pyscale, by this offset, wherever that is known (see `pyscale.analysis.lanes`).
    frames, objects, …_bytes, cpu_s, gpu_…
        As `pyscale_stages.contract.Counters` describes them.
    cores_used, memory_used_share
        Processor time over wall time; peak memory over what was asked for.
    requested_cpus, requested_memory_bytes, requested_time_s, requested_gpus
        What a cluster was asked for.
    cache_asked, cache_state
        Page cache of the inputs of a window before it was read: what it should be (cold, warm or
        asis), and what it was.
    input_storage
        Filesystem that the input lies on, by type and device, like "nfs4 on remote".
    agreement, agreement_same, agreement_identical, agreement_measure, agreement_tolerance, quality
        Of a check: the comparison with the baseline's output, what the score of it is and the
        smallest that counts as the same, and a JSON object of measures against the truth.
    family, point, threads, gpu_sharing
        As planned: the entry with a grid that `stage` is a point of (its own name where there is
        no grid), its place in that grid as a JSON object, the cores of each worker, and how
        workers share GPUs.
    start, origin, worker, worker_start_s
        As planned: cold or warm. Where the process came from that did it: start, fork or kept
        (see `pyscale_stages.contract.Origin`). The warm worker, and how long its own start took,
        which no task has in its time; null for a new process.
    beside_trial, beside_agreement, beside_tolerance, beside_measure, beside_identical,
    beside_details
        Of a task `beside`: the trial of another point or version whose output this one is set
        beside, the score, the smallest that counts as the same, what it is, whether the bytes are
        equal, and a JSON object of the stage's measures.
    hardware, image_sha256
        Label of the node's hardware, and the image's file.
    warned
        What it warned of, a JSON list of `pyscale_stages.warned.Warned`.
    """
    return columns(
        (TEXT, "trial suite stage"),
        (WHOLE, "workers windows block position"),
        (TEXT, "task verb"),
        (WHOLE, "lane"),
        (TEXT, "status error device family point"),
        (WHOLE, "threads"),
        (TEXT, "gpu_sharing start origin worker"),
        (REAL, "worker_start_s wall_s"),
        (TIME, "submit_utc begin_utc start_utc end_utc"),
        (REAL, "queue_s prepare_s"),
        (TEXT, "node job_id"),
        (REAL, "clock_offset_s clock_error_s"),
        (WHOLE, "frames objects input_bytes input_files output_bytes read_bytes write_bytes"),
        (WHOLE, "storage_read_bytes"),
        (REAL, "cpu_s cpu_wait_s cores_used"),
        (WHOLE, "requested_cpus peak_rss_bytes requested_memory_bytes"),
        (REAL, "memory_used_share"),
        (WHOLE, "requested_time_s requested_gpus gpu_peak_bytes"),
        (REAL, "gpu_mean_utilisation"),
        (WHOLE, "gpu_own_peak_bytes"),
        (REAL, "gpu_energy_j cpu_energy_j"),
        (TEXT, "cache_asked cache_state input_storage"),
        (REAL, "agreement"),
        (FLAG, "agreement_same agreement_identical"),
        (TEXT, "agreement_measure"),
        (REAL, "agreement_tolerance"),
        (TEXT, "quality beside_trial"),
        (REAL, "beside_agreement beside_tolerance"),
        (TEXT, "beside_measure"),
        (FLAG, "beside_identical"),
        (TEXT, "beside_details"),
        (WHOLE, "attempt"),
        (FLAG, "oversubscribed disturbed"),
        (TEXT, "hardware image image_sha256 warned"),
    )


def span_schema() -> Schema:
    """Columns of the table of spans, one row a phase of a task; times as in the table of tasks."""
    return columns(
        (TEXT, "trial stage"),
        (WHOLE, "workers block"),
        (TEXT, "task phase"),
        (TIME, "start_utc"),
        (REAL, "wall_s"),
    )


def call_schema() -> Schema:
    """Columns of the table of calls, one row a part of a call.

    trial, stage, family, workers, block, task
        As in the table of tasks.
    frame, call
        Frame of the movie, and which call of the process, from 0.
    pixels
        Height times width of what the call was given.
    part
        Like network; null for the whole call, `build` for building the model before it, which is
        no part of the call.
    wall_s, objects
        Its length, and the objects that the call found.
    """
    return columns(
        (TEXT, "trial stage family"),
        (WHOLE, "workers block"),
        (TEXT, "task"),
        (WHOLE, "frame call pixels"),
        (TEXT, "part"),
        (REAL, "wall_s"),
        (WHOLE, "objects"),
    )


def timing_schema() -> Schema:
    """Columns of the table of timings, one row a repeat of a test of the machine, or of its step.

    trial, stage, suite, workers, block, task
        As in the table of tasks: `stage` is the entry of the suite.
    kind
        The stage itself: storage, decompress or kernels.
    node, hardware
        Where it ran.
    test, step, repeat, at_once, device, wall_s, amount, unit, bottleneck, cache, why_not
        As `pyscale_stages.timing.Timing` describes them; `at_once` are its workers. `wall_s` is
        null where it cannot run there.
    details
        The rest of it, a JSON object of numbers.
    """
    return columns(
        (TEXT, "trial stage kind suite"),
        (WHOLE, "workers block"),
        (TEXT, "task node hardware device test step"),
        (WHOLE, "repeat at_once"),
        (REAL, "wall_s amount"),
        (TEXT, "unit bottleneck cache why_not details"),
    )


def rank_rows(
    trial: Trial, tasks: Iterable[Mapping[str, Any]], names: Iterable[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name of each window's task that ended, and columns that are as in the table of tasks."""
    for row in tasks:
        if row["verb"] == "run":
            yield (
                row["task"],
                {
                    **{name: row.get(name) for name in (*OF_TASK, *names)},
                    "rank": int(row["task"].removeprefix("w")),
                    "settings": json.dumps(trial.params, sort_keys=True),
                },
            )


def rank_schema() -> Schema:
    """Columns of `OF_TASK`, and which of the ranks it is."""
    return columns(
        (TEXT, "trial suite stage family point"),
        (WHOLE, "workers block"),
        (TEXT, "task"),
        (WHOLE, "rank attempt"),
        (TEXT, "status error node hardware"),
        (FLAG, "oversubscribed disturbed"),
    )
