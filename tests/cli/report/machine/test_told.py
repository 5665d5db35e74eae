"""Sentences on one machine, on several nodes, and on stages beside their storage."""

from dataclasses import replace
from typing import get_args

import polars as pl
import pytest

from madeupmachine import made_up
from pyscale.analysis.machine.findings import MachineFindings
from pyscale.report.answered import answers
from pyscale.report.machine.bench import (
    BOTTLENECKS,
    benches,
    cannot,
    mode_of,
    rate,
    rate_parts,
    what_was_read,
)
from pyscale.report.machine.section import section, trust_in_tests
from pyscale.report.page.values import Value
from pyscale_stages.timing import Bottleneck
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


def test_a_rate_is_told_in_the_unit_that_fits():
    for per_s, unit in (
        *((3.35e12, "B"), (5.2e8, "B"), (5.2e12, "flop"), (2.4e9, "flop")),
        *((23.9, "image"), (81000.0, "launch")),
    ):
        assert_said(rate({"rate": per_s, "unit": unit, "rate_low": None, "rate_high": None}))
    # An interval has the unit of its rate.
    assert_said(rate({"rate": 1.05e9, "unit": "B", "rate_low": 9.8e8, "rate_high": 1.1e9}))


def test_a_rate_below_every_unit_keeps_the_smallest():
    assert rate_parts(12.0, "B") == (1e3, "kB/s")


def test_what_was_done_has_words():
    # How a test reads is the end of its name.
    names = ("particle_sequential_read_cold", "movie_read_eer_direct", "particle_write")
    assert [mode_of(name) for name in names] == ["cold", "direct", None]
    read = ("particle_random_read_cold", "movie_read_tiff_warm", "something_new_cold")
    # What cannot run is never a number.
    why = ("not applicable: nothing is transferred", "imagecodecs is not installed here")
    assert_said(*map(what_was_read, read), *map(cannot, why))


def test_every_bottleneck_that_a_stage_may_name_is_explained_by_a_short_tag():
    assert set(BOTTLENECKS) == set(get_args(Bottleneck))
    tags = [explained.text for explained in BOTTLENECKS.values()]
    assert len(set(tags)) == len(tags)
    assert max(map(len, tags)) <= 20
    assert all(explained.why.endswith(".") for explained in BOTTLENECKS.values())


def test_every_number_of_an_answer_is_that_of_a_table_beside_it(one):
    (storage, *_) = section(one).answered[0].answers
    assert (storage.question, storage.answers) == ("Storage", "storage")
    tied = [part for part in (*storage.head, *storage.rest) if isinstance(part, Value)]
    assert len(storage.head) == 1
    assert storage.head[0] == tied[0]
    cells = [
        part
        for table in section(one).blocks[1].tables
        for group in table.groups
        for line in group.lines
        for cell in line.cells
        for part in cell
        if isinstance(part, Value)
    ]
    shown = {(one.table, one.key, one.column, one.raw) for one in cells}
    assert {(one.table, one.key, one.column, one.raw) for one in tied} <= shown


def test_lines_of_a_template_are_joined_but_before_punctuation():
    none = {"nodes": (), "in_order": (), "decoded": ()}
    able = [("picking", ("2.00",), "maps/s"), ("shell correlation", ("1.00",), "maps/s")]
    (compute,) = answers("machine", **none, devices=[("GPU", 1, able)])
    assert compute.text == (
        "Compute: 2.00 maps/s (picking); 1.00 maps/s (shell correlation) on GPU, and 1 more below."
    )
