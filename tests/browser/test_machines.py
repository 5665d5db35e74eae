"""Tests of machines side by side in the page of several runs."""

import csv
import io

import pytest
from playwright.sync_api import expect

from browser.drawn import downloaded
from madeupmachine import SIZES, measured
from pyscale.analysis.machine.beside import CELL, machines_beside
from pyscale.report.comparison import ComparisonContext
from pyscale.report.viewer.build import SideBySide
from pyscale.report.viewer.several import Several, write_comparison
from pyscale.report.viewer.sources import source_of, sources_of_run

KEY = ("side", *CELL)


@pytest.fixture(scope="package")
def machines(folder):
    """Two runs that measured nothing but the machine, the second at half the speed."""
    other = SIZES | {"kernels_cpu": "another"}
    runs = [measured("fast", nodes=1), measured("slow", 2.0, other, nodes=1)]
    sources = [
        source
        for place, (results, timings) in enumerate(runs)
        for source in sources_of_run(results, place=place, timings=timings, href="report.html")
    ]
    out = folder / "compared-machines"
    out.mkdir()
    return write_comparison(
        out,
        Several(
            found=SideBySide.of(
                [source_of(found.about_workers(), about="system", href="x") for found, _ in runs]
            ),
            started=[None, None],
            contexts=[ComparisonContext(base="fast", new="slow", measured_here=True)],
            differing=[],
            machines=SideBySide.of(sources, machines_beside),
        ),
    )


@pytest.fixture
def page(machines, visit_once):
    """The page, against the first run again at the end."""
    page = visit_once(machines)
    yield page
    page.locator("input[name=machines-base][value='0']").check()


def row(page, name, group="storage"):
    return page.locator(f"tr[data-group='{group}'][data-name='{name}']")


def test_every_number_is_that_of_the_file_beside_it(page, machines):
    text = (machines.parent / "comparison_tests.csv").read_text(encoding="utf-8")
    rows = {"|".join(one[name] for name in KEY): one for one in csv.DictReader(io.StringIO(text))}
    numbers = page.evaluate(
        "() => [...document.querySelectorAll('data[data-table=machines]')].map(found => "
        "[found.dataset.key, found.dataset.column, found.getAttribute('value')])"
    )
    assert len(numbers) > 100
    for key, column, value in numbers:
        assert float(value) == pytest.approx(float(rows[key][column]), rel=1e-12), (key, column)


def test_a_speedup_follows_the_chosen_base_as_does_the_table_that_is_downloaded(page):
    speedups = row(page, "particle_random_read_cold").locator("td.speedup")
    expect(speedups.nth(0)).to_have_text("base")
    expect(speedups.nth(1)).to_contain_text("0.50")
    page.locator("input[name=machines-base][value='1']").check()
    expect(speedups.nth(0)).to_contain_text("2.00")
    expect(speedups.nth(1)).to_have_text("base")
    name, file = downloaded(page, ".viewer[data-viewer=machines] button[data-viewer=csv]")
    assert name == "comparison_tests.csv"
    rows = list(csv.DictReader(file.decode().splitlines()))
    assert {one["base"] for one in rows} == {"B"}
    read = {one["side"]: one for one in rows if one["test"] == "particle_random_read_cold"}
    assert float(read["A"]["speedup"]) == pytest.approx(2)
    assert read["B"]["speedup"] == ""
