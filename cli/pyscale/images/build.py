"""Building images: base, libraries and stage code, each only where it has changed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import psutil
from pydantic import Field

from pyscale import DISTRIBUTION
from pyscale.images import content
from pyscale.images.buildlog import BuildEvent, Listener
from pyscale.images.catalog import ImageDefinition, catalog, definition_file
from pyscale.images.engine import find_engine, lacks_for_building
from pyscale.images.enginebuild import Builds
from pyscale.images.layerbuild import (
    LayerBuilder,
    Recipe,
    Variables,
    Workshop,
)
from pyscale.images.listing import is_current
from pyscale.images.lockfile import ImageFolder, LockedImage, folder_errors_explained, sha256_of
from pyscale.images.partlocks import debian_packages, debian_text
from pyscale.images.parts import fetch_parts
from pyscale.images.sif import UNKNOWN
from pyscale.store.provenance import code_commit
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.errors import MissingPart
from pyscale_stages.measure.cpus import usable_cpus

NEEDED_BYTES = {"cpu": 8 * 2**30, "cuda": 30 * 2**30}
"""Wheels, unpacked image and its two compressed copies, by what the libraries are built for."""

UNPACKED = 6
"""Space that a build takes for each byte of a libraries layer: unpacked, and two copies."""

MOST_AT_ONCE = 2
"""Installing and compiling take one core; compression takes all."""
MEMORY_OF_EACH = 4 * 2**30
"""What an import of torch and a compression take, with room."""


class BuildOptions(Record):
    """Where a build takes its parts from."""

    base: str | None = Field(
        None, description="Image docker://NAME@sha256:DIGEST, or SIF, that images stand on"
    )
    mirror: str | None = Field(None, description="Mirror of Debian; None is that of this machine")
    wheels: Path | None = Field(
        None, description="Folder that holds the wheels, so that none is fetched"
    )
    force: bool = Field(False, description="Build also what is current, with all its layers")


class BuiltImage(Record):
    """An image that is there after a build."""

    name: str
    sif: Path
    size_bytes: int
    sha256: str
    wall_s: float | None = Field(description="Time of its build; None where it was current")


def build(
    definitions: Sequence[ImageDefinition],
    folder: ImageFolder,
    options: BuildOptions,
    listener: Listener,
) -> list[BuiltImage]:
    """Build those images that are not current, and lock them."""
    base = content.choose_base(options.base, options.mirror)
    stale = [d for d in definitions if options.force or not is_current(folder, d)]
    if not stale:
        return [_current(folder, definition, listener) for definition in definitions]
    builds = Builds(find_engine())
    workshop = Workshop(folder.path, builds.engine)
    _refuse_what_is_lacking(stale, base, folder, workshop)
    folder.make()
    with folder_errors_explained(folder.path):
        telling = threading.Lock()

        def tell(event: BuildEvent) -> None:
            with telling:
                listener(event)

        layers = LayerBuilder(builds, workshop, tell, anew=options.force)

        def make(definition: ImageDefinition) -> BuiltImage:
            if definition not in stale:
                return _current(folder, definition, tell)
            start_s = time.monotonic()
            libraries = _libraries(definition, base, options.wheels or workshop.parts, layers)
            _image(definition, libraries, folder, layers)
            return _built(folder, definition, time.monotonic() - start_s)

        pool = ThreadPoolExecutor(_at_once())
        try:
            built = list(pool.map(make, definitions))
        except BaseException:
            # A Ctrl-C reaches this thread alone.
            pool.shutdown(wait=False, cancel_futures=True)
            builds.end()
            raise
        finally:
            # Waits for the threads, which still remove their folders.
            pool.shutdown()
        workshop.tidy(layers.used | _usual_layers(workshop))
    return built


def _at_once() -> int:
    """How many images are built at the same time."""
    fit = psutil.virtual_memory().available // MEMORY_OF_EACH
    return max(1, min(MOST_AT_ONCE, len(usable_cpus()), fit))


def _refuse_what_is_lacking(
    stale: Sequence[ImageDefinition], base: content.Base, folder: ImageFolder, workshop: Workshop
) -> None:
    """Raise before anything is started where this machine cannot build."""
    needed = []
    for definition in stale:
        recipe = _libraries_recipe(definition)
        libraries = workshop.layer(recipe.name, _libraries_key(definition, base))
        cached = libraries.stat().st_size if libraries.is_file() else None
        needed.append(UNPACKED * cached if cached else NEEDED_BYTES[definition.device])
    base_is_made = workshop.layer("base", base.sha256).is_file()
    lacks = lacks_for_building(
        folder.path,
        # The largest that may be built at once.
        sum(sorted(needed)[-_at_once() :]),
        debootstrap=base.origin == "debootstrap" and not base_is_made,
    )
    if lacks:
        raise MissingPart(str(lacks[0]))


def _libraries(
    definition: ImageDefinition, base: content.Base, parts: Path, layers: LayerBuilder
) -> Path:
    """Layer with an image's libraries, on the base."""

    def variables(hear: Callable[[str], None]) -> Variables:
        sif = base.file
        if base.origin != "given":
            recipe = Recipe(definition.name, "base", base.file)
            sif = layers.cached(recipe, base.sha256, lambda _: base.variables())
        return {"base": sif, "parts": fetch_parts(definition, sif, layers.engine, parts, hear)}

    return layers.cached(_libraries_recipe(definition), _libraries_key(definition, base), variables)


def _image(
    definition: ImageDefinition, libraries: Path, folder: ImageFolder, layers: LayerBuilder
) -> None:
    """Add the stage's code to its libraries; install the image and lock it."""
    recipe = Recipe(definition.name, "image", definition_file("stage"))
    with layers.place(recipe, definition.name) as (place, scratch):
        if not layers.anew and is_current(folder, definition):
            return  # Another process made it while this one waited.
        labels = {
            "image": definition.name,
            "stage": definition.stage,
            "version": version(DISTRIBUTION),
            "git_commit": code_commit() or UNKNOWN,
            "lock_sha256": content.file_sha256(definition.lock_file),
            "content_sha256": content.content_sha256(definition),
        }
        content.lay_out(content.code_files(definition.stage), place / "code")
        files = {"libraries": libraries, "code": place / "code"}
        made = layers.build(recipe, {**files, **labels}, place, scratch)
        locked = LockedImage.of(made, sha256_of(made))
        layers.workshop.install(made, folder.sif(definition.name))
        packages = debian_packages(folder.sif(definition.name), layers.engine)
        write_atomically(folder.debian_list(definition.name), debian_text(packages))
        # Last, so that an image which a killed build left is not taken for a current one.
        folder.record(definition.name, locked)


def _current(folder: ImageFolder, definition: ImageDefinition, listener: Listener) -> BuiltImage:
    listener(BuildEvent(definition.name, "image", "current"))
    return _built(folder, definition, None)


def _built(folder: ImageFolder, definition: ImageDefinition, wall_s: float | None) -> BuiltImage:
    locked = folder.read_lock().images[definition.name]
    return BuiltImage(
        name=definition.name,
        sif=folder.sif(definition.name),
        size_bytes=locked.size_bytes,
        sha256=locked.sha256,
        wall_s=wall_s,
    )


def _libraries_recipe(definition: ImageDefinition) -> Recipe:
    return Recipe(definition.name, "libraries", definition.definition_file)


def _libraries_key(definition: ImageDefinition, base: content.Base) -> str:
    """Hash of all that the layer is made from; the definitions say all of a usual base."""
    own = content.libraries_sha256(definition)
    return own if base.origin == "debootstrap" else content.hash_of_words((own, base.sha256))


def _usual_layers(workshop: Workshop) -> set[Path]:
    """Layers that the images of today stand on, where no other base is asked for."""
    base = content.choose_base(None, None)
    wanted = {workshop.layer("base", base.sha256)}
    for definition in catalog().values():
        # An image that cannot be built here has no lock yet, or no definition.
        if definition.lock_file.is_file() and definition.definition_file.is_file():
            key = _libraries_key(definition, base)
            wanted.add(workshop.layer(_libraries_recipe(definition).name, key))
    return wanted
