"""What Slurm is told: nodes on one machine with pretended cores, memory and GPUs."""

from __future__ import annotations

import getpass
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

CONFIG_FILE = "slurm.conf"
CPUS = 4
MEMORY_MIB = 8000
GPUS = 2
"""GPUs of each node: plain files that Slurm takes for devices, good for scheduling alone."""

# SlurmdTimeout: a node without its slurmd is down after seconds, not after five minutes.
# batch_sched_delay: a job starts when it is submitted, not when more may have come.
CONFIGURATION = """\
ClusterName=pyscale
SlurmctldHost=localhost
SlurmctldPort={controller_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=5
SchedulerParameters=batch_sched_delay=0
GresTypes=gpu
{nodes}
PartitionName=cpu Nodes=ALL Default=YES State=UP
PartitionName=gpu Nodes={last} State=UP
"""
NODE = (
    "NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} "
    "CPUs={cpus} RealMemory={memory} Gres=gpu:pretended:{gpus}"
)
DEVICES = "NodeName={name} Name=gpu Type=pretended File={folder}/{name}/gpu[0-{last}]\n"


def write_configuration(folder: Path, nodes: Sequence[str]) -> None:
    """Write the files of a cluster into its folder, and make the folders that they name."""
    controller_port, *node_ports = _free_ports(1 + len(nodes))
    lines = [
        NODE.format(name=name, port=port, cpus=CPUS, memory=MEMORY_MIB, gpus=GPUS)
        for name, port in zip(nodes, node_ports, strict=True)
    ]
    (folder / CONFIG_FILE).write_text(
        CONFIGURATION.format(
            folder=folder,
            controller_port=controller_port,
            user=getpass.getuser(),
            nodes="\n".join(lines),
            last=nodes[-1],
        )
    )
    devices = [DEVICES.format(name=name, folder=folder, last=GPUS - 1) for name in nodes]
    (folder / "gres.conf").write_text("".join(devices))
    (folder / "state").mkdir()
    for name in nodes:
        (folder / name / "spool").mkdir(parents=True)
        for gpu in range(GPUS):
            (folder / name / f"gpu{gpu}").touch()


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on; all are held until the last is found."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
