"""Sentences on one machine, on several nodes, and on stages beside their storage."""

from dataclasses import replace

import polars as pl
import pytest

from madeupmachine import made_up
from pyscale.analysis.machine.findings import MachineFindings
from pyscale.report.machine.bench import benches
from pyscale.report.machine.section import section, trust_in_tests
from refusals import assert_said


@pytest.fixture(scope="module")
def one():
    """One node without a GPU, and no stage beside."""
    return made_up(1, gpus=False)


@pytest.fixture(scope="module")
def three():
    """Three nodes with two GPUs each; the third reads at half the rate."""
    return made_up(3)


@pytest.fixture(scope="module")
def bench(one):
    (found,) = benches(one.of(MachineFindings))
    return found


def test_a_wrong_result_is_not_to_be_trusted(three):
    trusted = trust_in_tests(benches(three.of(MachineFindings))[0].rows)
    assert trusted.grade == "no"
    assert "fsc_tight on NVIDIA H200" in trusted.reasons[0]


@pytest.mark.parametrize(
    ("repeats", "doubts", "told"),
    [
        (6, [], ("yes", ("every result is right", "6 trials of each"))),
        (6, ["disturbed"], ("with care", ("other work ran on the machine",))),
        (1, [], ("untested", ("only 1 trial",))),
    ],
)
def test_a_machine_is_trusted_but_for_other_work_on_it_and_few_trials(bench, repeats, doubts, told):
    rows = [row | {"flags": [], "repeats": repeats} for row in bench.rows]
    trusted = trust_in_tests(rows, doubts)
    assert (trusted.grade, trusted.reasons) == told


def test_tests_without_a_known_result_are_not_called_right(bench):
    rows = [row | {"flags": [], "repeats": 6, "tolerance": None} for row in bench.rows]
    assert trust_in_tests(rows).reasons == ("6 trials of each",)


def test_where_no_node_is_an_outlier_it_says_so(three):
    machine = three.of(MachineFindings)
    for columns in (
        {"outlier": pl.lit(value=False)},
        {"nodes": pl.lit(2), "outlier": pl.lit(None, pl.Boolean)},
    ):
        changed = replace(machine, nodes=machine.nodes.with_columns(**columns))
        assert_said(section(replace(three, kinds=(changed,))).answered[0].answers[0].text)
