"""All that a build lays into an image, in one folder: wheels, lock, Debian packages and jars."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyscale.images.catalog import ImageDefinition
from pyscale.images.debian import fetch_debian
from pyscale.images.engine import Engine
from pyscale.images.jars import fetch_jars
from pyscale.images.wheels import fetch_wheels
from pyscale_stages.atomic import write_atomically


def fetch_parts(
    definition: ImageDefinition,
    base: Path,
    engine: Engine,
    folder: Path,
    listener: Callable[[str], None],
) -> Path:
    """Bring the parts of an image into `folder/NAME`; what is there already is kept.

    Returns: folder with `lock.txt`, `wheels/` and, where the image has such, `debian/` and `jars/`.
    """
    fetch_wheels(definition, folder, listener)
    if definition.maven:
        fetch_jars(definition, folder, listener)
    if definition.debian:
        fetch_debian(definition, base, engine, folder, listener)
    parts = folder / definition.name
    lock, copy = definition.lock_file.read_text("utf-8"), parts / "lock.txt"
    # A folder that is complete may be one that only others can write.
    if not copy.is_file() or copy.read_text("utf-8") != lock:
        parts.mkdir(parents=True, exist_ok=True)
        write_atomically(copy, lock)
    return parts
