"""Plans to examine, and a small disk to examine them on."""

from itertools import count

import pytest

from pyscale.doctor.examined import plan_to_examine
from pyscale.settings import load_settings

FOLDERS = ("runs_folder", "data_folder", "images_folder")


@pytest.fixture
def plan(tmp_path):
    """What a suite asks of a machine, with any setting replaced."""

    def make(suite="labels", **changes):
        given = {name: tmp_path / name for name in FOLDERS} | {"workers": (1, 2)} | changes
        return plan_to_examine(suite, load_settings(**given))

    return make


@pytest.fixture
def small_disk(tmp_path, mount_in_memory):
    """Mount small disks with the given options; they are gone after the test."""
    number = count()
    return lambda options: mount_in_memory(tmp_path / f"disk{next(number)}", options)
