"""The files of a report of a machine: tables, text, page, figures and what the terminal shows."""

from __future__ import annotations

import html
import io
import re
from dataclasses import replace

import polars as pl
import pytest
from rich.console import Console

from pyscale.analysis.machine.findings import MachineFindings
from pyscale.report.csv import RARE_FILES, csv_texts, write_csv
from pyscale.report.figures import machine_kernels, machine_nodes, machine_storage
from pyscale.report.figures.house import NothingToDrawError
from pyscale.report.figures.writing import write_figures
from pyscale.report.machine import tables
from pyscale.report.machine.bench import benches
from pyscale.report.markdown import write_markdown
from pyscale.report.page.values import HEADROOM, NODES, TESTS
from pyscale.report.page.write import write_page
from pyscale.report.terminal import summary_of

KEYS = {numbers.table: numbers.key for numbers in (TESTS, NODES, HEADROOM)}
OVER_N = {"results", "request", "where", "laws", "timeline", "agreement", "throughput", "cost"}
MACHINE_FILES = {name: RARE_FILES[name] for name in ("tests", "nodes", "headroom")}


def seen(text):
    body = re.sub(r"<(script|style).*?</\1>", " ", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())


def sections(text):
    return set(re.findall(r'<section id="(.*?)"', text))


def shown(results, width=100):
    out = io.StringIO()
    Console(file=out, width=width).print(summary_of(results))
    return out.getvalue()


@pytest.fixture(scope="module")
def page(one, tmp_path_factory):
    return write_page(tmp_path_factory.mktemp("page"), one).read_text()


def test_a_machine_has_tables_more_and_a_later_report_without_one_none(three, full, tmp_path):
    write_csv(tmp_path, three)
    for name in ("tests", "nodes"):
        table = pl.read_csv(tmp_path / MACHINE_FILES[name])
        assert table.height == getattr(three.of(MachineFindings), name).height
    write_csv(tmp_path, full)
    assert not any((tmp_path / file).exists() for file in MACHINE_FILES.values())


def test_one_node_alone_has_neither_a_comparison_nor_headroom(one):
    assert set(csv_texts(one)) & set(MACHINE_FILES) == {"tests"}


def test_the_terminal_says_what_was_measured_and_what_makes_it_doubtful(one):
    said = shown(one)
    assert "Filesystem: nfs4" in said
    flags = [["disturbed"]] * one.configurations.height
    beside_others = one.configurations.with_columns(flags=pl.Series(flags))
    assert "disturbed" not in said
    assert "disturbed (everywhere): Other work" in shown(replace(one, configurations=beside_others))


def test_columns_that_name_a_row_name_one(three, beside):
    for results in (three, beside):
        for name, columns in KEYS.items():
            assert (
                not getattr(results.of(MachineFindings), name).select(columns).is_duplicated().any()
            )


def test_a_machine_alone_has_nothing_about_n(page):
    assert sections(page).isdisjoint(OVER_N)
    assert "machine" in sections(page)
    told = seen(page)
    assert "Tests of this machine" in told
    assert "what the machine can do" in told
    assert "No trial has a record" not in told
    for leftover in ("{{", "None ", " nan", "Undefined", "Speedup"):
        assert leftover not in told


def test_a_pipeline_beside_keeps_its_sections_and_no_machine_entry_in_them(beside, tmp_path):
    text = write_page(tmp_path, beside).read_text()
    assert {"machine", "results", "request", "where"} <= sections(text)
    told = seen(text)
    assert "register_denoise at N = 1 and 2 workers" in told
    assert "Whether storage holds reading back" in told
    results = text.partition('<section id="results">')[2].partition("</section>")[0]
    assert "register_denoise" in results
    assert "kernels_cpu" not in results


def test_what_cannot_run_is_no_number_anywhere(one):
    (bench,) = benches(one.of(MachineFindings))
    rows = tables.kernels(bench, "CPU").texts
    (transfer,) = (row for row in rows if row[0] == "host_to_device_pinned")
    assert transfer[1] == "not applicable"
    assert "nothing is transferred" in transfer[-1]
    rows = tables.reads(bench).texts
    assert any("cannot run" in row and "refuses" in row[-1] for row in rows)


def test_unproved_cold_reads_are_said_to_be(one, tmp_path):
    (bench,) = benches(one.of(MachineFindings))
    rows = tables.reads(bench).texts
    (movies,) = (row for row in rows if row[0] == "Movies, EER")
    assert "evicted, unverified" in movies
    assert "evicted, unverified" in write_markdown(tmp_path, one).read_text()
    assert "evicted, unverified" in shown(one)


def test_the_text_tells_of_each_node_and_of_no_speedup(one, three, beside, tmp_path):
    text = write_markdown(tmp_path, one).read_text()
    assert text.startswith("# Tests of this machine: ")
    assert "\n### Storage\n" in text
    assert "\n### Compute kernels on CPU\n" in text
    assert "\n## Results\n" not in text
    assert "Karp" not in text
    text = write_markdown(tmp_path, three).read_text()
    assert "\n### Nodes compared\n" in text
    assert "\n### node3\n" in text
    text = write_markdown(tmp_path, beside).read_text()
    assert text.startswith("# How it scales: ")
    assert "\n## Tests of this machine\n" in text


def test_many_nodes_are_compared_and_not_each_told(many, tmp_path):
    text = write_markdown(tmp_path, many).read_text()
    assert "The page alone has: node1, node2, node3, " in text
    assert "\n### node1\n" not in text
    told = seen(write_page(tmp_path, many).read_text())
    assert "node6" in told
    with pytest.raises(NothingToDrawError):
        machine_storage(many)


def test_the_terminal_shows_tests_and_what_follows(one, three, beside):
    text = shown(one)
    assert max(map(len, text.splitlines())) <= 100
    assert "Particles, in order" in text
    assert "matrix_product" in text
    assert "speedup" not in text
    assert "node3 is an outlier" in shown(three)
    assert max(map(len, shown(three).splitlines())) <= 100
    assert "register_denoise" in shown(beside)
    assert "needs a wider terminal" in " ".join(shown(one, 45).split())


@pytest.mark.slow
def test_figures_of_a_machine_stand_instead_of_those_over_n(one, tmp_path):
    names = {path.stem for path in write_figures(tmp_path, one)}
    assert names == {
        "benchmark_machine_storage",
        "benchmark_machine_readers",
        "benchmark_machine_codecs",
        "benchmark_machine_kernels",
    }


def test_several_nodes_have_a_figure_and_their_kernels_none(three):
    machine_nodes(three)
    with pytest.raises(NothingToDrawError):
        machine_kernels(three)
