"""Each entry runs in the image of its stage, its parameters and its device."""

import ast
import os
import shutil
import stat
import sys
from dataclasses import replace
from importlib import invalidate_caches
from pathlib import Path

import pytest

import pyscale_stages
from atleastone import some
from programs import put_program
from pyscale.errors import UserError
from pyscale.images import catalog as content
from pyscale.images.catalog import (
    base_sha256,
    base_variables,
    catalog,
    code_files,
    content_sha256,
    image_for,
    lay_out,
    machine_mirror,
)
from pyscale.processes import ran
from pyscale.resources import shipped
from pyscale_stages.errors import BadInput
from pyscale_stages.registry import STAGE_NAMES, load_stage, others_stages
from refusals import refused


def chosen(stage, device="cpu", /, **params):
    loaded = load_stage(stage)
    return image_for(stage, loaded, loaded.params.model_validate(params), device, {})


@pytest.mark.parametrize(
    ("asked", "params", "image"),
    [
        (["register_denoise"], {}, "register_denoise"),
        (["segment"], {}, "segment_cellpose3"),
        (["segment"], {"model": "cyto3"}, "segment_cellpose3"),
        (["segment"], {"model": "cpsam"}, "segment"),
        (["segment"], {"model": "/weights/own.pt"}, "segment_cellpose3"),
        (["track"], {"backend": "trackmate"}, "track_trackmate"),
        # A GPU takes the variant that is built for it.
        (["segment", "cuda"], {}, "segment_cellpose3-cuda"),
        (["segment", "cuda"], {"model": "cpsam"}, "segment-cuda"),
        (["contact", "cuda"], {}, "contact"),
    ],
)
def test_parameters_and_the_device_decide_the_image(asked, params, image):
    assert chosen(*asked, **params) == image


def test_settings_replace_the_choice_by_entry_before_stage_and_a_native_plan_names_none(make):
    plan = make(runtime="apptainer", images={"segment": "segment", "track": "track_trackmate"})
    assert {trial.entry: trial.image for trial in plan.trials} == {
        "register_denoise": "register_denoise",
        "segment": "segment",
        "contact": "contact",
        "track": "track_trackmate",
    }
    assert {trial.image for trial in make().trials} == {None}


@pytest.mark.parametrize(
    "images",
    [
        {"segmnt": "segment"},
        {"segment": "segment_cellpos3"},
        {"track": "contact"},
    ],
    ids=str,
)
@pytest.mark.parametrize("runtime", ["native", "apptainer"])
def test_a_misspelt_or_unfitting_image_is_refused(make, runtime, images):
    with refused(UserError):
        make(runtime=runtime, images=images)


CONTACT, TRACK = catalog()["contact"], catalog()["track"]


@pytest.fixture
def copy_of_all(tmp_path, monkeypatch):
    """A copy of definitions and stages elsewhere, from which the hashes are made."""
    shutil.copytree(shipped("containers"), tmp_path / "containers")
    # Whoever imports a module meanwhile writes there.
    no_cache = shutil.ignore_patterns("__pycache__")
    package = Path(pyscale_stages.__file__).parent
    shutil.copytree(package, tmp_path / "pyscale_stages", ignore=no_cache)
    for name in ("contact", "track"):
        # Written here, so that this test needs no particular lock.
        (tmp_path / "containers" / "locks" / f"{name}.txt").write_text(f"{name}==1\n")

    monkeypatch.setattr(content, "shipped", lambda name: tmp_path / name)
    files = content.code_files
    monkeypatch.setattr(content, "code_files", lambda s: files(s, tmp_path / "pyscale_stages"))
    return tmp_path


def append(path):
    with path.open("a", encoding="utf-8") as file:
        file.write("# changed\n")


def hashes():
    return {
        f"{kind} of {d.name}": function(d)
        for d in (CONTACT, TRACK)
        for kind, function in (
            ("image", content.content_sha256),
            ("libraries", lambda d: content.libraries_sha256(d, content.base_sha256())),
        )
    }


ALL = {"image of contact", "image of track", "libraries of contact", "libraries of track"}


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("pyscale_stages/contact/stage.py", {"image of contact"}),
        ("pyscale_stages/measure/spans.py", {"image of contact", "image of track"}),
        ("pyscale_stages/contract.py", {"image of contact", "image of track"}),
        ("pyscale_stages/synth/movie.py", set()),
        ("containers/stage.def", {"image of contact", "image of track"}),
        ("containers/libraries.def", ALL),
        ("containers/locks/track.txt", {"image of track", "libraries of track"}),
        ("containers/scripts/finish.sh", ALL),
        ("containers/base.def", ALL),
    ],
)
def test_a_change_reaches_what_is_made_from_it(copy_of_all, file, expected):
    before = hashes()
    append(copy_of_all / file)
    after = hashes()
    assert {name for name in before if before[name] != after[name]} == expected


def test_a_new_file_of_a_stage_counts_and_times_caches_and_the_place_do_not(copy_of_all):
    before = hashes()
    cache = copy_of_all / "pyscale_stages" / "contact" / "__pycache__"
    cache.mkdir(exist_ok=True)
    (cache / "x.pyc").write_bytes(b"x")
    for path in copy_of_all.rglob("*"):
        os.utime(path, (1, 1))
    assert hashes() == before
    (copy_of_all / "pyscale_stages" / "contact" / "another.py").write_text("")
    assert content.content_sha256(CONTACT) != before["image of contact"]


@pytest.mark.parametrize(
    ("declared", "changes_libraries"),
    [
        ({"debian": ("fio",)}, True),
        ({"imports": ("numpy",)}, True),
        ({"after_install": "true"}, True),
        ({"after_code": "true"}, False),
    ],
)
def test_what_a_stage_declares_counts(declared, changes_libraries):
    changed = replace(TRACK, image=replace(TRACK.image, **declared))
    assert content.content_sha256(changed) != content.content_sha256(TRACK)
    base = content.base_sha256()
    same = content.libraries_sha256(changed, base) == content.libraries_sha256(TRACK, base)
    assert same != changes_libraries


def test_an_absent_lock_is_one_sentence(copy_of_all):
    (copy_of_all / "containers" / "locks" / "track.txt").unlink()
    with refused(UserError):
        content.content_sha256(TRACK)


PACKAGE = Path(pyscale_stages.__file__).parent


def described(folder):
    return [
        (
            path.relative_to(folder).as_posix(),
            stat.S_IMODE(path.stat().st_mode),
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted((folder, *folder.rglob("*")))
    ]


def test_an_image_holds_the_core_and_its_own_stage_alone():
    names = set(code_files("contact"))
    assert {
        "pyscale_stages/__main__.py",
        "pyscale_stages/contract.py",
        "pyscale_stages/measure/spans.py",
        "pyscale_stages/contact/stage.py",
    } <= names
    folders = {name.split("/")[1] for name in names if name.count("/") > 1}
    assert folders == {"measure", "truth", "contact"}
    # The embedded models go with the segmentation alone.
    model = "pyscale_stages/resources/models/pyscale-tiny.pt"
    assert code_files("segment")[model].stat().st_size > 0
    assert model not in code_files("track")
    # One that does not exist is no empty image.
    with refused(BadInput):
        code_files("segmnt")


def module_file(name):
    """Path of a module of the package in an image; None where it is none."""
    path = PACKAGE.parent.joinpath(*name.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file() and file.is_relative_to(PACKAGE):
            return file.relative_to(PACKAGE.parent).as_posix()
    return None


def imported_files(file):
    """Files of the package that a file imports, wherever in it; movies are made elsewhere."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            # What is imported from a module may be a module too.
            names = (node.module, *(f"{node.module}.{name.name}" for name in node.names))
            found |= {module_file(name) for name in names}
    return {name for name in found if name and not name.startswith("pyscale_stages/synth/")}


@pytest.mark.parametrize("stage", [name for name in STAGE_NAMES if name != "command"])
def test_all_that_a_stage_imports_is_in_its_image(stage):
    files = code_files(stage)
    modules = some(name for name in files if name.endswith(".py"))
    for name in modules:
        assert imported_files(files[name]) <= files.keys(), name


def test_two_copies_are_the_same_whatever_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        lay_out(code_files("track"), tmp_path / "a")
        os.umask(0o002)
        lay_out(code_files("track"), tmp_path / "b")
    finally:
        os.umask(before)
    assert described(tmp_path / "a") == described(tmp_path / "b")
    assert {mode for _, mode, _ in described(tmp_path / "a")} == {0o644, 0o755}


DIGEST = "a" * 64


def test_a_mirror_that_is_given_is_taken_and_else_that_of_the_machine(tmp_path, monkeypatch):
    assert base_variables("file:///mirror") == {"mirror": "file:///mirror"}
    with refused(UserError) as error:
        base_variables("https://me:secret@mirror.example/debian")
    assert "secret" not in str(error.value)
    # It makes no other base.
    assert base_sha256("file:///a") == base_sha256("file:///b") == base_sha256()
    monkeypatch.setenv("PATH", str(tmp_path))
    for apt in (None, "exit 100", "exit 0"):
        if apt is not None:
            put_program(tmp_path, "apt-get", apt)
        with refused(UserError):
            base_variables(None)
    put_program(tmp_path, "apt-get", "echo file:///first/; echo file:///second/")
    assert machine_mirror() == "file:///first/"


def test_an_image_of_a_registry_needs_its_digest():
    base = f"docker://debian@sha256:{DIGEST}"
    assert base_variables(base) == {"from": f"debian@sha256:{DIGEST}"}
    assert base_sha256(f"docker://debian@sha256:{'b' * 64}") != base_sha256(base)
    for wrong in ("docker://debian:12", f"docker://debian@sha256:{DIGEST[:-1]}", "docker://"):
        with refused(UserError):
            base_sha256(wrong)


STAGE = """
from dataclasses import replace
from pyscale_stages.contact.stage import STAGE as CONTACT
from pyscale_stages.declaration import Image

STAGE = replace(CONTACT, name="edges", image=Image(("scipy>=1.14.1",), debian=("fio",)))
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a package with the stage `edges`, as pip leaves it."""

    def install(module):
        info = tmp_path / "edges_stages-1.0.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: edges-stages\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[pyscale.stages]\nedges = {module}:STAGE\n")
        files = ("METADATA", "entry_points.txt", "RECORD")
        (info / "RECORD").write_text("".join(f"{info.name}/{file},,\n" for file in files))
        package = tmp_path / "edges_stages"
        package.mkdir(exist_ok=True)
        (package / "__init__.py").write_text("")
        (package / "found.py").write_text(STAGE)
        (package / "edges.lock.txt").write_text("scipy==1.15.3\n")
        (tmp_path / "edges_alone.py").write_text(STAGE)
        return tmp_path

    monkeypatch.syspath_prepend(tmp_path)
    yield install
    for name in ("edges_stages", "edges_stages.found", "edges_alone"):
        sys.modules.pop(name, None)
    others_stages.cache_clear()
    catalog.cache_clear()


def forget():
    invalidate_caches()
    others_stages.cache_clear()
    catalog.cache_clear()


def test_its_image_is_what_the_stage_declares_with_the_code_of_its_package(installed, tmp_path):
    place = installed("edges_stages.found")
    forget()
    edges = catalog()["edges"]
    assert edges.image.debian == ("fio",)
    assert edges.lock_file == place / "edges_stages" / "edges.lock.txt"
    before = content_sha256(edges)
    (place / "edges_stages" / "more.py").write_text("")
    assert content_sha256(edges) != before
    lay_out(code_files("edges"), tmp_path / "code")
    # As in an image: this code alone, which finds its stage by the package's metadata.
    alone = [sys.executable, "-c", "import pyscale_stages.registry as r; print(r.stage_names())"]
    said = ran(["env", f"PYTHONPATH={tmp_path / 'code'}", *alone])
    assert "'edges'" in said.stdout, said.stderr
    folders = {name.partition("/")[0] for name in code_files("edges")}
    assert folders == {"pyscale_stages", "edges_stages", "edges_stages-1.0.dist-info"}


def test_a_stage_in_a_single_module_is_told_to_become_a_package(installed):
    installed("edges_alone")
    forget()
    with refused(UserError):
        content_sha256(catalog()["edges"])
