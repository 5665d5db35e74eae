"""A Slurm cluster to look around on: two nodes on this machine, here until Ctrl-C.

Run as `make cluster`. It is the cluster of the tests, with accounting.
"""

from __future__ import annotations

import signal
import sys

from rich.console import Console

from slurm.cluster import SlurmCluster, absent_programs, running_cluster

HOW_TO_GET_IT = "scripts/provide_slurm.sh installs it on Debian, as root"
USE = """\
A Slurm cluster of {nodes} nodes runs here, with accounting (sacct, sacctmgr).
In another terminal:

  export SLURM_CONF={config_file}
  sinfo
  .venv/bin/pyscale run pipeline --executor slurm --workers 1,2

Ctrl-C here ends the cluster and everything that was started with this SLURM_CONF."""


def main() -> int:
    """Start a cluster, say how to use it, and end it when the user or the terminal leaves."""
    talk = Console(stderr=True, soft_wrap=True, highlight=False)
    if absent := absent_programs():
        talk.print(f"error: {', '.join(absent)} is absent: {HOW_TO_GET_IT}")
        return 2
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        with running_cluster() as cluster:
            talk.print(usage(cluster))
            signal.pause()
    except KeyboardInterrupt:
        talk.print("\nThe cluster is gone.")
    return 0


def usage(cluster: SlurmCluster) -> str:
    """What a developer does with a cluster that runs."""
    return USE.format(nodes=len(cluster.nodes), config_file=cluster.config_file)


if __name__ == "__main__":
    sys.exit(main())
