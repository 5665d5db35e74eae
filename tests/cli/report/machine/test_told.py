"""Sentences on one machine, on several nodes, and on stages beside their storage."""

from dataclasses import replace

import polars as pl
import pytest

from pyscale.analysis.machine.findings import MachineFindings
from pyscale.analysis.trust import trust_in_tests
from pyscale.report.machine import section as told
from pyscale.report.machine.bench import benches
from pyscale.report.machine.section import section


@pytest.fixture(scope="module")
def bench(one):
    (found,) = benches(one.of(MachineFindings))
    return found


def test_a_stack_of_few_megabytes_is_told_in_them(bench):
    rows = [row | {"amount": 6.56e6} for row in bench.rows]
    assert "6.56 MB" in " ".join(told.scale(replace(bench, rows=rows)))


def test_a_doubt_of_all_that_has_a_time_is_everywhere(bench):
    rows = [row | {"flags": [] if row["why_not"] else ["few-repeats"]} for row in bench.rows]
    assert any(row["why_not"] for row in rows)
    (said,) = told.doubts(replace(bench, rows=rows))
    assert said.startswith("`few-repeats` (everywhere): ")


def test_a_wrong_result_is_not_to_be_trusted(three):
    trusted = trust_in_tests(benches(three.of(MachineFindings))[0].rows)
    assert trusted.grade == "no"
    assert "fsc_tight on NVIDIA H200" in trusted.reasons[0]


def test_a_machine_without_doubts_is_trusted(bench):
    rows = [row | {"flags": []} for row in bench.rows]
    assert trust_in_tests(rows).grade == "yes"


def test_other_work_on_the_machine_is_a_doubt(bench):
    rows = [row | {"flags": []} for row in bench.rows]
    trusted = trust_in_tests(rows, ["disturbed"])
    assert (trusted.grade, trusted.reasons) == ("with care", ("other work ran on the machine",))


def test_the_place_has_names(bench):
    found = told.place(bench)
    assert found["Filesystem"] == "nfs4"
    cached = told.place(replace(bench, place={"cache_scheduler": "none"}))
    assert cached == {"Cache folder: I/O scheduler": "none"}
    assert found["fio"] == "fio-3.33"


def outliers(results, **columns):
    """The sentence on nodes, were the comparison another."""
    machine = results.of(MachineFindings)
    changed = replace(machine, nodes=machine.nodes.with_columns(**columns))
    return section(replace(results, kinds=(changed,))).blocks[0].said[0]


def test_no_node_is_an_outlier_where_all_are_alike(three):
    assert outliers(three, outlier=pl.lit(value=False)).startswith("No outliers: ")


def test_of_two_nodes_none_is_an_outlier(three):
    said = outliers(three, nodes=pl.lit(2, pl.Int64), outlier=pl.lit(None, pl.Boolean))
    assert "fewer than 3 nodes" in said


@pytest.mark.parametrize(
    ("share", "proved", "says"),
    [
        (0.2, True, "does not limit reading"),
        (0.2, False, "seems not to limit reading"),
        (0.6, True, "may limit reading at times"),
        (0.9, True, "so try faster storage"),
    ],
)
def test_headroom_is_told_as_surely_as_it_is_known(beside, share, proved, says):
    table = (
        beside.of(MachineFindings)
        .headroom.head(1)
        .with_columns(share=pl.lit(share), proved=pl.lit(proved))
    )
    machine = replace(beside.of(MachineFindings), headroom=table)
    (said,) = told.headroom(machine, beside.configurations)
    assert says in said
    assert "of the wall time" in said
    assert ("not verified" in said) is not proved


def test_reading_that_takes_hardly_any_time_is_nothing_to_speed_up(beside):
    table = beside.of(MachineFindings).headroom.head(1).with_columns(read_s=pl.lit(1e-6))
    machine = replace(beside.of(MachineFindings), headroom=table)
    (said,) = told.headroom(machine, beside.configurations)
    assert "less than 1 % of the wall time; faster storage cannot save more" in said
    assert "MB/s" not in said
