"""The name of this node. It imports nothing heavy: the launcher asks it for every task."""

from __future__ import annotations

import os

NODE_VARIABLE = "SLURMD_NODENAME"
"""Set by Slurm for every process of a job."""


def node_name() -> str:
    """Name of this node: in a job Slurm's, which its messages and commands use, else the host's."""
    return os.environ.get(NODE_VARIABLE) or host_name()


def host_name() -> str:
    """Name of the machine whose process numbers and page cache this process shares."""
    return os.uname().nodename
