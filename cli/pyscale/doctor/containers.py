"""Checks of this machine's container program, and of a suite's images: presence and lock."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from pyscale.doctor.findings import Finding, beside_the_point, ok, refused, warning
from pyscale.doctor.subject import Subject
from pyscale.errors import UserError
from pyscale.images.engine import PROGRAM, Engine, find_engine
from pyscale.images.lacks import lack_of_user_namespaces, lacks_for_building
from pyscale.images.lockfile import FoundImage, ImageFolder, look
from pyscale.processes import ran
from pyscale_stages.errors import MissingPart

FUSE = Path("/dev/fuse")
_MOUNTERS = ("squashfuse_ll", "squashfuse")


def containers(subject: Subject) -> Iterator[Finding]:
    """Look at the container program, and at how it may start images as this user."""
    needed = subject.runtime == "apptainer"
    missing = missing_engine()
    if missing is not None:
        other = f"{missing.sentence}; --runtime native needs none"
        yield missing if needed else beside_the_point(missing.check, other, missing.remedy)
        return
    engine = find_engine()
    setuid = installed_setuid(engine)
    how = "setuid" if setuid else "without setuid, in user namespaces"
    said = f"{engine.named} at {engine.program}, installed {how}"
    yield ok("container.engine", said)
    if not setuid:
        yield user_namespaces(lack_of_user_namespaces(), needed=needed)
        yield fuse(FUSE, engine, needed=needed)
    yield from building()


def missing_engine() -> Finding | None:
    """Problem with the container program; None where it is there and answers."""
    try:
        find_engine()
    except MissingPart as error:
        return refused("container.engine", error)
    return None


def installed_setuid(engine: Engine) -> bool:
    """Whether the program was installed to mount images as root for any user."""
    told = ran([engine.program, "buildcfg"]).stdout
    places = dict(line.partition("=")[::2] for line in told.splitlines())
    starter = Path(places.get("LIBEXECDIR", "/usr/libexec")) / PROGRAM / "bin" / "starter-suid"
    return starter.is_file() and bool(starter.stat().st_mode & stat.S_ISUID)


def user_namespaces(lack: str | None, *, needed: bool) -> Finding:
    """Say whether images can be started in a user namespace, which is really made."""
    check = "container.user_namespaces"
    if lack is None:
        return ok(check, "user namespaces work")
    found = refused(check, lack)
    return found if needed else warning(check, found.sentence, found.remedy)


def building() -> Iterator[Finding]:
    """Say whether images can be built here; they can also be built elsewhere and pulled."""
    lacks = lacks_for_building(debootstrap=True)
    # This has a check of its own.
    lacks.pop("user_namespaces", None)
    if not lacks:
        yield ok("container.building", "images can be built here")
    for part, lack in lacks.items():
        found = refused(f"container.building.{part}", lack)
        yield beside_the_point(found.check, found.sentence, found.remedy)


def fuse(device: Path, engine: Engine, *, needed: bool) -> Finding:
    """Open the device by which images are mounted without root."""
    check = "container.fuse"
    try:
        os.close(os.open(device, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        reason = f"{device}: {(error.strerror or '').lower()}"
    else:
        # The program looks for helpers in its own folder of them first.
        own = Path(engine.program).resolve().parents[1] / "libexec" / "apptainer" / "bin"
        path = [str(own), os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"]
        if any(shutil.which(name, path=os.pathsep.join(path)) for name in _MOUNTERS):
            return ok(check, "images are mounted by FUSE")
        reason = "no squashfuse"
    sentence = (
        f"images cannot be mounted by FUSE ({reason}): each start would unpack the whole image, "
        "which counts as container_start"
    )
    remedy = "install squashfuse, and make /dev/fuse readable and writable for all users (mode 666)"
    no = warning(check, sentence, remedy)
    return no if needed else beside_the_point(check, sentence, remedy)


def images(subject: Subject) -> Iterator[Finding]:
    """Compare what lies in the folder of images with its lock, by headers and sizes.

    What all the bytes are is read once by every run, and by `pyscale image verify`.
    """
    folder = ImageFolder(subject.images_folder)
    for name in subject.image_names():
        try:
            found = of_image(look(folder, name), unlocked=subject.unlocked_images)
        except UserError as error:
            yield refused("image.lock", error)
            return
        if subject.runtime == "native" and found.status != "ok":
            found = beside_the_point(found.check, found.sentence, found.remedy)
        yield found


def of_image(image: FoundImage, *, unlocked: bool) -> Finding:
    """Say how one image stands; `unlocked` is whether it may differ from its lock."""
    found = refused(f"image.{image.name}", image.sentence)
    if image.state == "current":
        said = f"{image.path.name} exists and is locked ({(image.size_bytes or 0) / 1e6:.0f} MB)"
        return ok(found.check, said)
    runs = image.state == "out of date" or (unlocked and image.state in {"unlocked", "changed"})
    return warning(found.check, found.sentence, found.remedy) if runs else found
