"""Suites to examine, and a small disk to examine them on."""

from itertools import count

import pytest

from pyscale.doctor.subject import Subject
from pyscale.settings import load_settings

FOLDERS = ("runs_folder", "data_folder", "images_folder")


@pytest.fixture
def subject(tmp_path):
    """What a suite asks of a machine, with any setting replaced."""

    def make(suite="labels", **changes):
        given = {name: tmp_path / name for name in FOLDERS} | {"workers": (1, 2)} | changes
        return Subject.of_suite(suite, load_settings(**given))

    return make


@pytest.fixture
def small_disk(tmp_path, mount_in_memory):
    """Mount small disks with the given options; they are gone after the test."""
    number = count()
    return lambda options: mount_in_memory(tmp_path / f"disk{next(number)}", options)
