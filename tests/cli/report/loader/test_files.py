"""The files of a report of loading patches: tables, text, page, figures and the terminal."""

from __future__ import annotations

import polars as pl
import pytest

from asread import printed, seen
from madeuploader import ENTRIES
from madeuploaderrun import made_up
from pyscale.analysis.ranks.loader import LoaderFindings
from pyscale.report.csv import RARE_FILES, write_csv
from pyscale.report.figures import loader_pareto
from pyscale.report.figures.house import NothingToDrawError
from pyscale.report.figures.writing import write_figures
from pyscale.report.markdown import write_markdown
from pyscale.report.page.values import LOADER, LOADER_RANKS
from pyscale.report.page.write import write_page
from pyscale.report.terminal import summary_of

LOADER_FILES = {name: RARE_FILES[name] for name in ("loader", "loader_ranks")}


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


def test_many_ranks_are_left_to_the_csv(tmp_path):
    text = write_markdown(tmp_path, made_up(ranks=(4, 8), repeats=1)).read_text()
    assert "`benchmark_loader_ranks.csv`" in text
    ranks = text.partition("### Rank by rank")[2].partition("Ranks of ")[0]
    assert ranks.count("\n| ") == 2 + 8


def test_a_narrow_terminal_says_that_tables_need_a_wider_one(fed):
    assert "needs a wider terminal" in " ".join(printed(summary_of(fed), width=45).split())


@pytest.mark.slow
def test_the_figure_of_loading_stands_instead_of_those_over_n(fed, full, tmp_path):
    assert {path.stem for path in write_figures(tmp_path, fed)} == {"benchmark_loader_pareto"}
    write_figures(tmp_path, full)
    assert not list(tmp_path.glob("benchmark_loader_pareto.*"))


def test_without_diversity_or_loading_there_is_no_figure(full, fed):
    with pytest.raises(NothingToDrawError, match="stage loader"):
        loader_pareto(full)
    loader_pareto(fed, width_mm=88)


@pytest.mark.slow
def test_one_configuration_alone_is_drawn_and_told(tmp_path):
    alone = made_up(ENTRIES[:1], ranks=(1,), repeats=1)
    assert write_figures(tmp_path, alone)
    told = seen(write_page(tmp_path, alone).read_text())
    assert "patch loading in 1 configuration on 1 rank, 1 timed trial of each" in told
    assert "pool1" in write_markdown(tmp_path, alone).read_text()
