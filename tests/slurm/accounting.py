"""The accounting of a cluster: slurmdbd on a MariaDB of its own, reached by a socket alone."""

import getpass
import subprocess

from slurm.configuration import CLUSTER
from slurm.daemons import DEADLINE_S, listens

PROGRAMS = ("slurmdbd", "mariadbd", "mariadb-install-db", "my_print_defaults", "sacct", "sacctmgr")
ACCOUNT = "lab"
"""The account that pays for the user's jobs."""
QOS = "short"
"""A quality of service beside `normal`; a job that asks for more than its time is refused."""
QOS_MINUTES = 10

# What a test writes need not outlive a power cut, and is small.
LOG_SIZE = "--innodb-log-file-size=4M"
INSTALLATION = (LOG_SIZE, "--skip-test-db", "--skip-name-resolve")
SERVER = (
    LOG_SIZE,
    "--skip-networking",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-buffer-pool-size=64M",
    "--innodb-lock-wait-timeout=900",
)


class Accounting:
    """The two daemons that keep a cluster's accounts; `run` runs a client of the cluster."""

    def __init__(self, daemons, run):
        self._daemons = daemons
        self._run = run
        self._socket = daemons.folder / "mariadb.socket"

    def start(self):
        """Make an empty database, start both daemons on it, and open the user's account."""
        user = getpass.getuser()
        # No file of this machine's own MariaDB is read.
        common = ("--no-defaults", f"--datadir={self._daemons.folder}/mariadb", f"--user={user}")
        subprocess.run(
            ["mariadb-install-db", *common, *INSTALLATION, f"--auth-root-socket-user={user}"],
            check=True,
            capture_output=True,
            timeout=DEADLINE_S,
        )
        self._daemons.start("mariadbd", ["mariadbd", *common, f"--socket={self._socket}", *SERVER])
        self._daemons.wait_for(lambda: listens(self._socket), "mariadbd listened")
        self.start_slurmdbd()
        self._change("add", "cluster", CLUSTER)
        self._change("add", "qos", QOS, f"MaxWall={QOS_MINUTES}", "Flags=DenyOnLimit")
        self._change("add", "account", ACCOUNT)
        qos = (f"QOS=normal,{QOS}", "DefaultQOS=normal")
        self._change("add", "user", user, f"Account={ACCOUNT}", f"DefaultAccount={ACCOUNT}", *qos)

    def start_slurmdbd(self):
        # Its configuration cannot name the socket of its database.
        self._daemons.start("slurmdbd", ["slurmdbd", "-D"], MYSQL_UNIX_PORT=str(self._socket))
        show = ("sacctmgr", "show", "cluster")
        self._daemons.wait_for(
            lambda: self._run(*show, check=False).returncode == 0, "slurmdbd answered"
        )

    def _change(self, *words):
        self._run("sacctmgr", "--immediate", "--quiet", *words)
