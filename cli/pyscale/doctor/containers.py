"""Checks of the container program, and of a suite's images: presence and lock.

Whether a container starts, and how, is found where the stages are asked in theirs.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyscale.doctor.examined import folder_of
from pyscale.errors import UserError
from pyscale.findings import Finding, ok, problem, refused, warning
from pyscale.images.engine import find_engine
from pyscale.images.listing import ListedImage, listed_images
from pyscale.images.lockfile import ImageFolder
from pyscale.planning.plan import Plan
from pyscale_stages.errors import MissingPart


def containers(plan: Plan) -> Iterator[Finding]:
    """Look for the container program and the images, where tasks run in them."""
    if plan.settings["runtime"] == "native":
        return
    try:
        engine = find_engine()
    except MissingPart as error:
        yield refused("container.engine", "", error)
    else:
        yield ok("container.engine", engine.program, engine.named)
    yield from images(plan)


def images(plan: Plan) -> Iterator[Finding]:
    """Compare what lies in the folder of images with its lock, by sizes; runs read all bytes."""
    folder = ImageFolder(folder_of(plan, "images_folder"))
    try:
        listed = {row.name: row for row in listed_images(folder)}
    except UserError as error:
        yield refused("image.lock", "", error)
        return
    named = {trial.image: None for trial in plan.trials if trial.image in listed}
    for name in filter(None, named):
        yield of_image(listed[name], unlocked=plan.settings["unlocked_images"])


def of_image(row: ListedImage, *, unlocked: bool) -> Finding:
    """Say how one image stands; `unlocked` is whether it may differ from its lock."""
    again = f"pyscale image build {row.name}, or pyscale image pull"
    if row.state == "absent":
        return problem("image.file", row.name, f"not at {row.path}", again)
    if row.state in {"unlocked", "changed on disk"}:
        finding = warning if unlocked else problem
        return finding("image.file", row.name, f"{row.path} is {row.state}", again)
    said = f"locked, sha256 {(row.sha256 or '')[:12]}…"
    if row.state == "out of date":
        older = f"{said}, but older than this pyscale: {row.because} has changed since"
        return warning("image.file", row.name, older, f"pyscale image build {row.name}")
    return ok("image.file", row.name, said)
