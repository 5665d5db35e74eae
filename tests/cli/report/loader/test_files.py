"""The files of a report of loading patches: tables, text, page, figures and the terminal."""

from __future__ import annotations

import html
import io
import re

import polars as pl
import pytest
from rich.console import Console

from madeuploader import ENTRIES
from madeuploaderrun import made_up
from pyscale.analysis.ranks.loader import LoaderFindings
from pyscale.report.charts.all import charts, datasets
from pyscale.report.csv import RARE_FILES, write_csv
from pyscale.report.figures import loader_pareto
from pyscale.report.figures.house import NothingToDrawError
from pyscale.report.figures.writing import write_figures
from pyscale.report.markdown import write_markdown
from pyscale.report.page.values import LOADER, LOADER_RANKS
from pyscale.report.page.write import write_page
from pyscale.report.terminal import summary_of

OVER_N = {"results", "request", "where", "laws", "timeline", "agreement", "throughput", "cost"}
LOADER_FILES = {name: RARE_FILES[name] for name in ("loader", "loader_ranks")}


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
def page(fed, tmp_path_factory):
    return write_page(tmp_path_factory.mktemp("page"), fed).read_text()


def test_loading_has_tables_more_and_a_later_report_without_it_none(fed, full, tmp_path):
    write_csv(tmp_path, fed)
    for name, table in (
        ("loader", fed.of(LoaderFindings).points),
        ("loader_ranks", fed.of(LoaderFindings).ranks),
    ):
        assert pl.read_csv(tmp_path / LOADER_FILES[name]).height == table.height
    write_csv(tmp_path, full)
    assert not any((tmp_path / file).exists() for file in LOADER_FILES.values())


def test_columns_that_name_a_row_name_one(fed):
    assert not fed.of(LoaderFindings).points.select(LOADER.key).is_duplicated().any()
    assert not fed.of(LoaderFindings).ranks.select(LOADER_RANKS.key).is_duplicated().any()


def test_loading_alone_has_nothing_about_speedups(page):
    assert sections(page).isdisjoint(OVER_N)
    assert "loader" in sections(page)
    told = seen(page)
    assert "whether storage feeds the GPU" in told
    assert "patch loading in 8 configurations on N = 1 and 2 ranks, 6 timed trials" in told
    for leftover in ("{{", "None ", " nan", "Undefined", "Speedup", "No trial has a record"):
        assert leftover not in told


def test_a_pipeline_beside_keeps_its_sections_and_no_loading_in_them(beside, tmp_path):
    text = write_page(tmp_path, beside).read_text()
    assert {"loader", "results", "request", "where"} <= sections(text)
    results = text.partition('<section id="results">')[2].partition("</section>")[0]
    assert "register_denoise" in results
    assert "pool1" not in results
    assert "Speedup" in seen(text)


def test_the_text_begins_with_the_answer_and_has_no_speedup(fed, tmp_path):
    text = write_markdown(tmp_path, fed).read_text()
    assert text.startswith("# Patch loading: ")
    before_tables = text.partition("| ---")[0]
    assert "- Feeds: Yes: " in before_tables
    assert "DataLoader(dataset, " in before_tables
    assert "\n### Diversity beside speed\n" in text
    assert "\n## Results\n" not in text
    assert "Karp" not in text
    assert "reads patches from a dataset" in text


def test_many_ranks_are_left_to_the_csv(tmp_path):
    text = write_markdown(tmp_path, made_up(ranks=(4, 8), repeats=1)).read_text()
    assert "`benchmark_loader_ranks.csv`" in text
    ranks = text.partition("### Rank by rank")[2].partition("Ranks of ")[0]
    assert ranks.count("\n| ") == 2 + 8


def test_the_terminal_answers_first_and_fits_100_columns(fed, failing, beside):
    text = shown(fed)
    assert max(map(len, text.splitlines())) <= 100
    lines = [line for line in text.splitlines() if line]
    assert lines[0] == "Can storage feed the GPU?"
    assert lines[1].startswith("Feeds: Yes: ")
    assert "speedup" not in text
    assert "failed: a slide cannot be read" in shown(failing)
    assert "register_denoise" in shown(beside)
    assert "needs a wider terminal" in " ".join(shown(fed, 45).split())


@pytest.mark.slow
def test_the_figure_of_loading_stands_instead_of_those_over_n(fed, full, tmp_path):
    assert {path.stem for path in write_figures(tmp_path, fed)} == {"benchmark_loader_pareto"}
    write_figures(tmp_path, full)
    assert not list(tmp_path.glob("benchmark_loader_pareto.*"))


def test_without_diversity_or_loading_there_is_no_figure(full, fed):
    with pytest.raises(NothingToDrawError, match="stage loader"):
        loader_pareto(full)
    loader_pareto(fed, width_mm=88)


def test_the_chart_draws_every_configuration_and_joins_the_front(fed):
    (chart,) = charts(fed)
    assert chart.id == "loaderpareto"
    rows = datasets(fed)["loader_points"]
    assert len(rows) == fed.of(LoaderFindings).points.height
    assert {row["configuration"] for row in rows if not row["front"]} == {
        "pyscale, workers 2, pool 4, slide 100, visit 4",
        "pyscale, workers 2, pool 8, slide 100, visit 1",
        "wsistream, workers 2, pool 8, slide 100, visit 1",
    }
    assert chart.spec["usermeta"]["panels"] == ["N = 1", "N = 2"]
    for front in ("pool 1, slide 200", "workers 8, pool 16"):
        assert front in chart.description


@pytest.mark.slow
def test_one_configuration_alone_is_drawn_and_told(tmp_path):
    alone = made_up(ENTRIES[:1], ranks=(1,), repeats=1)
    assert write_figures(tmp_path, alone)
    told = seen(write_page(tmp_path, alone).read_text())
    assert "patch loading in 1 configuration on 1 rank, 1 timed trial of each" in told
    assert "pool1" in write_markdown(tmp_path, alone).read_text()
