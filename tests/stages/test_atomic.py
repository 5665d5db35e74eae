"""A file that can be seen is whole, and on the disk."""

from pathlib import Path

import pytest

from pyscale_stages import atomic
from pyscale_stages.atomic import atomic_path, naming, write_atomically


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
