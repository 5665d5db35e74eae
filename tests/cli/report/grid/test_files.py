"""The files of a report of a grid: tables, text, page and what the terminal shows."""

from __future__ import annotations

import html
import io
import re

import polars as pl
import pytest
from rich.console import Console

from pyscale.analysis.grid.findings import GridFindings
from pyscale.report.csv import RARE_FILES, csv_texts, write_csv
from pyscale.report.figures import write_figures
from pyscale.report.grid.sweep import sweeps
from pyscale.report.markdown import write_markdown
from pyscale.report.page.values import CALL_PARTS, POINTS, RATIOS
from pyscale.report.page.write import write_page
from pyscale.report.terminal import summary_of

TIED = re.compile(
    r'<data data-table="(.*?)" data-key="(.*?)" data-column="(.*?)" value="(.*?)">(.*?)</data>'
)
KEYS = {numbers.table: numbers.key for numbers in (POINTS, RATIOS, CALL_PARTS)}
GRID_FILES = {name: RARE_FILES[name] for name in ("points", "ratios", "parts")}


@pytest.fixture(scope="module")
def page(both, tmp_path_factory) -> str:
    return write_page(tmp_path_factory.mktemp("page"), both).read_text()


def seen(text):
    body = re.sub(r"<(script|style).*?</\1>", " ", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())


def sections(text):
    return re.findall(r'<section id="(.*?)"', text)


def shown(results, width=100):
    out = io.StringIO()
    Console(file=out, width=width).print(summary_of(results))
    return out.getvalue()


@pytest.mark.slow
def test_a_grid_has_three_tables_more_and_a_later_report_without_one_none(both, full, tmp_path):
    write_csv(tmp_path, both)
    for name, file in GRID_FILES.items():
        table = pl.read_csv(tmp_path / file)
        assert table.height == getattr(both.of(GridFindings), name).height
    write_csv(tmp_path, full)
    assert not any((tmp_path / file).exists() for file in GRID_FILES.values())


def test_a_run_on_one_device_has_no_table_of_ratios(cpu_alone):
    assert set(csv_texts(cpu_alone)) & set(GRID_FILES) == {"points", "parts"}


@pytest.mark.slow
def test_columns_that_name_a_row_name_one(both, mixed, shared):
    for results in (both, mixed, shared):
        for name, columns in KEYS.items():
            table = pl.concat([getattr(grid, name) for grid in results.every(GridFindings)])
            assert not table.select(columns).is_duplicated().any()


def test_every_number_of_the_page_is_the_csvs(page, both):
    tables = {
        name: {
            "|".join("" if row[column] is None else str(row[column]) for column in columns): row
            for row in getattr(both.of(GridFindings), name).to_dicts()
        }
        for name, columns in KEYS.items()
    }
    found = [one for one in TIED.findall(page) if one[0] in tables]
    assert {one[0] for one in found} == set(tables)
    for table, key, column, value, _ in found:
        assert float(value) == float(tables[table][html.unescape(key)][column])


def test_what_is_about_n_is_left_out_where_every_point_has_one(page):
    assert {"results", "request", "where", "laws", "timeline"}.isdisjoint(sections(page))
    assert "grid" in sections(page)
    told = seen(page)
    assert "CPU against GPU, by size" in told
    assert "No trial has a record" not in told
    assert "images larger than 2352 px: the report does not extrapolate" in told
    for leftover in ("{{", "None ", " nan", "Undefined", "logarithm of the size,"):
        assert leftover not in told


def test_a_stage_over_n_beside_a_grid_keeps_its_sections(mixed, tmp_path):
    text = write_page(tmp_path, mixed).read_text()
    assert {"grid", "results", "request", "where", "laws"} <= set(sections(text))
    told = seen(text)
    assert "segment (model cyto3) at 4 sizes (224 to 1792 px)" in told
    assert "track at N = 1 and 2 workers" in told
    assert text.count('name="amount" value="absolute"') == 1


def test_a_cpu_alone_says_what_would_compare_it(cpu_alone, tmp_path):
    told = seen(write_page(tmp_path, cpu_alone).read_text())
    assert "Not known : Only the CPU was measured" in told
    assert "CPU, by size" in told


def test_the_text_has_a_section_a_sweep_and_none_on_n(both, mixed, tmp_path):
    text = write_markdown(tmp_path, both).read_text()
    assert "\n## CPU against GPU, by size\n" in text
    assert "\n### Parts of a call (s), in brackets their share\n" in text
    assert "\n## Results\n" not in text
    assert "Karp" not in text
    text = write_markdown(tmp_path, mixed).read_text()
    assert "\n### segment (model cyto3)\n" in text
    assert "\n## Results\n" in text
    assert "\n## track\n" in text


def test_the_terminal_shows_every_point_and_what_follows(both, cpu_alone):
    text = shown(both)
    assert max(map(len, text.splitlines())) <= 100
    assert text.count("GPU (CUDA)") > 10
    assert "The ratio flattens" in text
    assert "speedup" not in text
    assert "needs a wider terminal" in " ".join(shown(both, 45).split())
    assert "few-repeats" in shown(cpu_alone, 45)


@pytest.mark.slow
def test_figures_over_sizes_stand_instead_of_those_over_n(both, cpu_alone, tmp_path):
    names = {path.stem for path in write_figures(tmp_path, both)}
    assert names == {"benchmark_size_sweep", "benchmark_size_speedup"}
    write_figures(tmp_path, cpu_alone)
    assert {path.stem for path in tmp_path.iterdir()} == {"benchmark_size_sweep"}


def test_machines_of_others_are_named_beside_the_page_s_lines(page, both):
    reference = both.beside["grid"][0][0]
    assert reference.title in seen(page)
    assert "macbook-m1-mps" in page
    assert len(sweeps(both.every(GridFindings))) == 1
