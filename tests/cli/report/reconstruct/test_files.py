"""The files of a report of reconstruction: tables, text, page, figure and the terminal."""

from __future__ import annotations

import re
from dataclasses import replace

import polars as pl
import pytest

from asread import printed, seen
from pyscale.analysis.ranks.reconstruct import ReconstructFindings
from pyscale.report.csv import RARE_FILES, write_csv
from pyscale.report.figures import component_shares, components
from pyscale.report.figures.house import NothingToDrawError
from pyscale.report.figures.writing import write_figures
from pyscale.report.page.values import COMPONENTS, RECONSTRUCTIONS
from pyscale.report.page.write import write_page
from pyscale.report.terminal import summary_of

OVER_N = {"results", "request", "where", "laws", "timeline", "agreement", "throughput", "cost"}
VALUE = re.compile(
    r'<data data-table="(reconstruct\w*)" data-key="(.*?)" data-column="(\w+)" value="(.*?)">'
)
RECONSTRUCT_FILES = {name: RARE_FILES[name] for name in ("reconstruct", "reconstruct_points")}


def sections(text):
    return set(re.findall(r'<section id="(.*?)"', text))


@pytest.fixture(scope="module")
def page(shared, tmp_path_factory):
    return write_page(tmp_path_factory.mktemp("page"), shared).read_text()


def test_reconstruction_has_two_tables_more_and_a_later_report_without_it_none(
    shared, full, tmp_path
):
    write_csv(tmp_path, shared)
    found = shared.of(ReconstructFindings)
    for name, table in (("reconstruct", found.scaling), ("reconstruct_points", found.points)):
        assert pl.read_csv(tmp_path / RECONSTRUCT_FILES[name]).height == table.height
    write_csv(tmp_path, full)
    assert not any((tmp_path / file).exists() for file in RECONSTRUCT_FILES.values())


def test_columns_that_name_a_row_name_one(shared):
    assert not shared.of(ReconstructFindings).scaling.select(COMPONENTS.key).is_duplicated().any()
    assert (
        not shared.of(ReconstructFindings).points.select(RECONSTRUCTIONS.key).is_duplicated().any()
    )


def test_every_number_of_the_page_is_that_of_its_place_in_the_tables(shared, page):
    rows = {
        (table, "|".join(str(row[column]) for column in key)): row
        for table, key, frame in (
            ("reconstruct", COMPONENTS.key, shared.of(ReconstructFindings).scaling),
            ("reconstruct_points", RECONSTRUCTIONS.key, shared.of(ReconstructFindings).points),
        )
        for row in frame.to_dicts()
    }
    values = VALUE.findall(page)
    assert {table for table, *_ in values} == set(RECONSTRUCT_FILES)
    for table, key, column, raw in values:
        assert float(raw) == rows[table, key][column]
    told = {(key, column) for table, key, column, _ in values if table == "reconstruct_points"}
    for name in ("wall_s", "collectives_share", "barrier_share", "balance", "memory_peak_bytes"):
        assert ("deblur_256|4", name) in told
    told = {(key, column) for table, key, column, _ in values if table == "reconstruct"}
    for component in ("total", "denoiser"):
        for name in ("speedup", "speedup_low", "efficiency", "normalised_efficiency"):
            assert (f"deblur_256|4|{component}", name) in told


def test_reconstruction_alone_has_nothing_about_wall_times_of_processes(page):
    assert sections(page).isdisjoint(OVER_N)
    assert "reconstruct" in sections(page)
    assert re.findall(r'data-chart="(\w+)"', page) == ["components", "componentshares"]
    told = seen(page)
    assert "which component scales" in told
    assert "reconstruction of 3 images on N = 1, 2, 4 and 8 ranks, 0 to 6 timed trials" in told
    for leftover in ("{{", "None ", " nan", "Undefined", "No trial has a record"):
        assert leftover not in told


def test_a_narrow_terminal_says_that_tables_need_a_wider_one(shared):
    assert "needs a wider terminal" in " ".join(printed(summary_of(shared), width=60).split())


@pytest.mark.slow
def test_the_figure_of_components_stands_instead_of_those_over_n(shared, tmp_path):
    assert {path.stem for path in write_figures(tmp_path, shared)} == {
        "benchmark_components",
        "benchmark_component_shares",
    }
    write_figures(tmp_path, replace(shared, kinds=()))
    assert not list(tmp_path.glob("benchmark_component*"))


def test_without_reconstruction_there_is_no_figure_and_one_rank_alone_has_one(full, beside):
    with pytest.raises(NothingToDrawError, match="stage reconstruct"):
        components(full)
    components(beside, width_mm=88)
    component_shares(beside, width_mm=88)
