"""The files of a report of a machine: tables, text, page, figures and what the terminal shows."""

import re
from dataclasses import replace

import polars as pl
import pytest

from asread import printed, seen
from pyscale.report.figures import machine_kernels, machine_nodes, machine_storage
from pyscale.report.figures.house import NothingToDrawError
from pyscale.report.markdown import write_markdown
from pyscale.report.page.write import write_page
from pyscale.report.terminal import summary_of


def sections(text):
    return set(re.findall(r'<section id="(.*?)"', text))


def test_the_terminal_says_what_was_measured_and_what_makes_it_doubtful(one):
    said = printed(summary_of(one))
    assert "Filesystem: nfs4" in said
    flags = [["disturbed"]] * one.configurations.height
    beside_others = one.configurations.with_columns(flags=pl.Series(flags))
    assert "disturbed" not in said
    assert "disturbed (everywhere): Other work" in printed(
        summary_of(replace(one, configurations=beside_others))
    )


def test_a_pipeline_beside_keeps_its_sections_and_no_machine_entry_in_them(beside, tmp_path):
    text = write_page(tmp_path, beside).read_text()
    assert {"machine", "results", "request", "where"} <= sections(text)
    told = seen(text)
    assert "register_denoise at N = 1 and 2 workers" in told
    assert "Whether storage holds reading back" in told
    results = text.partition('<section id="results">')[2].partition("</section>")[0]
    assert "register_denoise" in results
    assert "kernels_cpu" not in results


def test_many_nodes_are_compared_and_not_each_told(many, tmp_path):
    text = write_markdown(tmp_path, many).read_text()
    assert "The page alone has: node1, node2, node3, " in text
    assert "\n### node1\n" not in text
    told = seen(write_page(tmp_path, many).read_text())
    assert "node6" in told
    with pytest.raises(NothingToDrawError):
        machine_storage(many)


def test_several_nodes_have_a_figure_and_their_kernels_none(three):
    machine_nodes(three)
    with pytest.raises(NothingToDrawError):
        machine_kernels(three)
