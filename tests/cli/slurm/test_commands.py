"""A command of Slurm answers, or it is known why it did not."""

import os

import pytest

from pyscale.slurm.commands import Answer, ask, is_away
from refusals import assert_said


def test_a_command_that_hangs_or_is_absent_answers_with_a_complaint():
    answer = ask("sleep", "60", time_limit_s=0.1)
    assert answer.code != 0
    assert answer.complaint == "sleep does not answer within 0.1 s"
    assert ask("no-such-program").complaint == "no-such-program is not on PATH"


SAID = (
    "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n",
    "Slurm accounting storage is disabled\n",
    "sacct: error: Sending PersistInit msg: Connection refused\n"
    "sacct: error: Problem talking to the database: Connection refused\n",
    "Name an account by --account.\n"
    "sbatch: error: Batch job submission failed: Unspecified error\n",
    "sbatch: unrecognized option '--foo'\nTry \"sbatch --help\" for more information\n",
    "",
)


def test_a_complaint_is_all_that_was_said_without_the_program():
    assert_said(*(Answer(1, "", said).complaint for said in SAID))


def test_a_configuration_that_is_gone_is_named_at_once(monkeypatch, tmp_path):
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "gone.conf"))
    answer = ask("sinfo")
    assert answer.code == 1
    assert answer.complaint == (
        f"SLURM_CONF names {tmp_path}/gone.conf, which does not exist: unset SLURM_CONF"
    )


def test_what_a_user_has_set_for_calls_by_hand_is_left_out_and_kept_for_sbatch(
    monkeypatch, tmp_path
):
    for program in ("squeue", "sacct", "sbatch"):
        (tmp_path / program).write_text("#!/bin/sh\nexec env\n")
        (tmp_path / program).chmod(0o755)
        monkeypatch.setenv(f"{program.upper()}_STATES", "RUNNING")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "squeue"))

    def environment(program, **variables):
        told = ask(program, variables=variables).out.splitlines()
        return dict(line.partition("=")[::2] for line in told)

    for program in ("squeue", "sacct"):
        found = environment(program, SLURM_TIME_FORMAT="%s")
        assert f"{program.upper()}_STATES" not in found
        assert found["SLURM_CONF"] == str(tmp_path / "squeue")
        assert found["SLURM_TIME_FORMAT"] == "%s"
    assert environment("sbatch")["SBATCH_STATES"] == "RUNNING"


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
