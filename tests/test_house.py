"""The house: what is promised of layout, documents and packaging."""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]


def version():
    with (ROOT / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def tracked_files():
    listing = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / line for line in listing.stdout.splitlines()]


def test_the_changelog_tells_of_this_version():
    assert f"\n## {version()} " in (ROOT / "CHANGELOG.md").read_text()


def test_the_structure_names_every_package_of_the_source():
    text = (ROOT / "docs" / "structure.md").read_text()
    packages = {
        path.parent.relative_to(ROOT)
        for path in tracked_files()
        if path.name == "__init__.py" and path.parts[len(ROOT.parts)] in {"cli", "stages"}
    }
    unnamed = [str(package) for package in packages if f"`{package}/`" not in text]
    assert unnamed == []


def test_the_structure_names_nothing_that_is_gone():
    text = (ROOT / "docs" / "structure.md").read_text()
    named = re.findall(r"`((?:cli|stages|config|docs|tests|benchmarks)/[\w/.]*)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_no_module_asks_which_kind_a_stage_is():
    """Ask for a trait of its work instead (`planning/traits.py`)."""
    kinds = re.compile(r"is_of_|_entries|loads_patches|makes_images|is_loader|is_reconstruct")
    asking = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in tracked_files()
        if path.is_relative_to(ROOT / "cli" / "pyscale") and path.suffix in {".py", ".j2"}
        for line in path.read_text().splitlines()
        if kinds.search(line)
    ]
    assert asking == []


def test_folders_whose_fixtures_end_with_their_tests_are_packages():
    """Without an `__init__.py` pytest keeps them until all tests are over."""
    kept = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("*.py")
        if re.search(r'fixture\(.*scope="package"', path.read_text())
        and not (path.parent / "__init__.py").exists()
    ]
    assert kept == []


def test_no_text_has_pip_fetch_a_project_that_is_not_ours():
    """The package index knows another project as pyscale, and this one under no name."""
    project = (ROOT / "pyproject.toml").read_text()
    named = []
    for path in tracked_files():
        if path == Path(__file__) or path.suffix in {".png", ".pt", ".zip", ".tif"}:
            continue
        # A command goes on after a backslash, and a string in the next line's quotes.
        text = re.sub(r'\\\n|"\n\s*f?"', " ", path.read_text(errors="replace"))
        for command in re.findall(r"pip3? install([^\n]*)", text):
            ours = re.search(r"(?<![\w./-])pyscale(?:[-_]bench)?(?![\w/-])", command)
            first = re.match(r"(?:\s+(?:-\S+|\S+\.txt))*+\s+['\"]?([A-Za-z][\w-]*)", command)
            if ours or (first and first[1] not in project):
                named.append(f"{path.relative_to(ROOT)}: pip install{command}")
    assert named == []


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def required(wheel, extras):
    """Distributions that the wheel says it needs, and those that they need in turn."""
    with zipfile.ZipFile(wheel) as archive:
        (info,) = {name.partition("/")[0] for name in archive.namelist() if ".dist-info/" in name}
    found = set()
    waiting = [(metadata.PathDistribution(zipfile.Path(wheel, f"{info}/")), extras)]
    while waiting:
        distribution, wanted = waiting.pop()
        for requirement in map(Requirement, distribution.requires or ()):
            marker = requirement.marker
            needed = any(not marker or marker.evaluate({"extra": one}) for one in {"", *wanted})
            if needed and requirement.name not in found:
                found.add(requirement.name)
                waiting.append((metadata.distribution(requirement.name), requirement.extras))
    return found


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """The command `pyscale` of a new environment with the wheel, what it requires, and no more."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder / "venv", symlinks=True)
    python = folder / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install"]
    offline = ["--quiet", "--no-index", "--no-deps", "--no-cache-dir"]
    subprocess.run([*pip, *offline, str(wheel)], check=True)
    # The libraries of this environment, so that the test needs no network.
    libraries = folder / "libraries"
    libraries.mkdir()
    for name in required(wheel, {"contact", "track"}):
        files = metadata.files(name) or ()
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            if not (libraries / top).exists():
                (libraries / top).symlink_to(Path(sysconfig.get_path("purelib")) / top)
    (own,) = (folder / "venv").glob("lib/python*/site-packages")
    (own / "libraries.pth").write_text(f"{libraries}\n")
    return python.with_name("pyscale")


def answer(command, folder, *arguments):
    """Standard output of an installed command in a folder, where its data lies too."""
    environment = os.environ | {"PYTHONPATH": "", "PYSCALE_DATA_FOLDER": str(folder / "data")}
    done = subprocess.run(
        [str(command), *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


HOLDS = """
import sys
import pyscale; assert pyscale.__file__.startswith(sys.prefix)
from pyscale.settings import load_settings
from pyscale.planning.suite import load_suite, suite_names
from pyscale.data.registry import load_registry
from pyscale.images.catalog import catalog
from pyscale.images.catalog import content_sha256
from pathlib import Path
from pyscale.references.files import all_references
from pyscale.resources import shipped
from pyscale.validation.judging import load_expected
from pyscale_stages.segment.params import embedded_model
assert load_settings().repeats == 6
suites = {name: load_suite(name) for name in suite_names()}
assert {'pipeline', 'device', 'system', 'validation'} <= suites.keys()
assert load_expected(suites['validation'].expected).stages
assert load_registry(shipped('config')).datasets
assert {'pycyto', 'cryosparc-sample'} <= all_references(Path('none')).keys()
assert {content_sha256(image) for image in catalog().values()}
assert embedded_model('pyscale-tiny').is_relative_to(sys.prefix)
"""


@pytest.mark.smoke
def test_an_installed_wheel_holds_all_data_and_reports_a_table(wheel, installed, tmp_path):
    assert wheel.name == f"pyscale_bench-{version()}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert tops == {"pyscale", "pyscale_stages", f"pyscale_bench-{version()}.dist-info"}
    answer(installed.with_name("python"), tmp_path, "-c", HOLDS)
    rows = ["stage,workers,wall_s", "segment,1,100", "segment,2,52", "segment,4,30"]
    (tmp_path / "times.csv").write_text("\n".join(rows))
    reported = answer(installed, tmp_path, "report", "--table", "times.csv", "--out", "told")
    assert "segment" in reported
    notice = "Copyright (c) 2015-2023, University of Washington"
    assert notice in (tmp_path / "told" / "report.html").read_text()


@pytest.mark.slow
def test_an_installed_wheel_measures_from_any_folder(installed, tmp_path):
    assert answer(installed, tmp_path, "--version") == f"{version()}\n"
    answer(installed, tmp_path, "data", "synth", "made", "--frames", "4", "--size", "64")
    labels = "data/made/truth/camera/labels_ch0.ome.tif"
    once = ("--workers", "1", "--repeats", "1")
    answer(installed, tmp_path, "run", "labels", "--data", labels, *once)
    (report,) = tmp_path.glob("runs/*/report")
    aggregated = (report / "benchmark_results_aggregated.csv").read_text()
    assert {"contact", "track"} <= set(re.findall(r"\w+", aggregated))
