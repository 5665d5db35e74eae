"""All that is found of a machine, of a run that was made up."""

import polars as pl
import pytest

from madeupmachine import GPU, made_up, timings_of
from pyscale.analysis.flags import SENTENCES
from pyscale.analysis.machine.findings import MachineFindings, machine_findings
from pyscale.analysis.machine.tests import machine_tests
from pyscale.store.tables import timing_schema


@pytest.fixture(scope="module")
def results():
    return made_up(3, pipeline=True)


@pytest.fixture(scope="module")
def machine(results):
    found = results.of(MachineFindings)
    assert found is not None
    return found


def test_a_run_without_tests_of_the_machine_has_no_findings():
    assert machine_findings(pl.DataFrame(schema=timing_schema()), {}, measuring=()) is None


def test_a_slow_node_stands_out_in_what_it_is_slow_in_alone(machine):
    slow = machine.nodes.filter("outlier")
    assert set(slow["node"]) == {"node3"}
    assert set(slow["kind"]) == {"storage"}
    assert "particle_write" in set(slow["test"])
    assert "metadata_create" not in set(slow["test"])


def test_entries_of_the_machine_are_in_the_tables_and_named(results):
    assert results.apart == {"storage", "decompress", "kernels_cpu", "kernels_cuda"}
    assert set(results.configurations["stage"]) == results.apart | {"register_denoise"}


def test_every_flag_has_a_sentence(machine):
    found = set(machine.tests["flags"].explode().drop_nulls())
    assert found == {"few-repeats", "disagrees", "evicted-unverified"}
    assert found <= set(SENTENCES)


def test_places_are_told_by_node(machine):
    assert machine.places["node2"]["place_filesystem"] == "nfs4"
    assert machine.places["node2"]["device_1"] == f"{GPU} #1"


def test_a_hundred_thousand_timings_are_as_right_as_few():
    """By blocks, each of which has the same medians."""
    few = timings_of(1)
    times = -(-100_000 // few.height)
    many = pl.concat(
        few.with_columns(trial=pl.format("{}-{}", "trial", pl.lit(block)), block=pl.lit(block))
        for block in range(times)
    )
    once, often = machine_tests(few), machine_tests(many.select(few.columns).cast(few.schema))
    assert many.height >= 100_000
    assert often["wall_s"].to_list() == pytest.approx(once["wall_s"].to_list(), nan_ok=True)
    assert often["processes"].to_list() == once["processes"].to_list()
    timed = once["repeats"] > 0
    assert (often.filter(timed)["repeats"] == times * once.filter(timed)["repeats"]).all()
