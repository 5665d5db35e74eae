"""The header of a SIF file: architecture, completeness, and labels that say what it is.

Read here and not asked of the container program, so that images can be listed and checked where
there is none, and those for another kind of machine too.
"""

from __future__ import annotations

import json
import os
import platform
import struct
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import Field

from pyscale.errors import UserError
from pyscale_stages.contract import Record
from pyscale_stages.errors import said_by

# Launch script, magic, version, architecture, id, created, modified; then number of free and of
# all descriptors, their offset and size, offset and size of the data. Little-endian, packed.
_HEADER = struct.Struct("<32s10s3s3s16s8q")
# Type, used, id, group, link, offset, size, size with padding, created, modified, user, group,
# name, and what is special to the type.
_DESCRIPTOR = struct.Struct("<i?IIIqqqqqqq128s384s")
_MAGIC = b"SIF_MAGIC\0"
_METADATA = b"inspect-metadata.json"
_PARTITION = 0x4004
_MOST_DESCRIPTORS = 1024
_ARCHITECTURES = {
    b"01": "i686",
    b"02": "x86_64",
    b"03": "armv7l",
    b"04": "aarch64",
    b"05": "ppc64",
    b"06": "ppc64le",
    b"11": "s390x",
    b"12": "riscv64",
}


class SifHeader(Record):
    """What a SIF file says of itself."""

    size_bytes: int = Field(description="Of the file")
    architecture: str = Field(description="Machine that it runs on, as `uname -m` tells it")
    created_utc: datetime
    labels: dict[str, str]
    runscript: str = Field(description="What `run` does; empty where there is nothing")
    help_text: str = Field(description="What `run-help` prints; empty where there is nothing")
    system_offset: int | None = Field(None, description="Where the system's squashfs begins")


def read_sif(path: Path) -> SifHeader:
    """Read the header of a SIF; UserError where it is absent, damaged, cut short or no SIF."""
    try:
        with path.open("rb") as file:
            return _read(path, file)
    except FileNotFoundError as error:
        raise UserError(f"{path} does not exist: build or pull the image") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): name a SIF file") from error
    except (struct.error, ValueError, KeyError, AttributeError, OverflowError) as error:
        raise UserError(
            f"{path} has a damaged SIF header{said_by(error)}: build or pull the image again"
        ) from error


def refuse_foreign(path: Path, header: SifHeader) -> None:
    """Raise where an image is for another kind of machine than this one."""
    here = platform.machine()
    if header.architecture != here:
        raise UserError(
            f"{path} is for {header.architecture}, but this machine is {here}: "
            f"build or pull an image for {here}"
        )


def _read(path: Path, file: BinaryIO) -> SifHeader:
    size_bytes = os.fstat(file.fileno()).st_size
    first = file.read(_HEADER.size)
    magic = first[32:42]
    # An empty file is what a copy that failed at once leaves.
    if magic != _MAGIC[: len(magic)] or (first and not magic):
        raise UserError(f"{path} is not a SIF image: name a file that was built or pulled")
    if len(first) < _HEADER.size:
        raise UserError(f"{path} is cut short: build, pull or copy it again")
    _, _, _, code, _, created_s, _, _, total, offset, _, _, _ = _HEADER.unpack(first)
    if not 0 <= total <= _MOST_DESCRIPTORS:
        raise ValueError(f"{total} descriptors")
    file.seek(offset)
    table = file.read(total * _DESCRIPTOR.size)
    usable = table[: len(table) // _DESCRIPTOR.size * _DESCRIPTOR.size]
    objects = [entry for entry in _DESCRIPTOR.iter_unpack(usable) if entry[1]]
    end = max((entry[5] + entry[6] for entry in objects), default=0)
    if len(usable) < len(table) or len(table) < total * _DESCRIPTOR.size or end > size_bytes:
        whole = f" it has {size_bytes} bytes instead of {end};" if end > size_bytes else ""
        raise UserError(f"{path} is cut short:{whole} build, pull or copy it again")
    systems = [entry[5] for entry in objects if entry[0] == _PARTITION]
    attributes: dict[str, Any] = {}
    for entry in objects:
        if entry[12].rstrip(b"\0") == _METADATA:
            file.seek(entry[5])
            attributes = json.loads(file.read(entry[6]))["data"]["attributes"]
    return SifHeader(
        size_bytes=size_bytes,
        architecture=_ARCHITECTURES.get(code.rstrip(b"\0"), "an unknown architecture"),
        created_utc=datetime.fromtimestamp(created_s, UTC),
        labels=attributes.get("labels") or {},
        runscript=attributes.get("runscript") or "",
        help_text=attributes.get("helpfile") or "",
        system_offset=systems[0] if systems else None,
    )


UNKNOWN = "unknown"
"""What a label says where a fact is not known."""
PREFIX = "org.pyscale."
"""What the names of pyscale's own labels begin with; `containers/stage.def` gives them."""
# Written by the program that built the image.
_ENGINES = {
    "org.label-schema.usage.apptainer.version": "apptainer",
    "org.label-schema.usage.singularity.version": "singularity-ce",
}


class ImageLabels(Record):
    """What an image of pyscale says of itself."""

    image: str = Field(description="Name of the image")
    stage: str = Field(description="Stage that it runs")
    version: str = Field(description="Version of pyscale")
    git_commit: str | None = Field(description="Of the stage code, where it is known")
    lock_sha256: str = Field(description="Of the Python lock")
    content_sha256: str = Field(description="Of all that it was built from")
    engine: str = Field(description="Program and version that built it")


def image_labels(sif: Path, header: SifHeader) -> ImageLabels:
    """Labels of an image of pyscale."""
    labels = header.labels
    own = {
        name: labels.get(PREFIX + name, "") for name in ImageLabels.model_fields if name != "engine"
    }
    absent = [PREFIX + name for name, value in own.items() if not value and name != "git_commit"]
    if absent:
        raise UserError(
            f"{sif} is not an image of pyscale (no label {absent[0]}): name one that `pyscale "
            "image build` made"
        )
    engines = [f"{name} {labels[label]}" for label, name in _ENGINES.items() if label in labels]
    commit = own["git_commit"]
    known = {**own, "git_commit": None if commit in {"", UNKNOWN} else commit}
    return ImageLabels(**known, engine=", ".join(engines) or UNKNOWN)
