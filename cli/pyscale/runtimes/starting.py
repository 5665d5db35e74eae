"""The images of a run, the same until it ends, and how a task is started in one or without."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.executors.containernode import scratch_prefix
from pyscale.images.catalog import image_for
from pyscale.images.engine import Engine, commit_in, find_engine
from pyscale.images.lockfile import AS_LOCKED, ImageFolder, LockedImage, look, sha256_of
from pyscale.planning.plan import Plan, Trial
from pyscale.runtimes.versions import refuse_changed_versions
from pyscale.store.containererrors import SLOW_START, unpacked_its_image, why_no_container
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import Containers, ImageFile, read_provenance
from pyscale.store.records import PARAMS_FILE, RESULT_FILE, ContainerOrder, TaskOrder
from pyscale_stages.binds import OPTIONS, task_binds
from pyscale_stages.contract import TaskSpec
from pyscale_stages.errors import MissingPart
from pyscale_stages.measure import stamp
from pyscale_stages.ranks.network import INTERFACE_VARIABLE
from pyscale_stages.registry import load_stage
from pyscale_stages.validarea import VALID_FILE


def with_images(plan: Plan) -> Plan:
    """A plan whose trials name the image that each runs in, where tasks run in images."""
    # The setting `images` is refused where it is wrong, whether this run has any or not.
    trials = tuple(_in_image(plan, trial) for trial in plan.trials)
    if plan.settings["runtime"] == "native":
        return plan
    return plan.model_copy(update={"trials": trials})


def _in_image(plan: Plan, trial: Trial) -> Trial:
    stage = load_stage(trial.stage)
    # A version is an image by itself, and a step of the user's own starts one.
    if trial.image is not None or stage.runs_outside:
        return trial
    params = stage.params.model_validate(trial.params)
    image = image_for(trial.entry, stage, params, trial.device, plan.settings["images"])
    return trial.model_copy(update={"image": image})


def freeze_containers(plan: Plan) -> Containers | None:
    """Verify every image that a plan needs, all its bytes; None where it needs none."""
    # Steps of the user's own may run in an image of theirs.
    outside = [trial for trial in plan.trials if load_stage(trial.stage).runs_outside]
    of_steps = sorted({str(image) for trial in outside if (image := trial.params.get("image"))})
    if plan.settings["runtime"] == "native" and not of_steps:
        return None
    engine = None
    try:
        engine = find_engine().named
    except MissingPart:
        # Jobs may load what a login node does not have; they are told of it where they lack it too.
        if plan.site is None and plan.queue is None:
            raise
    own = (_described(Path(sif), Path(sif).name) for sif in of_steps)
    return Containers(engine=engine, images=(*frozen_images(plan), *own))


def frozen_images(plan: Plan) -> tuple[ImageFile, ...]:
    """Verify every image that a plan needs, all its bytes."""
    names = sorted({trial.image for trial in plan.trials if trial.image is not None})
    folder = ImageFolder(Path(plan.settings["images_folder"]).absolute())
    unlocked = plan.settings["unlocked_images"]
    images = []
    for name in names:
        if os.sep in name:
            # A version by its file, which is what is meant, whatever any lock says.
            images.append(_described(Path(name), name))
        else:
            images.append(_frozen(folder, name, unlocked=unlocked))
    return tuple(images)


def runtime_of(run: RunFolder) -> Runtime:
    """The runtime of a run, tried on this machine before anything is measured."""
    containers = read_provenance(run.path).containers
    refuse_changed_versions(run.plan, run.path.name)
    if containers is None:
        return NativeRuntime()
    engine = find_engine()
    for image in containers.images:
        _refuse_changed(image, run.path.name)
        _try(engine, image)
    return ApptainerRuntime(engine, {image.name: image for image in containers.images}, run.path)


def _frozen(folder: ImageFolder, name: str, *, unlocked: bool) -> ImageFile:
    found = look(folder, name, reads=True)
    if found.state in {"unlocked", "changed"}:
        if not unlocked:
            raise UserError(f"{found.sentence}; --set unlocked_images=true runs it as it is")
    elif found.state not in AS_LOCKED:
        raise UserError(found.sentence)
    elif found.sentence:
        talk(f"warning: {found.sentence}")
    return _described(found.path, name, found.lock if found.state in AS_LOCKED else None)


def _described(sif: Path, name: str, locked: LockedImage | None = None) -> ImageFile:
    """An image as a run begins with it, all of whose bytes are what the lock says, if any does."""
    if not sif.is_file():
        raise UserError(f"{sif} does not exist: build or pull the image")
    stat = sif.stat()
    # What it says of itself, which the lock knows without a container program.
    labels = {} if locked is None else locked.labels
    if locked is None:
        with suppress(MissingPart):
            labels = find_engine().labels_of(sif)
    return ImageFile(
        name=name,
        path=sif,
        size_bytes=stat.st_size,
        modified_ns=stat.st_mtime_ns,
        sha256=sha256_of(sif) if locked is None else locked.sha256,
        locked=locked is not None,
        git_commit=commit_in(labels),
        labels=labels,
    )


def _refuse_changed(image: ImageFile, run: str) -> None:
    """Raise where an image is not the one that the run began with; read it only in doubt."""
    again = "restore it, or start a new run"
    try:
        stat = image.path.stat()
    except OSError as error:
        raise UserError(
            f"the image {image.path} of the run {run} is gone ({error.strerror}): {again}"
        ) from error
    if (stat.st_size, stat.st_mtime_ns) == (image.size_bytes, image.modified_ns):
        return
    found = sha256_of(image.path)
    if found != image.sha256:
        raise UserError(
            f"{image.path} has sha256 {found[:12]}…, but the run {run} began with "
            f"{image.sha256[:12]}…: {again}"
        )


def _try(engine: Engine, image: ImageFile) -> None:
    """Start a container that does nothing, and learn from its words."""
    tried = engine.ask(*OPTIONS, str(image.path), "true")
    # An image of the user's own may hold one program alone.
    if tried.returncode != 0 and "executable file not found" not in tried.stderr:
        why = why_no_container(tried.stderr, tried.returncode)
        said = tried.stderr.strip().rpartition("\n")[2]
        raise UserError(
            f"the image {image.name} does not start here: {why or said or tried.returncode}"
        )
    if unpacked_its_image(tried.stderr):
        talk(f"warning: {SLOW_START}")


AMD_VARIABLES = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
"""GPUs of AMD that a job was given; NVIDIA's are among `THREAD_VARIABLES`."""

NETWORK_VARIABLES = (INTERFACE_VARIABLE, "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA")
"""By which a site says how ranks reach each other: through the host, and from GPU to GPU."""


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


Runtime = NativeRuntime | ApptainerRuntime
