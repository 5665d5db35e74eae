"""submitit's local executor, whose controllers end with pyscale, even if that is killed.

Run as `python -m pyscale.executors.controller PID FOLDER`, where PID is pyscale: a controller.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from submitit.local.local import Controller, LocalExecutor, LocalJob

from pyscale.executors.submitted import command_line
from pyscale.interruption import end_with_parent


class MortalExecutor(LocalExecutor):
    """submitit's local executor; what it starts does not outlive the thread that starts it."""

    def started(self, function: Callable[..., Any], *arguments: str) -> subprocess.Popen[bytes]:
        """Submit a call; return the controller's process."""
        job = self.submit(function, *arguments)
        assert isinstance(job, LocalJob)
        assert job._process is not None
        return job._process

    @property
    def _submitit_command_str(self) -> str:
        return command_line(self.folder)

    def _submit_command(self, command: str) -> LocalJob[Any]:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(os.getpid()), str(self.folder)],
            # As submitit's own `start_controller` sets them, which cannot be told what to start.
            env=os.environ
            | {
                "SUBMITIT_EXECUTOR": "local",
                "SUBMITIT_LOCAL_COMMAND": command,
                "SUBMITIT_LOCAL_JOB_NUM_NODES": "1",
                "SUBMITIT_LOCAL_NODEID": "0",
                "SUBMITIT_LOCAL_NTASKS": "1",
                "SUBMITIT_LOCAL_SIGNAL_DELAY_S": "30",
                "SUBMITIT_LOCAL_TIMEOUT_S": str(int(60 * self.parameters["timeout_min"])),
                "SUBMITIT_LOCAL_WITH_SHELL": "",
                "SUBMITIT_STDERR_TO_STDOUT": "",
                "CUDA_VISIBLE_DEVICES": "",
            },
            # Where it cannot begin, its traceback would stand between the lines of the progress.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return LocalJob(folder=self.folder, job_id=str(process.pid), process=process)


def main(arguments: Sequence[str]) -> None:
    """Start the task of a submission, and wait for its end."""
    parent, folder = arguments
    end_with_parent(int(parent))
    Controller(Path(folder)).run()


if __name__ == "__main__":
    main(sys.argv[1:])
