"""Slurm's reasons are said in plain words."""

from __future__ import annotations

import pytest

from pyscale.slurm.reasons import why_it_waits


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("None", "not yet scheduled by Slurm"),
        ("Resources", "waiting for free nodes"),
        ("(Priority)", "waiting behind jobs of higher priority"),
        ("JobHeldUser", "held by its user (release it with scontrol release)"),
        ("JobArrayTaskLimit", "waiting for an earlier task of its array"),
        ("AssocGrpCPUMinutesLimit", "a limit of the account is reached (AssocGrpCPUMinutesLimit)"),
        ("QOSMaxCpuPerUserLimit", "a limit of the QOS is reached (QOSMaxCpuPerUserLimit)"),
        ("MaxMemPerLimit", "a limit of the site is reached (MaxMemPerLimit)"),
        (
            "ReqNodeNotAvail, UnavailableNodes:n1",
            "a node that it needs is not available (ReqNodeNotAvail, UnavailableNodes:n1)",
        ),
        (
            "launch_failed_requeued_held",
            "held by Slurm after a failed start (release it with scontrol release) "
            "(launch failed requeued held)",
        ),
        (
            "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority",
            "all nodes that fit are down or reserved (Nodes required for job are "
            "DOWN, DRAINED or reserved for jobs in higher priority)",
        ),
        ("Tuesday", "waiting; Slurm's reason: Tuesday"),
    ],
)
def test_a_reason_is_said_in_plain_words(reason: str, words: str) -> None:
    assert why_it_waits(reason) == words
