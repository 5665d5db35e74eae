"""The files of a report of a grid: tables, text, page and what the terminal shows."""

import re

from asread import seen
from pyscale.report.csv import csv_texts
from pyscale.report.page.write import write_page


def sections(text):
    return re.findall(r'<section id="(.*?)"', text)


def test_a_run_on_one_device_has_no_table_of_ratios(cpu_alone):
    assert "ratios" not in csv_texts(cpu_alone)


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
