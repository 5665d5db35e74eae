"""A stage of another package has an image as those of pyscale have."""

import sys
from importlib import invalidate_caches

import pytest

from pyscale.errors import UserError
from pyscale.images.catalog import catalog, code_files, content_sha256, lay_out
from pyscale.processes import ran
from pyscale_stages.registry import others_stages
from refusals import refused

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
