"""Fixtures that every test may use."""

import gc
import os
import platform
import shutil
import signal
import subprocess
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from pyscale.images.build import build
from pyscale.images.catalog import catalog, definitions
from pyscale.images.engine import find_engine
from pyscale.images.lockfile import ImageFolder, LockedImage
from pyscale.settings import load_settings
from pyscale.store import journal
from pyscale_stages import atomic
from pyscale_stages.errors import MissingPart
from pyscale_stages.hashing import sha256_of
from refusals import Words
from smallsystem import small_system

SHARED = Path(__file__).resolve().parents[2] / "shared"
NO_FIGURES = Path(__file__).resolve().parent / "nofigures"
REQUIRE_PARTS = "PYSCALE_TEST_REQUIRE_ALL"
"""Set where a missing part must fail a test instead of skipping it, as in CI."""
SLOW_TOO = {"smoke", "images"}
"""Marks of tests that take time too, and that say where they are run."""
SLOW_FIXTURES = {"browser", "cluster_of_the_session", "engine", "ranks"}
PART_FIXTURES = {"engine", "missing"}
"""Fixtures of tests that skip where a part of the machine is absent."""

# A busy machine may take seconds over what usually takes none, and what an example finds must be
# found by the change that made it, and not by a later one that draws the example.
settings.register_profile(
    "tests", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tests")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what asks for every image, and as slow what takes time by its kind or its fixtures."""
    for item in items:
        fixtures = {*getattr(item, "fixturenames", ())}
        if "built_images" in fixtures:
            item.add_marker("images")
        marks = {mark.name for mark in item.iter_markers()}
        if fixtures & SLOW_FIXTURES or marks & SLOW_TOO:
            item.add_marker("slow")
        if fixtures & PART_FIXTURES and "images" not in marks:
            item.add_marker("part")


def pytest_configure(config):
    """Let processes of tests hear Ctrl-C and a closed terminal, however the tests were begun.

    A shell makes what it begins in the background deaf to the one, and nohup to the other.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    # As the command has it.
    gc.set_threshold(100_000)
    for golden in ("refusals", "said"):
        config.pluginmanager.register(Words(config, Path(__file__).resolve().parent, golden))


def missing(part, how_to_get_it):
    """Skip the test because a part is absent, or fail where every part must be there."""
    sentence = f"{part} is absent: {how_to_get_it}"
    if os.environ.get(REQUIRE_PARTS):
        pytest.fail(sentence)
    pytest.skip(sentence)


@pytest.fixture(scope="session", name="missing")
def missing_fixture():
    """Call with the name of an absent part and the way to get it."""
    return missing


@pytest.fixture(scope="session")
def shared_data():
    """Folder of real microscopy beside the checkout."""
    folder = SHARED / "data"
    if not folder.is_dir():
        missing("real microscopy", "put the datasets' folders into ../shared/data")
    return folder


@pytest.fixture(scope="session")
def references():
    """Folder of published figures beside the checkout."""
    folder = SHARED / "references"
    if not folder.is_dir():
        missing("published figures", "put their tables into ../shared/references")
    return folder


@pytest.fixture(autouse=True, scope="session")
def _no_references_of_ones_own(tmp_path_factory):
    """Keep what a developer has added as references out of every report."""
    with pytest.MonkeyPatch.context() as patch:
        nowhere = tmp_path_factory.mktemp("references") / "none"
        patch.setenv("PYSCALE_REFERENCES_FOLDER", str(nowhere))
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_terminal_of_ones_own():
    """Let tables be as wide as in a pipe, and not as the terminal in which the tests began."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        yield


@pytest.fixture(autouse=True, scope="session")
def _nothing_waits_for_the_disk():
    """Leave it to the kernel when records of this process reach the disk: no test cuts the power.

    Pretended runs write thousands of them, and each would wait for whatever else the disk does.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atomic, "flush_to_disk", lambda _path: None)
        patch.setattr(journal, "fsync", lambda _descriptor: None)
        yield


@pytest.fixture(scope="module")
def without_figures():
    """Reports have no figures, for tests that read records and tables: a third of a run draws."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(NO_FIGURES), prepend=os.pathsep)
        patch.setattr("pyscale.report.write.write_figures", lambda *_, **__: [])
        yield


@pytest.fixture
def trial(tmp_path):
    """Folder of a trial in a run, where the folders alone matter."""
    folder = tmp_path / "20260317T114224Z-k3f9" / "tasks" / "segment-n2-b1"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def mount_in_memory():
    """Mount a small disk, by mount's options, on a folder, which only root may."""
    mounted = []

    def mount(folder, options):
        folder.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        if subprocess.run(command, check=False, capture_output=True).returncode:
            missing("the right to mount a filesystem", "run as root on Linux")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture(scope="session")
def engine():
    """The container program of this machine."""
    try:
        return find_engine()
    except MissingPart as error:
        missing("Apptainer", f"run scripts/provide_apptainer.sh as root ({error})")
        raise


@pytest.fixture(scope="session")
def built_images(engine, missing):
    """Folder with every image that can be built here: what is current is reused."""
    del engine
    return _images_built([one for one in catalog().values() if not one.by_name_alone], missing)


@pytest.fixture(scope="session")
def with_image(engine, missing):
    """Build one image where it is not current; give the folder, where others may be old."""
    del engine

    @cache
    def folder_with(name):
        return _images_built(definitions([name]), missing)

    return folder_with


def _images_built(chosen, missing):
    """Build images, each where it is not current; return their folder."""
    folder = ImageFolder(load_settings().images_folder)
    try:
        build(chosen, folder)
    except MissingPart as error:
        missing("what builds images", str(error))
    return folder


@pytest.fixture(scope="session")
def toy_image(engine, tmp_path_factory):
    """An image of a shell and a few programs, which knows nothing of pyscale."""
    folder = tmp_path_factory.mktemp("toy")
    definition, path = folder / "mine.def", folder / "mine.sif"
    definition.write_text(small_system())
    subprocess.run(
        [engine.program, "build", "--fakeroot", str(path), str(definition)],
        env={**os.environ, "APPTAINER_USERNS": "1"},
        check=True,
        capture_output=True,
    )
    return path


@pytest.fixture
def small_image(toy_image, tmp_path):
    """A copy of it, for tests that spoil it."""
    return Path(shutil.copy(toy_image, tmp_path / "mine.sif"))


@pytest.fixture(scope="session")
def make_sif(engine, tmp_path_factory):
    """Build a real image that holds nothing but pyscale's labels, in a tenth of a second."""

    def make(path, **labels):
        given = {
            "image": path.stem,
            "stage": "contact",
            "version": "0.1.0",
            "git_commit": "unknown",
            "lock_sha256": "1" * 64,
            "content_sha256": "2" * 64,
        } | labels
        definition = tmp_path_factory.mktemp("definition") / f"{path.stem}.def"
        lines = "".join(f"    org.pyscale.{name} {text}\n" for name, text in given.items() if text)
        definition.write_text(
            "Bootstrap: scratch\n%help\n    Which cells touch.\n%runscript\n    exec none\n"
            f"%labels\n{lines}"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [engine.program, "build", "--force", "--fakeroot", str(path), str(definition)],
            env={**os.environ, "APPTAINER_USERNS": "1"},
            check=True,
            capture_output=True,
        )
        return path

    return make


@pytest.fixture
def lock_image():
    """Lock an image in the folder where it lies, as its build does, with any field changed."""

    def lock(sif, **changes):
        locked = LockedImage(
            sha256=sha256_of(sif),
            size_bytes=sif.stat().st_size,
            content_sha256="2" * 64,
            pyscale_version="0.1.0",
            git_commit=None,
            lock_sha256="1" * 64,
            built_utc=datetime(2026, 3, 17, tzinfo=UTC),
            engine="apptainer 1.4.5",
            architecture=platform.machine(),
        ).model_copy(update=changes)
        ImageFolder(sif.parent).record(sif.stem, locked)
        return locked

    return lock
