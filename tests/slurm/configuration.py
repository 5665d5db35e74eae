"""What Slurm is told: nodes on one machine with pretended cores, memory and GPUs."""

import getpass
import re

from ports import free_ports
from slurm import cgroups

CLUSTER = "pyscale"
CONFIG_FILE = "slurm.conf"
DATABASE_CONFIG_FILE = "slurmdbd.conf"
CPUS = 4
MEMORY_MIB = 8000
THREADED = "t1"
"""A node of as many cores, each of two threads, that are twice as many CPUs to Slurm."""
GPUS = 2
"""GPUs of each node: links to a device that is none, good for scheduling and binding."""
MOST_JOBS = 1000
"""How many ids lie between the first jobs of two clusters, so that they never share a cgroup."""

# cred_expire: a requeued job may start again after seconds, not after two minutes; srun cannot
# start a step on a node whose slurmd stands still for longer.
# FirstJobId: of each cluster another, as a cgroup is named by the job alone.
# JobAcctGatherFrequency: how much memory a job uses is looked at each second.
# KillWait: a job over its time has two seconds to end by itself, not thirty.
# MessageTimeout: a node that is gone is given up after five seconds, not ten.
# SlurmdTimeout: a node without its slurmd is down after seconds, not after five minutes.
# batch_sched_delay: a job starts when it is submitted, not when more may have come.
# sched_interval: a job that may start again after its delay is seen after seconds, not a minute.
# DefMemPerCPU: a job that asks for no memory gets a core's share, not all that the node has.
CONFIGURATION = """\
ClusterName={cluster}
SlurmctldHost=localhost
SlurmctldPort={controller_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=10
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n/slurmd.log
ProctrackType=proctrack/linuxproc
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
{memory_limits}
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU={memory_of_a_core}
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=5
KillWait=2
MessageTimeout=5
MinJobAge=300
FirstJobId={first_job}
SchedulerParameters=batch_sched_delay=0,sched_interval=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
GresTypes=gpu
{accounting}
{nodes}
PartitionName=cpu Nodes={plain} Default=YES State=UP
PartitionName=gpu Nodes={last} State=UP
PartitionName=urgent Nodes={plain} PriorityTier=2 State=UP
PartitionName=threads Nodes={threaded} State=UP
"""
NODE = (
    "NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} "
    "RealMemory={memory} {hardware}"
)
PLAIN_HARDWARE = "CPUs={cpus} Gres=gpu:pretended:{gpus}"
THREADED_HARDWARE = "CPUs={cpus} Sockets=1 CoresPerSocket={cores} ThreadsPerCore=2"
DEVICES = "NodeName={name} Name=gpu Type=pretended File={folder}/{name}/gpu[0-{last}]\n"

# Slurm takes one or the other. By cgroups, the kernel kills what is over its memory, and the job
# ends as OUT_OF_MEMORY; else Slurm kills the job when it next looks, and it ends as FAILED.
LIMITS_BY_CGROUPS = "TaskPlugin=task/cgroup"
LIMITS_BY_LOOKING = "TaskPlugin=task/none\nJobAcctGatherParams=OverMemoryKill"
CGROUPS = "CgroupPlugin=cgroup/v1\nConstrainRAMSpace=yes\n"

# Pass: with munge, a path of its socket.
# Enforce: a job of an unknown account or beyond what its QOS allows is refused, as at most sites.
ACCOUNTING = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort={port}
AccountingStoragePass={folder}/munge.socket
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu
"""
DATABASE_CONFIGURATION = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdPort={port}
SlurmUser={user}
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser={user}
PidFile={folder}/slurmdbd.pid
LogFile={folder}/slurmdbd.log
"""


def write_configuration(folder, nodes):
    """Write the files of a cluster into its folder, and make the folders that they name.

    Memory is limited by cgroups where this machine lets it.
    """
    by_cgroups = cgroups.can_limit_memory()
    controller_port, database_port, *node_ports = free_ports(3 + len(nodes))
    hardware = dict.fromkeys(nodes, PLAIN_HARDWARE.format(cpus=CPUS, gpus=GPUS))
    hardware[THREADED] = THREADED_HARDWARE.format(cpus=2 * CPUS, cores=CPUS)
    lines = [
        NODE.format(name=name, port=port, memory=MEMORY_MIB, hardware=own)
        for (name, own), port in zip(hardware.items(), node_ports, strict=True)
    ]
    (folder / CONFIG_FILE).write_text(
        CONFIGURATION.format(
            folder=folder,
            cluster=CLUSTER,
            controller_port=controller_port,
            first_job=controller_port * MOST_JOBS,
            user=getpass.getuser(),
            memory_of_a_core=MEMORY_MIB // CPUS,
            memory_limits=LIMITS_BY_CGROUPS if by_cgroups else LIMITS_BY_LOOKING,
            accounting=ACCOUNTING.format(folder=folder, port=database_port),
            nodes="\n".join(lines),
            plain=",".join(nodes),
            last=nodes[-1],
            threaded=THREADED,
        )
    )
    if by_cgroups:
        (folder / "cgroup.conf").write_text(CGROUPS)
    file = folder / DATABASE_CONFIG_FILE
    # slurmdbd refuses a file that others may read: it may hold a password.
    file.touch(mode=0o600)
    file.write_text(
        DATABASE_CONFIGURATION.format(folder=folder, port=database_port, user=getpass.getuser())
    )
    devices = [DEVICES.format(name=name, folder=folder, last=GPUS - 1) for name in nodes]
    (folder / "gres.conf").write_text("".join(devices))
    (folder / "state").mkdir()
    for name in hardware:
        (folder / name / "spool").mkdir(parents=True)
    for name in nodes:
        for gpu in range(GPUS):
            (folder / name / f"gpu{gpu}").symlink_to("/dev/null")


def set_option(folder, name, value):
    """Change an option of a written configuration; return what it was."""
    file = folder / CONFIG_FILE
    before = _option(folder, name)
    file.write_text(file.read_text().replace(f"\n{name}={before}\n", f"\n{name}={value}\n"))
    return before


def job_ids(folder):
    """Ids that jobs of a cluster get; none where its configuration was never written."""
    try:
        first = int(_option(folder, "FirstJobId"))
    except FileNotFoundError:
        return range(0)
    return range(first, first + MOST_JOBS)


def _option(folder, name):
    text = (folder / CONFIG_FILE).read_text()
    (value,) = re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)
    return str(value)
