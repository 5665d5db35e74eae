"""What sacct tells of jobs that ended is understood; the text is that of Slurm 22.05."""

import os

import pytest

from programs import put_program
from pyscale.slurm import accounts
from pyscale.slurm.accounts import ask_accounts, ends_of, parse
from pyscale.slurm.queue import SlurmSilent
from refusals import refused

SACCT = """\
100|COMPLETED|0:0|n1|1|UNLIMITED|200M|
100.batch|COMPLETED|0:0|n1|1|||
101|FAILED|3:0|n1|1|UNLIMITED|200M|
101.batch|FAILED|3:0|n1|1|||
102|FAILED|0:11|n1|0|UNLIMITED|200M|
102.batch|CANCELLED|0:11|n1|0|||
103|OUT_OF_MEMORY|0:125|n1|1|Partition_Limit|200M|
103.batch|OUT_OF_MEMORY|0:125|n1|1|||
104|CANCELLED by 0|0:0|n2|3|UNLIMITED|200M|
104.batch|CANCELLED|0:15|n2|3|||3399680
108|RUNNING|0:0|n2|20|UNLIMITED|200M|
108.batch|RUNNING|0:0|n2|20|||
105|CANCELLED by 1004|0:0|None assigned|0|Partition_Limit|200M|
109|FAILED|1:0|n1|4|UNLIMITED|200M|
109.batch|FAILED|1:0|n1|4|||10887168
109.0|OUT_OF_MEMORY|0:125|n1|4|||66187264
112|TIMEOUT|0:0|n1|27|1|200M|
112.batch|FAILED|15:0|n1|27|||3338240
113|NODE_FAIL|0:0|n2|27|UNLIMITED|200M|
113.batch|CANCELLED||n2|27|||
113.0|CANCELLED||n2|27|||
"""


def test_only_jobs_that_ended_have_an_end_with_codes_signals_node_and_who_cancelled():
    ends = parse(SACCT)
    assert {job_id: end.state for job_id, end in ends.items()} == {
        "100": "COMPLETED",
        "101": "FAILED",
        "102": "FAILED",
        "103": "OUT_OF_MEMORY",
        "104": "CANCELLED",
        "105": "CANCELLED",
        "109": "OUT_OF_MEMORY",
        "112": "TIMEOUT",
        "113": "NODE_FAIL",
    }
    assert (ends["101"].exit_code, ends["101"].signal) == (3, 0)
    assert (ends["102"].exit_code, ends["102"].signal) == (0, 11)
    assert (ends["104"].cancelled_by, ends["105"].cancelled_by) == (0, 1004)
    assert ends["112"].cancelled_by is None
    # One that never began has no node.
    assert (ends["105"].node, ends["104"].node) == ("", "n2")
    # A job's peak of memory is the highest of its steps.
    assert ends["109"].peak_memory_bytes == 66187264
    assert ends["100"].peak_memory_bytes is None


@pytest.mark.parametrize(
    ("peak", "state"), [("433188864", "OUT_OF_MEMORY"), ("50331648", "FAILED"), ("", "FAILED")]
)
def test_a_job_that_was_killed_while_it_held_too_much_ran_out_of_memory(peak, state):
    ends = parse(
        f"120|FAILED|0:9|n1|4|UNLIMITED|100M|\n120.batch|CANCELLED by 0|0:9|n1|4|||{peak}\n"
    )
    assert ends["120"].state == state


@pytest.mark.parametrize(
    ("told", "asked_bytes"),
    [
        ("200M", 200 << 20),
        ("200Mn", 200 << 20),
        ("1.50G", 3 << 29),
        ("200Mc", None),
        ("", None),
        # What is not recorded yet is not taken for a huge one.
        ("18446744073709551614M", None),
    ],
)
def test_the_memory_that_was_asked_for_is_read(told, asked_bytes):
    (end,) = parse(f"100|TIMEOUT|0:0|n1|61|1|{told}|\n").values()
    assert end.memory_bytes == asked_bytes
    assert (end.elapsed_s, end.time_limit_s) == (61, 60)


def test_an_answer_in_another_form_is_no_answer():
    with refused(SlurmSilent):
        parse("100|COMPLETED\n")


@pytest.fixture
def sacct(tmp_path, monkeypatch):
    """A stand-in that knows the text above, and says what it was asked; returns where."""
    asked = tmp_path / "asked"
    (tmp_path / "said").write_text(SACCT)
    put_program(tmp_path, "sacct", f"echo \"$@\" >> '{asked}'\ncat '{tmp_path}/said'")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    # It answers, however busy the machine is.
    monkeypatch.setattr(accounts, "TIME_LIMIT_S", 600.0)
    return asked


def test_many_jobs_are_asked_for_at_once(sacct):
    assert ends_of([]) == {}
    assert not sacct.exists()
    assert {"104", "105", "112"} <= set(ends_of(["112", "104", "105"]))
    (call,) = sacct.read_text().splitlines()
    assert call.endswith("--jobs=104,105,112")
    # Where there are no accounts nothing is known, and it can be told why.
    sacct.with_name("sacct").write_text("#!/bin/sh\necho 'accounting is off' >&2\nexit 1\n")
    assert ends_of(["112"]) == {}
    with refused(SlurmSilent):
        ask_accounts(["112"])
