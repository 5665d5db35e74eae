"""The house: what is promised of layout, documents and packaging."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def version() -> str:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def tracked_files() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / line for line in listing.stdout.splitlines()]


def test_the_changelog_tells_of_this_version() -> None:
    assert f"\n## {version()} " in (ROOT / "CHANGELOG.md").read_text()


def test_the_structure_names_every_package_of_the_source() -> None:
    text = (ROOT / "docs" / "structure.md").read_text()
    packages = {
        path.parent.relative_to(ROOT)
        for path in tracked_files()
        if path.name == "__init__.py" and path.parts[len(ROOT.parts)] in {"cli", "stages"}
    }
    unnamed = [str(package) for package in packages if f"`{package}/`" not in text]
    assert unnamed == []


def test_the_structure_names_nothing_that_is_gone() -> None:
    text = (ROOT / "docs" / "structure.md").read_text()
    named = re.findall(r"`((?:cli|stages|config|docs|tests|benchmarks)/[\w/.]*)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_each_package_says_in_its_init_what_lives_there() -> None:
    silent = [
        str(path)
        for path in tracked_files()
        if path.name == "__init__.py" and not path.read_text().startswith('"""')
    ]
    assert silent == []


@pytest.mark.slow
def test_a_wheel_works_alone(tmp_path: Path) -> None:
    """A built wheel holds all data, and runs without the checkout."""
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    tops = {path.name for path in installed.iterdir()}
    assert tops == {"pyscale", "pyscale_stages", f"pyscale-{version()}.dist-info"}
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import pyscale; assert pyscale.__file__.startswith(sys.argv[1])\n"
        "from pyscale.settings import load_settings\n"
        "from pyscale.suite import load_suite, suite_names\n"
        "from pyscale.data.registry import load_registry\n"
        "from pyscale.images.catalog import catalog\n"
        "from pyscale.images.content import content_sha256\n"
        "from pathlib import Path\n"
        "from pyscale.references.files import all_references\n"
        "from pyscale.shipped import shipped\n"
        "from pyscale.validation.expected import load_expected\n"
        "from pyscale_stages.resources import embedded_model\n"
        "assert load_settings().repeats == 6\n"
        "suites = {name: load_suite(name) for name in suite_names()}\n"
        "assert {'pipeline', 'device', 'system', 'validation'} <= suites.keys()\n"
        "assert load_expected(suites['validation'].expected).stages\n"
        "assert load_registry(shipped('config')).datasets\n"
        "assert {'pycyto', 'cryosparc-sample'} <= all_references(Path('none')).keys()\n"
        "assert {content_sha256(image) for image in catalog().values()}\n"
        "assert embedded_model('pyscale-tiny').is_relative_to(sys.argv[1])\n"
    )
    subprocess.run([sys.executable, "-c", program, str(installed)], cwd=tmp_path, check=True)
