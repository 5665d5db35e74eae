"""The hash of what an image is made from changes with that, and with nothing else."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

import pyscale_stages
from pyscale.errors import UserError
from pyscale.images import content, stagecode
from pyscale.images.catalog import ImageDefinition
from pyscale.shipped import shipped


def definition(name: str, stage: str) -> ImageDefinition:
    return ImageDefinition(name=name, stage=stage, definition=name)


CONTACT = definition("contact", "contact")
TRACK = definition("track", "track")


@pytest.fixture
def copy_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of definitions and stages elsewhere, from which the hashes are made."""
    shutil.copytree(shipped("containers"), tmp_path / "containers")
    # Whoever imports a module meanwhile writes there.
    no_cache = shutil.ignore_patterns("__pycache__")
    package = Path(pyscale_stages.__file__).parent
    shutil.copytree(package, tmp_path / "pyscale_stages", ignore=no_cache)
    for name in ("contact", "track"):
        # Written here, so that this test needs no particular lock.
        (tmp_path / "containers" / f"{name}.def").write_text(f"Bootstrap: localimage\n# {name}\n")
        (tmp_path / "containers" / "locks" / f"{name}.txt").write_text(f"{name}==1\n")
    (tmp_path / "containers" / "stage.def").write_text("Bootstrap: localimage\n")

    def folder(name: str) -> Path:
        return tmp_path / name

    for module in ("pyscale.images.content", "pyscale.images.catalog"):
        monkeypatch.setattr(f"{module}.shipped", folder)
    files = stagecode.code_files
    monkeypatch.setattr(content, "code_files", lambda s: files(s, tmp_path / "pyscale_stages"))
    return tmp_path


def append(path: Path) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("# changed\n")


def hashes() -> dict[str, str]:
    return {
        f"{kind} of {d.name}": function(d)
        for d in (CONTACT, TRACK)
        for kind, function in (
            ("image", content.content_sha256),
            ("libraries", content.libraries_sha256),
        )
    }


ALL = {"image of contact", "image of track", "libraries of contact", "libraries of track"}


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("pyscale_stages/contact/stage.py", {"image of contact"}),
        ("pyscale_stages/measure/spans.py", {"image of contact", "image of track"}),
        ("pyscale_stages/contract.py", {"image of contact", "image of track"}),
        ("pyscale_stages/synth/truth.py", set()),
        ("containers/stage.def", {"image of contact", "image of track"}),
        ("containers/contact.def", {"image of contact", "libraries of contact"}),
        ("containers/locks/track.txt", {"image of track", "libraries of track"}),
        ("containers/scripts/finish.sh", ALL),
        ("containers/base.def", ALL),
        ("containers/images.toml", set()),
    ],
)
def test_a_change_reaches_what_is_made_from_it(
    copy_of_all: Path, file: str, expected: set[str]
) -> None:
    before = hashes()
    append(copy_of_all / file)
    after = hashes()
    assert {name for name in before if before[name] != after[name]} == expected


def test_a_new_file_of_a_stage_counts(copy_of_all: Path) -> None:
    before = content.content_sha256(CONTACT)
    (copy_of_all / "pyscale_stages" / "contact" / "another.py").write_text("")
    assert content.content_sha256(CONTACT) != before


def test_times_caches_and_the_place_do_not_count(
    copy_of_all: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = hashes()
    cache = copy_of_all / "pyscale_stages" / "contact" / "__pycache__"
    cache.mkdir(exist_ok=True)
    (cache / "x.pyc").write_bytes(b"x")
    for path in copy_of_all.rglob("*"):
        os.utime(path, (1, 1))
    assert hashes() == before


def test_variants_with_one_definition_differ_by_their_locks(copy_of_all: Path) -> None:
    cuda = CONTACT.model_copy(update={"name": "contact-cuda", "device": "cuda"})
    locks = copy_of_all / "containers" / "locks"
    shutil.copy(locks / "contact.txt", locks / "contact-cuda.txt")
    assert content.libraries_sha256(cuda) == content.libraries_sha256(CONTACT)
    append(locks / "contact-cuda.txt")
    assert content.libraries_sha256(cuda) != content.libraries_sha256(CONTACT)


def test_an_absent_lock_is_one_sentence(copy_of_all: Path) -> None:
    (copy_of_all / "containers" / "locks" / "track.txt").unlink()
    with pytest.raises(UserError, match=r"missing file .*track\.txt.*make locks"):
        content.content_sha256(TRACK)


def test_eight_hashes_take_no_time_to_speak_of(copy_of_all: Path) -> None:
    took = []
    for _ in range(10):
        start = time.perf_counter()
        hashes()
        hashes()
        took.append(time.perf_counter() - start)
    # The best of many: a loaded machine may interrupt any one of them.
    assert min(took) < 0.3
