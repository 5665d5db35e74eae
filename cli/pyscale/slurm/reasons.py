"""Slurm's reasons for waiting jobs in plain words."""

from __future__ import annotations

import re

BEHIND = "waiting for an earlier task of its array"
_WORDS = {
    "": "not yet scheduled by Slurm",
    "None": "not yet scheduled by Slurm",
    "Resources": "waiting for free nodes",
    "Priority": "waiting behind jobs of higher priority",
    "JobArrayTaskLimit": BEHIND,
    "Dependency": "waiting for another job to end",
    "DependencyNeverSatisfied": "waiting for a job that will never end successfully",
    "JobHeldUser": "held by its user (release it with scontrol release)",
    "JobHeldAdmin": "held by an administrator",
    "BeginTime": "waiting for its time to begin",
    "Cleaning": "waiting for its earlier start to be cleaned up",
    "Licenses": "waiting for a licence",
    "Reservation": "waiting for its reservation",
    "PartitionDown": "its partition is down",
    "PartitionInactive": "its partition is inactive",
    "PartitionNodeLimit": "it asks for more nodes than its partition allows",
    "PartitionTimeLimit": "it asks for more time than its partition allows",
    "BadConstraints": "no node satisfies its request",
    "NodeDown": "a node that it needs is down",
    "InvalidAccount": "its account is not valid",
    "InvalidQOS": "its QOS is not valid",
    "AccountNotAllowed": "its account may not use the partition",
    "QOSNotAllowed": "its QOS may not use the partition",
}
_PATTERNS = (
    (r"ReqNodeNotAvail", "a node that it needs is not available"),
    (r"Nodes required for job are DOWN", "all nodes that fit are down or reserved"),
    (r"held", "held by Slurm after a failed start (release it with scontrol release)"),
    (r"Assoc.*(Limit|Minutes|Jobs)", "a limit of the account is reached"),
    (r"QOS.*(Limit|Minutes|Per)", "a limit of the QOS is reached"),
    (r"Limit", "a limit of the site is reached"),
)


def why_it_waits(reason: str) -> str:
    """Say Slurm's reason in plain words; what is not known by heart keeps Slurm's own.

    Parameters
    ----------
    reason : str
        As squeue gives it.
    """
    # squeue and scontrol differ in how they part the words of a long reason.
    spaced = reason.strip("()").replace("_", " ")
    known = _WORDS.get(spaced)
    if known is not None:
        return known
    for pattern, words in _PATTERNS:
        if re.search(pattern, spaced):
            return f"{words} ({spaced})"
    return f"waiting; Slurm's reason: {spaced}"
