"""What --with-system adds to a suite."""

import pytest

from pyscale.errors import UserError
from pyscale.gridhere import with_system, without_system
from pyscale.settings import Settings
from pyscale.suite import load_suite


def test_the_brief_suite_comes_first_with_all_cores_counted():
    suite = with_system(load_suite("labels"), Settings(), None)
    assert [*suite.stages][:2] == ["storage", "decompress"]
    assert all(isinstance(suite.stages[entry].cores, int) for entry in suite.measured_once)


def test_what_was_added_can_be_taken_away():
    suite = load_suite("labels")
    assert without_system(with_system(suite, Settings(), None)) == suite


def test_values_chosen_for_the_suites_own_grid_are_not_those_of_the_brief_one():
    suite = with_system(load_suite("device"), Settings(grid={"length_px": (224,)}), None)
    assert "storage" in suite.stages


def test_a_suite_of_the_machine_gains_nothing():
    suite = load_suite("system")
    assert with_system(suite, Settings(), None) is suite


def test_two_entries_of_one_name_are_refused(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(
        "name = 'own'\nsummary = ''\n[stages.storage]\nstage = 'track'\n"
        "inputs = {labels = 'movie'}\n"
    )
    with pytest.raises(UserError, match="the suite own has an entry 'storage'"):
        with_system(load_suite(str(path)), Settings(), None)
