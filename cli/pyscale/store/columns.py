"""Columns of the tidy tables of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def task_schema() -> dict[str, pl.DataType]:
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
        ran pyscale, by this offset, wherever that is known (see `pyscale.analysis.clocks`).
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
    import polars as pl

    text, whole, real, flag = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()
    time = pl.Datetime("us", "UTC")
    return {
        "trial": text,
        "suite": text,
        "stage": text,
        "workers": whole,
        "windows": whole,
        "block": whole,
        "position": whole,
        "task": text,
        "verb": text,
        "lane": whole,
        "status": text,
        "error": text,
        "device": text,
        "family": text,
        "point": text,
        "threads": whole,
        "gpu_sharing": text,
        "wall_s": real,
        "submit_utc": time,
        "begin_utc": time,
        "start_utc": time,
        "end_utc": time,
        "queue_s": real,
        "prepare_s": real,
        "node": text,
        "job_id": text,
        "clock_offset_s": real,
        "clock_error_s": real,
        "frames": whole,
        "objects": whole,
        "input_bytes": whole,
        "input_files": whole,
        "output_bytes": whole,
        "read_bytes": whole,
        "write_bytes": whole,
        "storage_read_bytes": whole,
        "cpu_s": real,
        "cpu_wait_s": real,
        "cores_used": real,
        "requested_cpus": whole,
        "peak_rss_bytes": whole,
        "requested_memory_bytes": whole,
        "memory_used_share": real,
        "requested_time_s": whole,
        "requested_gpus": whole,
        "gpu_peak_bytes": whole,
        "gpu_mean_utilisation": real,
        "gpu_own_peak_bytes": whole,
        "gpu_energy_j": real,
        "cpu_energy_j": real,
        "cache_asked": text,
        "cache_state": text,
        "input_storage": text,
        "agreement": real,
        "agreement_same": flag,
        "agreement_identical": flag,
        "agreement_measure": text,
        "agreement_tolerance": real,
        "quality": text,
        "beside_trial": text,
        "beside_agreement": real,
        "beside_tolerance": real,
        "beside_measure": text,
        "beside_identical": flag,
        "beside_details": text,
        "attempt": whole,
        "oversubscribed": flag,
        "disturbed": flag,
        "hardware": text,
        "image": text,
        "image_sha256": text,
        "warned": text,
    }


def span_schema() -> dict[str, pl.DataType]:
    """Columns of the table of spans, one row a phase of a task; times as in the table of tasks."""
    import polars as pl

    return {
        "trial": pl.String(),
        "stage": pl.String(),
        "workers": pl.Int64(),
        "block": pl.Int64(),
        "task": pl.String(),
        "phase": pl.String(),
        "start_utc": pl.Datetime("us", "UTC"),
        "wall_s": pl.Float64(),
    }


def call_schema() -> dict[str, pl.DataType]:
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
    import polars as pl

    return {
        "trial": pl.String(),
        "stage": pl.String(),
        "family": pl.String(),
        "workers": pl.Int64(),
        "block": pl.Int64(),
        "task": pl.String(),
        "frame": pl.Int64(),
        "call": pl.Int64(),
        "pixels": pl.Int64(),
        "part": pl.String(),
        "wall_s": pl.Float64(),
        "objects": pl.Int64(),
    }


def timing_schema() -> dict[str, pl.DataType]:
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
    import polars as pl

    text, whole, real = pl.String(), pl.Int64(), pl.Float64()
    return {
        "trial": text,
        "stage": text,
        "kind": text,
        "suite": text,
        "workers": whole,
        "block": whole,
        "task": text,
        "node": text,
        "hardware": text,
        "device": text,
        "test": text,
        "step": text,
        "repeat": whole,
        "at_once": whole,
        "wall_s": real,
        "amount": real,
        "unit": text,
        "bottleneck": text,
        "cache": text,
        "why_not": text,
        "details": text,
    }
