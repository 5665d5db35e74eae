"""The runtimes: how a task's process is started, in its image or by a Python; they start none."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from pyscale.executors.containernode import scratch_prefix
from pyscale.images.engine import Engine
from pyscale.store.provenance import ImageFile
from pyscale.store.records import PARAMS_FILE, RESULT_FILE, ContainerOrder, TaskOrder
from pyscale_stages.binds import OPTIONS, task_binds
from pyscale_stages.contract import TaskSpec
from pyscale_stages.measure import stamp
from pyscale_stages.ranks.network import INTERFACE_VARIABLE
from pyscale_stages.registry import load_stage
from pyscale_stages.validarea import VALID_FILE

AMD_VARIABLES = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
"""GPUs of AMD that a job was given; NVIDIA's are among `THREAD_VARIABLES`."""

NETWORK_VARIABLES = (INTERFACE_VARIABLE, "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA")
"""By which a site says how ranks reach each other: through the host, and from GPU to GPU."""


class Runtime(Protocol):
    """Says how a task is started; it starts nothing."""

    def start(self, spec: TaskSpec, folder: Path, image: str | None) -> TaskOrder:
        """Draft the order of a task in the image of the plan; its folder holds its parameters."""


class NativeRuntime:
    """Starts tasks with the Python that runs pyscale, or with that of another environment."""

    def __init__(self, interpreter: Path | None = None) -> None:
        self._program = (str(interpreter or sys.executable), "-m", "pyscale_stages")

    def start(self, spec: TaskSpec, folder: Path, image: str | None) -> TaskOrder:  # noqa: ARG002
        """Draft the order of a task."""
        # A process that outlives its try, as on a node that Slurm has given up, then writes into
        # the folder that was set aside, and not into that of the next try.
        if spec.output is not None:
            spec = spec.model_copy(update={"output": spec.output.relative_to(folder)})
        words = spec.command_line(folder / PARAMS_FILE, Path(RESULT_FILE))
        return TaskOrder(argv=(*self._program, *words))


class ApptainerRuntime:
    """Starts tasks in images."""

    def __init__(self, engine: Engine, images: Mapping[str, ImageFile], run: Path) -> None:
        self._engine = engine
        self._images = images
        self._run = run

    def start(self, spec: TaskSpec, folder: Path, image: str | None) -> TaskOrder:
        """Draft the order of a task, which can write into its folder and that where ranks meet."""
        _, *arguments = spec.command_line(folder / PARAMS_FILE, folder / RESULT_FILE)
        meeting = () if spec.meeting is None else (spec.meeting.parent,)
        assert image is not None, "a plan for images needs an image for each trial"
        chosen = self._images[image]
        stage = load_stage(spec.stage)
        around = stage.surroundings(stage.params.model_validate(spec.params))
        places = stage.places(spec)
        written = (*places, *around.written, *meeting) if spec.verb == "run" else ()
        inputs = [path for _, path in spec.inputs if path not in places]
        read = [*inputs, *(path.parent / VALID_FILE for path in inputs), *around.files]
        if spec.truth is not None:
            read.append(spec.truth)
        # Inside, the task's scratch folder on the node is seen as /tmp.
        env = {stamp.IMAGE_VARIABLE: chosen.sha256, "TMPDIR": "/tmp", **around.variables}
        if chosen.git_commit is not None:
            env[stamp.COMMIT_VARIABLE] = chosen.git_commit
        options = [*OPTIONS, "--pwd", str(folder)]
        for bind in task_binds(folder, read, written):
            options += bind.option()
        return TaskOrder(
            # As the image runs alone: its runscript knows its stage.
            argv=tuple(self._engine.command("run", *options, str(chosen.path), *arguments)),
            env=env,
            container=ContainerOrder(
                passed=(
                    *(*stamp.SLURM_VARIABLES, *stamp.THREAD_VARIABLES, *AMD_VARIABLES),
                    # By which network ranks meet, where somebody had to say so.
                    *(NETWORK_VARIABLES if stage.meets else ()),
                ),
                gpu=spec.device == "cuda",
                scratch_prefix=scratch_prefix(self._run),
            ),
        )
