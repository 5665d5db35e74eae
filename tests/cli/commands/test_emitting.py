"""A folder of scripts is new or empty."""

import os
from pathlib import Path

import pytest

from pyscale.commands.emitting import refuse_full, write_scripts
from pyscale.errors import UserError
from refusals import refused

TEXTS = {"a/one.sbatch": "1\n", "a/logs/.keep": "", "submit.sh": "#!/bin/sh\n"}


@pytest.mark.parametrize("there", [True, False])
def test_scripts_fill_a_new_or_empty_folder_and_those_of_shells_run(tmp_path, there):
    folder = tmp_path / "below" / "scripts"
    if there:
        folder.mkdir(parents=True)
    write_scripts(folder, TEXTS)
    assert {name: (folder / name).read_text() for name in TEXTS} == TEXTS
    assert os.access(folder / "submit.sh", os.X_OK)
    assert not (folder / "a" / "one.sbatch").stat().st_mode & 0o111


def test_a_file_and_a_folder_that_holds_something_are_left_alone(tmp_path):
    (tmp_path / "mine").touch()
    with refused(UserError):
        refuse_full(tmp_path / "mine")
    with refused(UserError):
        write_scripts(tmp_path / "mine" / "below", TEXTS)
    with refused(UserError):
        refuse_full(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_folder_that_may_not_be_written_is_refused():
    """`/proc` refuses everybody, root too."""
    with refused(UserError) as refusal:
        write_scripts(Path("/proc/scripts"), TEXTS)
    assert "\n" not in str(refusal.value)
