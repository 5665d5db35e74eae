"""`pyscale report A B`: several runs on one page."""

import csv
import re

import pytest

from mockexecutor import MockEnd, MockExecutor
from mockruns import carried_out
from pyscale.commands.reporting import report_runs
from pyscale.errors import UserError
from pyscale.store.folder import RunFolder
from refusals import refused


@pytest.fixture
def measured(make, tmp_path):
    """Pretend to run one stage at N = 1 and 2, twice."""

    def measured(wall_s=10, **settings):
        executor = MockExecutor(lambda *_: MockEnd(wall_s=wall_s))
        return carried_out(make(only=("register_denoise",), **settings), tmp_path, executor)

    return measured


@pytest.fixture
def report(tmp_path, monkeypatch):
    """Report runs, from a folder that is empty but for them; figures for print take longest."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pyscale.report.write.write_figures", lambda *_, **_widths: [])

    def report(*runs, out=None):
        report_runs([str(run.path) for run in runs], out)

    return report


def rows(file):
    with file.open(newline="") as opened:
        return [row for row in csv.DictReader(opened) if row["stage"] and not row["part"]]


@pytest.mark.slow
def test_two_runs_are_compared_beside_their_own_reports(measured, report, tmp_path):
    fast, slow = measured(), measured(wall_s=20, cache="warm")
    report(fast, slow, out=tmp_path / "out")
    page = (tmp_path / "out" / "comparison.html").read_text()
    for run in (fast, slow):
        own = f"./{run.path.name}/report.html"
        assert f'href="{own}"' in page
        assert (tmp_path / "out" / run.path.name / "scaling_analysis.md").exists()
    found = rows(tmp_path / "out" / "comparison.csv")
    assert [(row["side"], row["workers"]) for row in found] == [
        *(("A", "1"), ("B", "1"), ("A", "2"), ("B", "2"))
    ]
    for row in found[1::2]:
        assert float(row["speedup"]) == pytest.approx(0.5)
        assert row["verdict"] == "not enough data"
    # One run has no comparison.
    report(fast, out=tmp_path / "one")
    assert not (tmp_path / "one" / "comparison.html").exists()


@pytest.mark.slow
def test_without_a_folder_each_report_stays_in_its_run(measured, report, tmp_path):
    runs = measured(), measured()
    (tmp_path / "comparison-report").write_text("in the way")
    with refused(UserError):
        report(*runs)
    (tmp_path / "comparison-report").unlink()
    report(*runs)
    page = (tmp_path / "comparison-report" / "comparison.html").read_text()
    for run in runs:
        assert f'href="./../runs/{run.path.name}/report/report.html"' in page
        assert (run.report / "scaling_analysis.md").exists()


NAMES = {
    "javascript:alert(1)": "./javascript%3Aalert%281%29/report.html",
    "50%20#2?x=<y>": "./50%2520%232%3Fx%3D%3Cy%3E/report.html",
    "été": "./%C3%A9t%C3%A9/report.html",
}


@pytest.mark.slow
def test_what_differs_is_told_of_every_run_and_another_movie_is_not_compared(
    measured, report, tmp_path, movie
):
    runs = [measured(), measured(cache="warm")]
    movie.write_bytes(movie.read_bytes() + b"\0")
    runs.append(measured(seed=7))
    named = zip(runs, NAMES, strict=True)
    runs = [RunFolder(run.path.rename(run.path.with_name(name))) for run, name in named]
    report(*runs, out=tmp_path / "out")
    page = (tmp_path / "out" / "comparison.html").read_text()
    assert "The runs differ in settings." in page
    assert "3 runs side by side" in page
    assert "Not compared in time" in page
    why_not = {(row["side"], row["why_not"]) for row in rows(tmp_path / "out" / "comparison.csv")}
    assert why_not == {("A", ""), ("B", ""), ("C", "other-input")}
    # Whatever a folder is called, it is linked as a file.
    links = re.findall('href="([^"#]+)"', page)
    assert set(NAMES.values()) <= set(links)
    assert all(found.startswith(("./", "https://")) for found in links)


def test_a_run_beside_itself_is_refused_before_anything_is_written(measured, report, tmp_path):
    run = measured()
    with refused(UserError):
        report(run, run, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
