"""A stage of another package, from its entry point to report and advice."""

import os
import shutil
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest

from pyscale.images.catalog import catalog
from pyscale_stages import registry

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("package")]


@pytest.fixture(autouse=True, scope="module")
def _without_page():
    """The page has a section of the measures."""


EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "edges"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The example as an installer leaves it, where this Python and those of tasks find it."""
    declared = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    site = tmp_path / "site"
    about = site / "edges_stage-0.1.dist-info"
    about.mkdir(parents=True)
    shutil.copytree(EXAMPLE / "edges_stage", site / "edges_stage")
    files = ("METADATA", "RECORD", "entry_points.txt")
    (about / "RECORD").write_text("".join(f"{about.name}/{file},,\n" for file in files))
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {declared['name']}\nVersion: 1\n"
    )
    points = declared["entry-points"]["pyscale.stages"].items()
    lines = "".join(f"{name} = {where}\n" for name, where in points)
    (about / "entry_points.txt").write_text(f"[pyscale.stages]\n{lines}")
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PYTHONPATH", str(site), prepend=os.pathsep)
    for known in (registry.others_stages, catalog):
        known.cache_clear()
    yield
    sys.modules.pop("edges_stage", None)
    for known in (registry.others_stages, catalog):
        known.cache_clear()


def test_its_two_numbers_stand_in_the_report_and_there_is_advice(pyscale, home, movie):
    shutil.copy(EXAMPLE / "edges.toml", home)
    line = ("run", "edges.toml", "--data", movie)
    once = pyscale(*line, "--workers", "1,2", "--repeats", "1")
    assert once.code == 0, once.err
    assert "Outputs: same bytes at every N." in once.text
    assert "Gaussian gradient" in once.out
    (both,) = (home / "runs").iterdir()
    table = pl.read_csv(both / "report" / "benchmark_measures.csv")
    assert table.select("name", "workers", "unit", "better").rows() == [
        ("edge_pixels", 1, "px", None),
        ("edge_pixels", 2, "px", None),
        ("edge_share", 1, "", "higher"),
        ("edge_share", 2, "", "higher"),
    ]
    # Windows are added up, and shares of windows of one length have their mean.
    assert table["over_baseline"].to_list() == pytest.approx([1, 1, 1, 1])
    assert '<section id="measures">' in (both / "report" / "report.html").read_text()
    assert pyscale("advise").code == 0


def test_it_has_an_image_and_parameters_of_its_own(pyscale, home, movie):
    shutil.copy(EXAMPLE / "edges.toml", home)
    line = ("run", "edges.toml", "--data", movie, "--dry-run")
    assert pyscale(*line).code == 0
    # Its image is declared, and its lock is what its build installs.
    edges = catalog()["edges"]
    assert edges.requirements[-1] == edges.image.requirements[-1] == "scipy>=1.14.1"
    assert "\nscipy==" in edges.lock_file.read_text()
    wrong = pyscale(*line, "--set", "edges.sigma=2")
    assert wrong.code == 2
    assert "unknown key 'sigma'; did you mean 'sigma_px'?" in wrong.err


def test_without_a_declared_image_it_runs_natively_alone(pyscale, home, movie, tmp_path):
    shutil.copy(EXAMPLE / "edges.toml", home)
    module = tmp_path / "site" / "edges_stage" / "__init__.py"
    module.write_text(module.read_text().replace("    image=Image(", "    # image=Image("))
    line = ("run", "edges.toml", "--data", movie, "--dry-run")
    assert pyscale(*line).code == 0
    inside = pyscale(*line, "--runtime", "apptainer")
    assert inside.code == 2
    assert "edges is a stage of another package, which declares no image of it" in inside.err
