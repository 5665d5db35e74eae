from __future__ import annotations

import pytest

from pyscale.analysis.requested import GIB, memory_to_request, requested_and_used
from pyscale.analysis.trials import trial_table


@pytest.mark.parametrize(
    ("peak", "enough"),
    [(1, 1), (int(0.8 * GIB), 1), (int(0.9 * GIB), 2), (5 * GIB, 6), (5 * GIB + 1, 7), (0, 1)],
)
def test_a_fifth_more_than_the_peak_in_whole_gib_is_enough(peak, enough):
    assert memory_to_request(peak) == enough * GIB


def used(new_run, **every_task):
    builder = new_run().trial("track", [{"compute": 4.0}] * 2, **every_task)
    return requested_and_used(trial_table(builder.tasks, builder.spans))


def test_what_was_asked_for_stands_beside_what_was_used(new_run):
    found = used(
        new_run,
        requested_cpus=4,
        requested_memory_bytes=8 * GIB,
        peak_rss_bytes=2 * GIB,
        cpu_s=6.0,
    )
    assert found == {
        "peak_rss_bytes": 2 * GIB,
        "requested_memory_bytes": 8 * GIB,
        "memory_used_share": 0.25,
        "memory_to_request_bytes": 3 * GIB,
        "cores_used": 1.5,
        "requested_cpus": 4,
    }


def test_where_nothing_was_asked_for_only_the_use_is_known(new_run):
    found = used(new_run, peak_rss_bytes=2 * GIB, cpu_s=2.0)
    assert (found["peak_rss_bytes"], found["cores_used"]) == (2 * GIB, 0.5)
    assert {found[name] for name in found if "request" in name or "share" in name} == {None}


@pytest.mark.parametrize(
    ("check_asked", "peak"), [(8 * GIB, 5 * GIB), (None, 5 * GIB), (16 * GIB, GIB)]
)
def test_a_check_that_asks_for_the_same_memory_counts_too(new_run, check_asked, peak):
    """On a cluster, or where nothing is asked for; where windows run on a GPU it may ask apart."""
    asked = 8 * GIB if check_asked else None
    builder = new_run().trial(
        "track",
        [{"compute": 4.0}],
        check="done",
        peak_rss_bytes=GIB,
        requested_memory_bytes=asked,
    )
    tasks = builder.tasks
    tasks[1, "peak_rss_bytes"] = 5 * GIB
    tasks[1, "requested_memory_bytes"] = check_asked
    row = trial_table(tasks, builder.spans).row(0, named=True)
    assert (row["peak_rss_bytes"], row["requested_memory_bytes"]) == (peak, asked)
