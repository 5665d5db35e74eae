"""Columns of the tidy tables of a run."""

from __future__ import annotations

from pyscale.analysis.declared import schema_of
from pyscale.analysis.schema import FLAG, REAL, TEXT, TIME, WHOLE, Schema, columns
from pyscale_stages.contract import Counters
from pyscale_stages.timing import Timing


def task_schema() -> Schema:
    """Columns of the table of tasks, as docs/columns.md has them; what is not known is null."""
    planned = columns(
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
    )
    return (
        planned
        | schema_of(Counters)
        | columns(
            (REAL, "cores_used memory_used_share"),
            (WHOLE, "requested_cpus requested_memory_bytes requested_time_s requested_gpus"),
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
    """Columns of the table of calls, one row a part of a call."""
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
    """Columns of the table of timings, one row a repeat of a test of the machine or of its step."""
    header = columns(
        (TEXT, "trial stage kind suite"), (WHOLE, "workers block"), (TEXT, "task node hardware")
    )
    return header | schema_of(Timing)
