"""A controller that is away is asked again for some minutes; a refusal is taken at its word."""

import pytest

from pyscale.errors import UserError
from pyscale.slurm import commands
from pyscale.slurm.commands import ControllerAwayError, is_away, persist
from refusals import refused

FAILED = "sbatch: error: Batch job submission failed: "


@pytest.mark.parametrize(
    ("said", "away"),
    [
        (f"{FAILED}Unable to contact slurm controller (connect failure)", True),
        (f"{FAILED}Socket timed out on send/recv operation", True),
        (f"{FAILED}Slurm backup controller in standby mode", True),
        (f"{FAILED}Zero Bytes were transmitted or received", True),
        ("srun: error: Unable to create step for job 17: Connection refused", True),
        (f"{FAILED}Unable to create job record, try again", False),
        ("Please name an account and try again", False),
        ("sbatch: error: Your session timed out: log in anew", False),
        ("sbatch: error: licence server: connection refused", False),
    ],
)
def test_the_words_of_slurm_for_an_absent_controller_are_told_from_refusals(said, away):
    assert is_away(said) == away


@pytest.fixture
def waited(monkeypatch):
    """Pauses of which none is waited for."""
    pauses = []
    monkeypatch.setattr(commands, "wait", pauses.append)
    return pauses


def absent():
    raise ControllerAwayError("sbatch: Socket timed out")


def test_a_controller_that_stays_away_ends_the_tries_after_minutes(waited):
    told, again = [], []
    with refused(UserError):
        persist(
            absent, again=lambda: again.append(1), tell=told.append, remedy="go on later with X"
        )
    assert waited == [2, 4, 8, 16, 32, 60, 60, 60, 60]
    assert len(again) == len(waited)
    assert told == ["sbatch: Socket timed out; it is asked again for up to 5 min"]


def test_an_attempt_that_succeeds_is_the_last(waited):
    answers = iter([None, None, "17"])

    def attempt():
        return next(answers) or absent()

    assert persist(attempt, again=dict, tell=str, remedy="") == "17"
    assert waited == [2, 4]
