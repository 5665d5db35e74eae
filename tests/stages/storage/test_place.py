from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyscale_stages.contract import TaskResult
from pyscale_stages.errors import BadInput, ResourceExhausted, StageError
from pyscale_stages.storage import stack
from pyscale_stages.storage.place import in_words, refuse_lack_of_space, work_folder

RunStorage = Callable[..., TaskResult]


@pytest.mark.parametrize("ending", [ValueError, KeyboardInterrupt, SystemExit])
def test_the_work_folder_is_removed_however_the_task_ends(
    place: Path, ending: type[BaseException]
) -> None:
    with pytest.raises(ending), work_folder(place) as folder:
        assert folder.parent == place
        (folder / "stack").mkdir()
        (folder / "stack" / "particles.mrc").write_bytes(b"half")
        raise ending
    assert not list(place.iterdir())


def test_a_task_that_is_politely_killed_removes_its_files(place: Path) -> None:
    program = (
        "import sys, pathlib\n"
        "from pyscale_stages.storage.place import work_folder\n"
        "with work_folder(pathlib.Path(sys.argv[1])) as folder:\n"
        "    (folder / 'file').touch()\n"
        "    print('ready', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert list(place.iterdir())
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 128 + signal.SIGTERM
    assert not list(place.iterdir())


def test_an_earlier_answer_to_sigterm_comes_back(place: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with work_folder(place):
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_place_that_does_not_exist_is_refused_in_a_sentence(
    run_storage: RunStorage, tmp_path: Path
) -> None:
    error = run_storage("run", tmp_path / "nowhere").error
    assert error is not None
    assert (error.kind, error.exit_code) == ("BadInput", 2)
    assert "nowhere is no folder that exists: give another one" in error.message


def test_a_place_that_may_not_be_written_is_refused_in_a_sentence(
    run_storage: RunStorage, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != place and may(path, mode))
    error = run_storage("run", place).error
    assert error is not None
    assert error.exit_code == 2
    assert error.message.startswith(f"nothing may be written into the place {place}")


def test_a_lack_of_space_is_told_before_anything_is_written(
    run_storage: RunStorage, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack, "write_mrc", lambda *_: pytest.fail("it was written"))
    error = run_storage("run", place, particles=10**9, particle_side_px=8192).error
    assert error is not None
    assert (error.kind, error.exit_code) == ("ResourceExhausted", 3)
    assert "the test files need" in error.message
    assert not list(place.iterdir())


def test_room_is_added_up_where_two_folders_share_a_filesystem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage:
        free = 1_000

    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: Usage)
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    refuse_lack_of_space({one: 600})
    with pytest.raises(ResourceExhausted):
        refuse_lack_of_space({one: 600, two: 600})


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (errno.ENOSPC, ResourceExhausted, "became full"),
        (errno.EDQUOT, ResourceExhausted, "quota of .* is used up"),
        (errno.EMFILE, ResourceExhausted, "lower particle_files"),
        (errno.EROFS, BadInput, "nothing may be written"),
        (errno.ENOENT, BadInput, "vanished from"),
        (errno.ESTALE, BadInput, "vanished from"),
        (errno.EIO, StageError, "answered with an error"),
    ],
)
def test_what_a_filesystem_answers_becomes_a_sentence(
    place: Path, number: int, kind: type[StageError], words: str
) -> None:
    with pytest.raises(kind, match=words) as raised, in_words(place):
        raise OSError(number, os.strerror(number))
    assert "\n" not in str(raised.value)


def test_a_disk_that_fills_up_midway_leaves_nothing(
    run_storage: RunStorage, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(path: Path, _frames: Any) -> None:
        path.write_bytes(b"as much as there was room for")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(stack, "write_mrc", fill)
    error = run_storage("run", place).error
    assert error is not None
    assert error.exit_code == 3
    assert not list(place.iterdir())


def test_a_vanished_file_is_told_and_leaves_nothing(
    run_storage: RunStorage, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*args: Any) -> Any:
        written = stack.write_stack(*args)
        written.files[0].unlink()
        return written

    monkeypatch.setattr("pyscale_stages.storage.plan.write_stack", lose)
    error = run_storage("run", place, modes=["warm"]).error
    assert error is not None
    assert error.exit_code == 2
    assert f"vanished from {place}" in error.message
    assert not list(place.iterdir())
