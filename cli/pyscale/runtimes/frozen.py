"""The images of a run: verified before it begins, and the same until it ends."""

from __future__ import annotations

import os
from pathlib import Path

from pyscale.console import talk
from pyscale.data.progress import Report
from pyscale.errors import UserError
from pyscale.images.catalog import catalog
from pyscale.images.content import content_sha256
from pyscale.images.engine import Engine, find_engine
from pyscale.images.labels import PREFIX, commit_of, labels_of
from pyscale.images.lockfile import ImageFolder, LockedImage, Verdict, sha256_of, verdict_on
from pyscale.planning.plan import Plan
from pyscale.runtimes.apptainer import ApptainerRuntime
from pyscale.runtimes.protocol import NativeRuntime, Runtime
from pyscale.runtimes.versions import refuse_changed_versions
from pyscale.store.containererrors import SLOW_START, unpacked_its_image, why_no_container
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import Containers, ImageFile, read_provenance
from pyscale_stages.binds import OPTIONS
from pyscale_stages.registry import load_stage


def freeze_containers(plan: Plan, report: Report) -> Containers | None:
    """Verify every image that a plan needs, all its bytes; None where it needs none."""
    # Steps of the user's own may run in an image of theirs.
    outside = [trial for trial in plan.trials if load_stage(trial.stage).runs_outside]
    of_steps = sorted({str(image) for trial in outside if (image := trial.params.get("image"))})
    if plan.settings["runtime"] == "native" and not of_steps:
        return None
    engine = find_engine()
    images = [*frozen_images(plan, report), *(_of_step(Path(one), report) for one in of_steps)]
    return Containers(engine=engine.named, images=tuple(images))


def frozen_images(plan: Plan, report: Report) -> tuple[ImageFile, ...]:
    """Verify every image that a plan needs, all its bytes."""
    names = sorted({trial.image for trial in plan.trials if trial.image is not None})
    folder = ImageFolder(Path(plan.settings["images_folder"]).absolute())
    unlocked = plan.settings["unlocked_images"]
    images = []
    for name in names:
        if os.sep in name:
            # A version by its file, which is what is meant, whatever any lock says.
            images.append(_of_step(Path(name), report).model_copy(update={"name": name}))
        else:
            images.append(_frozen(folder, name, report, unlocked=unlocked))
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


def _of_step(sif: Path, report: Report) -> ImageFile:
    """An image of the user's own, which is what is meant, whatever any lock says."""
    return _described(Verdict(name=sif.name, file=sif, state="unlocked"), report, None)


def _frozen(folder: ImageFolder, name: str, report: Report, *, unlocked: bool) -> ImageFile:
    verdict = verdict_on(folder, name, report)
    if verdict.state in {"unlocked", "changed"}:
        if not unlocked:
            raise UserError(f"{verdict.sentence}; --set unlocked_images=true runs it as it is")
    elif verdict.state != "as locked":
        raise UserError(verdict.sentence)
    known = folder.read_lock().images.get(name)
    if known is not None and known.content_sha256 != content_sha256(catalog()[name]):
        report.say(
            f"warning: the image {name} was made from other code or libraries than this pyscale "
            f"has: `pyscale image build {name}` rebuilds it"
        )
    return _described(verdict, report, known)


def _described(verdict: Verdict, report: Report, known: LockedImage | None) -> ImageFile:
    if not verdict.file.is_file():
        raise UserError(f"{verdict.file} does not exist: build or pull the image")
    stat = verdict.file.stat()
    if known is not None and verdict.state == "as locked":
        commit = known.git_commit
        labels = {
            f"{PREFIX}image": verdict.name,
            f"{PREFIX}version": known.pyscale_version,
            f"{PREFIX}lock_sha256": known.lock_sha256,
            f"{PREFIX}content_sha256": known.content_sha256,
        }
    else:
        labels = labels_of(verdict.file, find_engine())
        commit = commit_of(labels)
    return ImageFile(
        name=verdict.name,
        path=verdict.file,
        size_bytes=stat.st_size,
        modified_ns=stat.st_mtime_ns,
        sha256=verdict.sha256 or sha256_of(verdict.file, report),
        locked=verdict.state == "as locked",
        git_commit=commit,
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
