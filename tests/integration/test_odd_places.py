"""Paths that no run can have, and limits of a shell, are told in one sentence."""

import os
import resource
import subprocess
import sys

import numpy as np
import pytest
import tifffile

OPTIONS = ("--workers", "1", "--repeats", "1", "--only", "contact")
NOT_UTF8 = os.fsdecode(b"movie\xff")


@pytest.mark.parametrize("name", ["p%j", "p%a", "50%"])
def test_a_folder_whose_name_slurm_fills_in_holds_no_run(home, labels, pyscale, monkeypatch, name):
    (home / name).mkdir()
    monkeypatch.chdir(home / name)
    answer = pyscale("run", "labels", "--data", labels, *OPTIONS)
    assert answer.code == 2
    assert f"{name}/runs/" in answer.err
    assert "set runs_folder to a folder without it" in answer.err
    assert list((home / name).iterdir()) == []


def test_an_argument_or_a_working_folder_that_is_not_utf8_is_a_sentence(
    home, labels, pyscale, monkeypatch
):
    odd = labels.with_name(NOT_UTF8)
    odd.symlink_to(labels)
    (home / "folders" / NOT_UTF8).mkdir(parents=True)
    for folder, movie in ((home, odd), (home / "folders" / NOT_UTF8, labels)):
        monkeypatch.chdir(folder)
        answer = pyscale("run", "labels", "--data", movie, *OPTIONS)
        assert answer.code == 2
        assert "a path is not UTF-8" in answer.err


def test_files_of_a_dataset_that_are_not_utf8_can_be_found(home, pyscale):
    folder = home / "frames"
    folder.mkdir()
    for number in range(2):
        tifffile.imwrite(folder / f"{NOT_UTF8}{number}.tif", np.ones((48, 48), np.uint16))
    answer = pyscale("run", "labels", "--data", folder, "--axes", "YX", *OPTIONS)
    assert answer.code == 2
    assert "a path is not UTF-8, as those in records must be: rename it" in answer.err


@pytest.mark.slow
def test_a_limit_of_the_size_of_files_is_named(home, labels):
    ended = subprocess.run(
        [sys.executable, "-m", "pyscale", "run", "labels", "--data", labels, *OPTIONS],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20480, 20480)),
    )
    assert ended.returncode == 3
    assert "`ulimit -f unlimited`" in ended.stderr
    assert "Traceback" not in ended.stderr
