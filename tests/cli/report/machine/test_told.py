"""Sentences on one machine, on several nodes, and on stages beside their storage."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from pyscale.analysis.machine.findings import MachineFindings
from pyscale.analysis.trust import trust_in_tests
from pyscale.report.machine import section as told
from pyscale.report.machine import tables
from pyscale.report.machine.bench import benches
from pyscale.report.machine.section import section
from pyscale.report.wording import number


@pytest.fixture(scope="module")
def bench(one):
    (found,) = benches(one.of(MachineFindings))
    return found


def rate_of(bench, test, at_once=1):
    return number(bench.storage(test, at_once)["rate"] / 1e6)


def row_of(table, *begins):
    """Cells of a table's row that begins so, by its columns."""
    (row,) = (row for row in table.texts if row[: len(begins)] == list(begins))
    return dict(zip(table.header, row, strict=True))


def test_reading_says_how_cold_was_proved_and_what_fio_reads(one, bench):
    (found,) = section(one).answered
    storage = found.answers[0].text
    assert f"{rate_of(bench, 'particle_sequential_read_cold')} MB/s cold, verified" in storage
    assert f"{rate_of(bench, 'particle_sequential_read_warm')} warm" in storage
    row = row_of(tables.reads(bench), "Particles, in order", "cold, verified")
    assert row["fio (MB/s)"].startswith(rate_of(bench, "fio_sequential_read_cold"))


def test_reading_at_random_has_latencies(one, bench):
    row = row_of(tables.reads(bench), "Particles, at random", "cold, verified")
    assert "-" not in (row["Reads/s"], row["Median (ms)"], row["p99 (ms)"])
    assert f"{row['Reads/s']} random reads/s" in section(one).answered[0].answers[0].text


def test_several_readers_are_told_together(bench):
    row = row_of(tables.reads(bench), "Particles, by readers at once", "cold, verified", "4")
    assert row["MB/s"].startswith(f"{rate_of(bench, 'parallel_read_cold', 4)} [")


def test_the_size_stands_beside_the_ancestors(bench):
    (said,) = told.scale(bench)
    assert "0.262 GB" in said
    assert "13.1 GB" in said


def test_a_stack_of_few_megabytes_is_told_in_them(bench):
    rows = [row | {"amount": 6.56e6} for row in bench.rows]
    assert "6.56 MB" in " ".join(told.scale(replace(bench, rows=rows)))


def test_numbers_of_threads_are_told_with_their_intervals(bench):
    row = row_of(tables.codecs(bench), "TIFF, LZW")
    assert all("[" in row[f"{threads} (MB/s)"] for threads in ("1 thread", "2 threads"))


def test_what_cannot_run_says_why(bench):
    said = " ".join(told.cannot_run(bench))
    assert "Cannot run here: particle_random_read_direct: the filesystem refuses" in said
    assert "nothing is transferred" in said


def test_an_eviction_that_nothing_proves_is_a_doubt(bench):
    said = " ".join(told.doubts(bench))
    assert "`evicted-unverified` (movie_read_eer_cold)" in said
    trusted = trust_in_tests(bench.rows)
    assert trusted.grade == "with care"
    assert "cold cache not proven (movie_read_eer_cold)" in trusted.reasons


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


def test_the_node_that_reads_slowly_is_named_with_its_ratio(three):
    said = outliers(three)
    assert said.startswith("node3 is an outlier: 0.49 of the median of 3 nodes in ")
    assert "more tests" in said
    answer = section(three).answered[0].answers[0]
    assert answer.head == ("node3",)
    assert "is an outlier" in answer.text


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


def test_the_same_doubt_of_all_nodes_is_told_once(three):
    said = section(three).doubts
    assert sum("evicted-unverified" in sentence for sentence in said) == 1
    assert not any(sentence.startswith("node1") for sentence in said)


def test_flags_of_trials_that_repeats_answer_are_left_out(one):
    said = " ".join(section(one).doubts)
    assert "Fewer than 6 trials were timed" not in said
    assert "`cache-uncontrolled`" not in said
