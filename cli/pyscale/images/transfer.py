"""Images to a registry and back, by ORAS: what arrives is checked before it gets its name.

Steps of the user's own name images in a registry too, which become files beside the shipped ones.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from pyscale.data.progress import Report
from pyscale.errors import UserError
from pyscale.filelocks import claimed, file_lock
from pyscale.images.catalog import catalog
from pyscale.images.engine import Engine, find_engine
from pyscale.images.lockfile import (
    ImageFolder,
    LockedImage,
    folder_errors_explained,
    sha256_of,
    verify_image,
)
from pyscale.images.registrycall import Reference, call_registry
from pyscale.images.sif import ImageLabels, image_labels, read_sif, refuse_foreign
from pyscale.planning.suite import Suite
from pyscale_stages.atomic import atomic_path

ARRIVALS = ".arriving"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class PullOptions:
    """How a pull is made, and what it must bring.

    `as_name`: name that the image gets; None is the one that its labels say. `sha256`: what the SIF
    must be; None leaves that to `images.lock`. `replace`: whether an image that differs from the
    one under its name takes its place. `no_https`: whether the registry speaks plain http.
    """

    as_name: str | None = None
    sha256: str | None = None
    replace: bool = False
    no_https: bool = False


def push(
    folder: ImageFolder,
    name: str,
    target: Reference,
    engine: Engine,
    report: Report,
    *,
    no_https: bool = False,
) -> LockedImage:
    """Send an image that is as locked to a registry."""
    if target.digest is not None:
        raise UserError(f"{target} has a digest, which only the registry assigns: name a tag")
    locked = verify_image(folder, name, report)
    sif, size_bytes = folder.sif(name), locked.size_bytes
    call_registry(engine, "push", sif, target, report, no_https=no_https, size_bytes=size_bytes)
    return locked


def pull(
    folder: ImageFolder, source: Reference, engine: Engine, report: Report, options: PullOptions
) -> tuple[str, LockedImage]:
    """Fetch an image from a registry, check it, give it its name and lock it."""
    if options.as_name is not None and not _NAME.fullmatch(options.as_name):
        raise UserError(
            f"invalid image name --as {options.as_name!r}: use letters, digits, '_', '-', '.'"
        )
    if options.sha256 is not None and not _SHA256.fullmatch(options.sha256):
        raise UserError(f"invalid --sha256 {options.sha256!r}: give all of its 64 hex digits")
    with arrivals(folder, report) as place:
        sif = place / "image.sif"
        expected = folder.read_lock().images.get(options.as_name or "")
        call_registry(
            engine,
            "pull",
            sif,
            source,
            report,
            no_https=options.no_https,
            size_bytes=expected.size_bytes if expected is not None else None,
            scratch=place,
        )
        with _said_of(source, sif):
            header = read_sif(sif)
            labels = image_labels(sif, header)
            refuse_foreign(sif, header)
        sha256 = sha256_of(sif, report)
        name = _admitted(folder, source, labels, sha256, options, report=report)
        locked = LockedImage.of(sif, sha256, str(source))
        with folder_errors_explained(folder.path), atomic_path(folder.sif(name)) as temporary:
            sif.replace(temporary)
        folder.record(name, locked)
    return name, locked


def _admitted(
    folder: ImageFolder,
    source: Reference,
    labels: ImageLabels,
    sha256: str,
    options: PullOptions,
    *,
    report: Report,
) -> str:
    """Name of what arrived, if it may have it."""
    if options.sha256 is not None and sha256 != options.sha256:
        raise UserError(
            f"{source} has sha256 {sha256} instead of {options.sha256}: nothing was "
            "installed; ask whoever pushed it"
        )
    name = options.as_name or labels.image
    known = catalog().get(name)
    if known is not None and known.stage != labels.stage:
        raise UserError(
            f"{source} runs the stage {labels.stage}, but {name} is an image of {known.stage}: "
            "give it another name by --as"
        )
    locked, here, other = folder.read_lock().images.get(name), folder.sif(name), sha256
    where = f"what {folder.lock_file} says" if locked else f"the unlocked {here}"
    if locked is not None:
        other = locked.sha256
    elif here.is_file() and not options.replace:
        other = sha256_of(here, report)
    if other != sha256 and not options.replace:
        raise UserError(
            f"{source} has sha256 {sha256[:12]}…, but {where} of {name} has "
            f"{other[:12]}…: nothing was installed; add --replace to have the new one, or --as "
            "to have both"
        )
    return name


@contextmanager
def _said_of(source: Reference, sif: Path) -> Iterator[None]:
    """Let a sentence about a file that will be gone name where it came from."""
    try:
        yield
    except UserError as error:
        said = str(error).replace(str(sif), str(source))
        raise UserError(f"{said} (nothing was installed)") from error


@contextmanager
def arrivals(folder: ImageFolder, report: Report) -> Iterator[Path]:
    """A place on the images' disk that is empty before and gone afterwards.

    What a pull that was killed has left there goes with the next one.
    """
    folder.make()
    place = folder.path / ARRIVALS
    with ExitStack() as stack:
        with folder_errors_explained(folder.path):
            lock = file_lock(folder.path / f"{ARRIVALS}.busy")
            waiting = f"waiting for another pull into {folder.path}"
            stack.enter_context(claimed(lock, lambda: report.say(waiting)))
            # Called in reverse order: the place is removed before the lock is let go.
            stack.callback(shutil.rmtree, place, ignore_errors=True)
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
        yield Path(mkdtemp(dir=place))


SUBFOLDER = "steps"
HUB = "docker.io"
"""The registry that is meant where a name holds none."""
_NAMED = re.compile(
    r"(?P<scheme>docker://|oras://)(?:(?P<host>localhost(?::\d+)?|[\w-]*[.:][\w.:-]*|\[[\da-f:]+\]:\d+)/)?"
    r"(?P<path>[a-z0-9][a-z0-9._/-]*)(?::[\w.-]+)?@(?P<digest>sha256:[0-9a-f]{64})",
    re.ASCII,
)


def with_images_here(suite: Suite, images: ImageFolder, report: Report | None) -> Suite:
    """The suite with each image in a registry replaced by its file, pulled where it is absent.

    `images`: folder of the shipped images, beside which these lie. `report`: hears of a pull; None
    pulls nothing.
    """
    stages = dict(suite.stages)
    for entry, step in suite.stages.items():
        named = str(step.params.get("image", ""))
        if "://" in named:
            source = _reference(entry, named)
            pinned = str(source.digest).removeprefix("sha256:")[:16]
            sif = images.path / SUBFOLDER / f"{source.path.rpartition('/')[2]}-{pinned}.sif"
            if report is not None and not sif.is_file():
                _pull(source, sif, images, report)
            params = {**step.params, "image": str(sif), "pulled_from": named}
            stages[entry] = step.model_copy(update={"params": params})
    return suite.model_copy(update={"stages": stages})


def _reference(entry: str, named: str) -> Reference:
    found = _NAMED.fullmatch(named)
    if found is None:
        raise UserError(
            f"the image {named} of {entry} is not pinned: name it as docker://NAME@sha256:DIGEST, "
            f"or make a file of it by `apptainer pull mine.sif {named}` and name that"
        )
    # A digest says more than a tag beside it, and container programs refuse both at once.
    host = found["host"] or HUB
    return Reference(host, found["path"], digest=found["digest"], scheme=found["scheme"])


def _pull(source: Reference, sif: Path, images: ImageFolder, report: Report) -> None:
    engine = find_engine()
    with arrivals(images, report) as place:
        # Another pyscale may have pulled it while this one waited.
        if sif.is_file():
            return
        arrived = place / "image.sif"
        call_registry(engine, "pull", arrived, source, report, scratch=place)
        with folder_errors_explained(sif.parent):
            sif.parent.mkdir(exist_ok=True)
            with atomic_path(sif) as temporary:
                arrived.replace(temporary)
