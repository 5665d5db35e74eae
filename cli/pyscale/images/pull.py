"""Images from a registry: what arrives is checked before it gets its name.

Steps of the user's own name images in a registry too, which become files beside the shipped ones.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree

from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.filelocks import claimed, file_lock
from pyscale.images.catalog import catalog
from pyscale.images.engine import Engine, find_engine
from pyscale.images.labels import PREFIX, commit_of, labels_of
from pyscale.images.lockfile import ImageFolder, LockedImage, folder_errors_explained, sha256_of
from pyscale.planning.suite import Suite
from pyscale.settings import without_login

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
"""Names that machines give themselves, by those of container programs."""


@dataclass(frozen=True)
class PullOptions:
    """How a pull is made, and what it must bring.

    `as_name`: name that the image gets; None is the one that its labels say. `sha256`: what the SIF
    must be. `replace`: whether an image that differs from the one under its name takes its place.
    `no_https`: whether the registry speaks plain http.
    """

    as_name: str | None = None
    sha256: str | None = None
    replace: bool = False
    no_https: bool = False


def pull(
    folder: ImageFolder, source: str, engine: Engine, options: PullOptions
) -> tuple[str, LockedImage]:
    """Fetch an image from a registry, check it, give it its name and lock it."""
    if not source.startswith("oras://"):
        raise UserError(
            f"{without_login(source)!r} is not a registry address: write oras://HOST/PATH:TAG"
        )
    if options.as_name is not None and not _NAME.fullmatch(options.as_name):
        raise UserError(
            f"invalid image name --as {options.as_name!r}: use letters, digits, '_', '-', '.'"
        )
    if options.sha256 is not None and not _SHA256.fullmatch(options.sha256):
        raise UserError(f"invalid --sha256 {options.sha256!r}: give all of its 64 hex digits")
    with _arrivals(folder) as place:
        sif = _fetch(source, place, engine, *(["--no-https"] if options.no_https else []))
        labels = labels_of(sif, engine)
        locked = LockedImage(
            sha256=sha256_of(sif),
            size_bytes=sif.stat().st_size,
            content_sha256=labels.get(f"{PREFIX}content_sha256", ""),
            pyscale_version=labels.get(f"{PREFIX}version", ""),
            git_commit=commit_of(labels),
            lock_sha256=labels.get(f"{PREFIX}lock_sha256", ""),
            built_utc=datetime.now(UTC).replace(microsecond=0),
            engine=f"apptainer {labels.get('org.label-schema.usage.apptainer.version', '?')}",
            architecture=_architecture(labels),
            origin=without_login(source),
        )
        name = _admitted(folder, source, labels, locked.sha256, options)
        sif.replace(folder.sif(name))
        folder.record(name, locked)
    return name, locked


def _architecture(labels: dict[str, str]) -> str:
    told = labels.get("org.label-schema.build-arch", "")
    return _ARCHITECTURES.get(told, told)


def _admitted(
    folder: ImageFolder, source: str, labels: dict[str, str], sha256: str, options: PullOptions
) -> str:
    """Name of what arrived, if it may have it."""
    stage = labels.get(f"{PREFIX}stage")
    if stage is None:
        raise UserError(f"{source} is not an image of pyscale: nothing was installed")
    if options.sha256 is not None and sha256 != options.sha256:
        raise UserError(
            f"{source} has sha256 {sha256} instead of {options.sha256}: nothing was installed; ask "
            "whoever pushed it"
        )
    name = options.as_name or labels[f"{PREFIX}image"]
    known = catalog().get(name)
    if known is not None and known.stage != stage:
        raise UserError(
            f"{source} runs the stage {stage}, but {name} is an image of {known.stage}: give it "
            "another name by --as"
        )
    locked, here = folder.read_lock().images.get(name), folder.sif(name)
    other = locked.sha256 if locked else sha256_of(here) if here.is_file() else sha256
    if other != sha256 and not options.replace:
        where = folder.lock_file if locked else here
        raise UserError(
            f"{source} has sha256 {sha256[:12]}…, but {name} has {other[:12]}… ({where}): nothing "
            "was installed; add --replace to have the new one, or --as to have both"
        )
    return name


@contextmanager
def _arrivals(folder: ImageFolder) -> Iterator[Path]:
    """A place on the images' disk for one pull at a time, empty before and gone afterwards."""
    folder.make()
    place = folder.path / ".arriving"
    with folder_errors_explained(folder.path):
        lock = file_lock(folder.path / ".arriving.busy")
        with claimed(lock, lambda: talk(f"waiting for another pull into {folder.path}")):
            # What a killed one left.
            rmtree(place, ignore_errors=True)
            place.mkdir()
            try:
                yield place
            finally:
                rmtree(place, ignore_errors=True)


def _fetch(source: str, place: Path, engine: Engine, *options: str) -> Path:
    """Let the container program fetch a SIF; it tells how far it is on the terminal."""
    sif = place / "image.sif"
    command = [engine.program, "pull", "--disable-cache", *options, str(sif), source]
    environment = os.environ | {"APPTAINER_TMPDIR": str(place)}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=sys.stderr, env=environment
    ) as process:
        try:
            returncode = process.wait()
        except BaseException:
            process.terminate()
            raise
    if returncode != 0:
        raise UserError(
            f"{without_login(source)} cannot be pulled (the container program says why above): "
            "mend that, or copy its SIF as a file; for plain http set APPTAINER_NOHTTPS=true"
        )
    return sif


SUBFOLDER = "steps"
_NAMED = re.compile(
    r"(?P<scheme>docker://|oras://)(?P<host>(?:localhost(?::\d+)?|[\w-]*[.:][\w.:-]*|\[[\da-f:]+\]:\d+)/)?"
    r"(?P<path>[a-z0-9][a-z0-9._/-]*)(?::[\w.-]+)?@(?P<digest>sha256:[0-9a-f]{64})",
    re.ASCII,
)


def with_images_here(suite: Suite, images: ImageFolder, *, pulls: bool) -> Suite:
    """The suite with each image in a registry replaced by its file.

    `images`: folder of the shipped images, beside which these lie. `pulls`: whether to fetch what
    is absent.
    """
    stages = dict(suite.stages)
    for entry, step in suite.stages.items():
        named = str(step.params.get("image", ""))
        if "://" in named:
            sif = _file_of(entry, named, images, pulls=pulls)
            params = {**step.params, "image": str(sif), "pulled_from": named}
            stages[entry] = step.model_copy(update={"params": params})
    return suite.model_copy(update={"stages": stages})


def _file_of(entry: str, named: str, images: ImageFolder, *, pulls: bool) -> Path:
    found = _NAMED.fullmatch(named)
    if found is None:
        raise UserError(
            f"the image {named} of {entry} is not pinned: name it as docker://NAME@sha256:DIGEST, "
            f"or make a file of it by `apptainer pull mine.sif {named}` and name that"
        )
    pinned = found["digest"].removeprefix("sha256:")[:16]
    stem = found["path"].rpartition("/")[2]
    sif = images.path / SUBFOLDER / f"{stem}-{pinned}.sif"
    if not pulls or sif.is_file():
        return sif
    with _arrivals(images) as place:
        # Another pyscale may have pulled it while this one waited.
        if not sif.is_file():
            # A digest says more than a tag beside it, and container programs refuse both at once.
            source = f"{found['scheme']}{found['host'] or ''}{found['path']}@{found['digest']}"
            arrived = _fetch(source, place, find_engine())
            sif.parent.mkdir(exist_ok=True)
            arrived.replace(sif)
    return sif
