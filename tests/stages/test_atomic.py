"""A file that can be seen is whole, and on the disk."""

import errno
import os
from pathlib import Path

import pytest

from pyscale_stages import atomic
from pyscale_stages.atomic import atomic_path, naming, write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.errors import BadInput, ResourceExhausted
from pyscale_stages.synth.atomic_folder import Kind, make_whole
from refusals import refused


@pytest.fixture
def flushed(monkeypatch):
    """What was flushed to the disk, and the names that could be seen then."""
    found = []

    def flush(path):
        folder = path if path.is_dir() else path.parent
        names = sorted(file.name for file in folder.iterdir() if not file.name.startswith("."))
        found.append((path, names))

    monkeypatch.setattr(atomic, "flush_to_disk", flush)
    return found


def test_content_is_on_the_disk_before_its_name_and_the_name_before_the_end(flushed, tmp_path):
    write_atomically(tmp_path / "record.json", "{}")
    (content, before), (folder, after) = flushed
    assert content.suffixes[-2:] == [".partial", ".json"]
    assert (folder, before, after) == (tmp_path, [], ["record.json"])
    assert (tmp_path / "record.json").read_text() == "{}"


def test_a_block_that_fails_leaves_what_was_there(tmp_path):
    final = tmp_path / "table.csv"
    write_atomically(final, "old")
    with pytest.raises(ZeroDivisionError), atomic_path(final) as temporary:
        temporary.write_text("half")
        raise ZeroDivisionError
    assert final.read_text() == "old"
    assert list(tmp_path.iterdir()) == [final]


def test_an_error_of_the_disk_says_which_file(tmp_path):
    """The system tells of a full disk by a number alone."""
    full = Path("/dev/full")
    with pytest.raises(OSError, match="No space left") as raised, naming(tmp_path / "record.json"):
        full.write_text("x")
    assert raised.value.filename == str(tmp_path / "record.json")
    with pytest.raises(OSError, match="^24 requested and 12 written$"), naming(tmp_path):
        raise OSError("24 requested and 12 written")


def test_no_folder_is_made_anew_that_was_moved(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "moved" / "task" / "exit.json", "{}")
    assert list(tmp_path.iterdir()) == []


KIND = Kind("made up", "made.json")


class Params(Record):
    """How the data are made."""

    seed: int = 3
    size: int = 8


def fill(folder):
    (folder / "data").write_text("made up")


def made(folder, write=fill, **params):
    return make_whole(folder, Params(**params), KIND, write)


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_same_again_is_kept_as_it_is_and_what_was_made_otherwise_too(tmp_path):
    folder = made(tmp_path / "m")
    before = (folder / "data").stat(), files_of(folder)
    assert made(folder) == folder
    with refused(BadInput):
        made(folder, seed=5, size=9)
    after = (folder / "data").stat(), files_of(folder)
    assert after[1] == before[1]
    assert (after[0].st_ino, after[0].st_mtime_ns) == (before[0].st_ino, before[0].st_mtime_ns)


@pytest.mark.parametrize("content", [None, "{}}", '{"generator": 99}'])
def test_a_folder_of_something_else_is_never_overwritten(tmp_path, content):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "notes.txt").write_text("keep me")
    if content is not None:
        (folder / KIND.params_file).write_text(content)
    before = files_of(folder)
    with refused(BadInput):
        made(folder)
    assert files_of(folder) == before


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), ResourceExhausted),
        (OSError(errno.EFBIG, os.strerror(errno.EFBIG)), ResourceExhausted),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
    ids=["a full disk", "a limit of the shell", "an interruption"],
)
def test_what_ends_the_writing_leaves_nothing_behind(tmp_path, error, kind):
    def stop(folder):
        fill(folder)
        # Nor would a process that is killed now leave anything under the name.
        assert not (tmp_path / "m").exists()
        raise error

    with refused(kind):
        made(tmp_path / "m", stop)
    assert list(tmp_path.iterdir()) == []
