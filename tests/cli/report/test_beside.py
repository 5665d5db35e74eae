"""Waiting, overlap and requests stand beside the wall time, and say what could be lowered."""

from pyscale.analysis.resource_request import GIB
from pyscale.analysis.scaling import configurations
from pyscale.report.advice import too_much as too_much_of
from pyscale.report.curves import curves
from refusals import assert_said

ASKED = {"requested_cpus": 4, "requested_memory_bytes": 8 * GIB, "peak_rss_bytes": 5 * GIB // 4}


def on_a_cluster(new_run, **asked):
    """One worker with two windows, and two workers with two each, on two nodes."""
    asked = ASKED | {"queue_s": 2.5} | asked
    builder = new_run().trial("segment", [{"compute": 8.0}] * 2, lanes=[0, 0], cpu_s=7.6, **asked)
    builder.trial(
        "segment",
        [{"compute": 4.0}] * 4,
        lanes=[0, 1, 0, 1],
        start_s=[0.0, 1.0, 4.5, 5.75],
        nodes=["a", "b"],
        cpu_s=4.0,
        **asked,
    )
    return builder.trials


NOTHING_ASKED = {"requested_cpus": None, "requested_memory_bytes": None}


def test_what_nobody_used_is_named_with_what_is_enough(new_run):
    # Cores alone can be too many, and what was needed is not called too much.
    for asked, sentences in (
        ({}, 1),
        ({"requested_memory_bytes": None}, 1),
        ({"requested_cpus": 1, "requested_memory_bytes": 2 * GIB}, 0),
        (NOTHING_ASKED, 0),
    ):
        found = list(too_much_of(curves(configurations(on_a_cluster(new_run, **asked)))))
        assert len(found) == sentences
        assert_said(*found)
