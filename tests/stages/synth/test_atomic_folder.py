"""A folder of made-up data appears whole or not at all, and nothing is overwritten."""

from __future__ import annotations

import errno
import os
from contextlib import nullcontext

import pytest

from pyscale_stages.atomic import Kind, make_whole
from pyscale_stages.contract import Record
from pyscale_stages.errors import BadInput, ResourceExhausted
from refusals import refused

KIND = Kind("made up", "is nothing made up", "made.json")


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


def test_a_file_in_the_way_and_a_place_that_cannot_be_written_are_refused(tmp_path):
    (tmp_path / "file").write_text("a file")
    with refused(BadInput):
        made(tmp_path / "file")
    with refused(BadInput):
        made(tmp_path / "file" / "m")


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


@pytest.mark.parametrize(
    ("seed", "outcome"),
    [
        (3, nullcontext()),
        (99, pytest.raises(BadInput, match=r"made with other parameters \(seed\)")),
    ],
)
def test_what_appeared_meanwhile_is_kept_if_it_is_the_same_and_never_overwritten(
    tmp_path, seed, outcome
):
    def overtaken(folder):
        fill(folder)
        made(tmp_path / "m", seed=seed)

    with outcome:
        made(tmp_path / "m", overtaken)
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    assert Params.model_validate_json((tmp_path / "m" / KIND.params_file).read_text()).seed == seed
