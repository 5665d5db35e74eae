"""The files of a report of loading patches: tables, text, page, figures and the terminal."""

import pytest

from asread import seen
from madeuploader import ENTRIES
from madeuploaderrun import made_up
from pyscale.report.figures.writing import write_figures
from pyscale.report.markdown import write_markdown
from pyscale.report.page.write import write_page


def test_many_ranks_are_left_to_the_csv(tmp_path):
    text = write_markdown(tmp_path, made_up(ranks=(4, 8), repeats=1)).read_text()
    assert "`benchmark_loader_ranks.csv`" in text
    ranks = text.partition("### Rank by rank")[2].partition("Ranks of ")[0]
    assert ranks.count("\n| ") == 2 + 8


@pytest.mark.slow
def test_one_configuration_alone_is_drawn_and_told(tmp_path):
    alone = made_up(ENTRIES[:1], ranks=(1,), repeats=1)
    assert write_figures(tmp_path, alone)
    told = seen(write_page(tmp_path, alone).read_text())
    assert "patch loading in 1 configuration on 1 rank, 1 timed trial of each" in told
    assert "pool1" in write_markdown(tmp_path, alone).read_text()
