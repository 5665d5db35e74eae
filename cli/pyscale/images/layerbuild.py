"""Layers of images: the folders that they are made and kept in, and how one is made.

A layer's file name holds the hash of what it is made from, so a layer that is there is right.
Whoever makes one holds its claim: others wait, and then find it made.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import BaseFileLock, Timeout

from pyscale.errors import UserError
from pyscale.filelocks import claimed, file_lock
from pyscale.images.buildlog import BuildEvent, BuildLog, Layer, Listener
from pyscale.images.content import hash_of_words, lay_out, shared_files
from pyscale.images.engine import Engine
from pyscale.images.enginebuild import Builds
from pyscale_stages.errors import ResourceExhausted

HASH_LETTERS = 12


class Workshop:
    """The folders in which images are built, all inside the folder of images.

    `engine`: the container program, whose own setting for temporary files is followed.
    """

    def __init__(self, images: Path, engine: Engine) -> None:
        self.layers = images / "layers"
        self.logs = images / "logs"
        self.parts = images / "parts"
        self._places = images / "building"
        # A shared filesystem often refuses the ids of a build, so a user may name a local disk.
        elsewhere = os.environ.get(f"{engine.option_prefix}TMPDIR")
        own = hash_of_words((str(images.resolve()),))[:HASH_LETTERS]
        self._scratches = Path(elsewhere) / f"pyscale-{own}" if elsewhere else self._places
        self._engine = engine

    def layer(self, name: str, sha256: str) -> Path:
        """File of a layer that is made from what has this hash."""
        return self.layers / f"{name}-{sha256[:HASH_LETTERS]}.sif"

    def claim(self, name: str, waiting: Callable[[], None]) -> AbstractContextManager[None]:
        """Be the only one who makes what has this name; tell when another is waited for."""
        return claimed(self._lock(name), waiting)

    @contextmanager
    def place(self, name: str) -> Iterator[tuple[Path, Path]]:
        """Yield an empty folder for results and one for scratch; both vanish with the block.

        For the holder of the claim on this name: what a killed build left is removed first.
        """
        folder, scratch = self._places / name, self._scratches / f"{name}.scratch"
        for path in (folder, scratch):
            self._remove(path)
            path.mkdir(parents=True)
        try:
            yield folder, scratch
        finally:
            for path in (folder, scratch):
                self._remove(path)

    def install(self, made: Path, final: Path) -> None:
        """Give a file that is complete its final name, once it is on the disk."""
        with made.open("rb") as file:
            os.fsync(file.fileno())
        final.parent.mkdir(parents=True, exist_ok=True)
        made.replace(final)

    def tidy(self, wanted: set[Path]) -> None:
        """Remove layers that are none of `wanted`, and what killed builds left.

        What another process is making now is left alone.
        """
        stale = {path.stem: path for path in self.layers.glob("*.sif") if path not in wanted}
        left = {path.name.removesuffix(".scratch") for path in self._places.glob("*")}
        left |= {path.name.removesuffix(".scratch") for path in self._scratches.glob("*")}
        for name in stale.keys() | left:
            lock = self._lock(name)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                continue
            try:
                if name in stale:
                    stale[name].unlink(missing_ok=True)
                self._remove(self._places / name)
                self._remove(self._scratches / f"{name}.scratch")
            finally:
                lock.release()

    def _lock(self, name: str) -> BaseFileLock:
        self.layers.mkdir(parents=True, exist_ok=True)
        return file_lock(self.layers / f".{name}.busy")

    def _remove(self, path: Path) -> None:
        """Remove a folder, also files of the users that an unpacked image has."""
        if not path.exists():
            return
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        command = ["unshare", "--map-root-user", "--map-auto", "rm", "-rf", str(path)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise UserError(
                f"{path} holds leftovers of a killed build that belong to users of the image: "
                f"remove it by `{' '.join(command)}` (util-linux 2.38), or as root"
            ) from error


@contextmanager
def full_disk_explained(folder: Path) -> Iterator[None]:
    """Name the folder whose disk filled up, which the error of a write does not tell."""
    try:
        yield
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        raise ResourceExhausted(
            f"the disk of {folder} filled up during the build: free space there and build again"
        ) from error


@dataclass(frozen=True)
class Recipe:
    """How one layer is made.

    `layer`: which part of it. `name`: name of the layer, which its log begins with.
    `definition_file`: what the container program builds.
    """

    image: str
    layer: Layer
    name: str
    definition_file: Path


@dataclass(frozen=True)
class Ingredients:
    """Values of a definition's variables.

    `files`: SIFs and folders. The definition names them by links beside each other, so that no path
    of this machine gets into the image. `words`: everything else.
    """

    files: Mapping[str, Path]
    words: Mapping[str, str] = field(default_factory=dict)


class LayerBuilder:
    """Builds layers; each call of `pyscale image build` has one.

    `engine`: the container program. `workshop`: where layers are made and kept. `listener`: hears
    what happens. `anew`: whether cached layers are made again, each once.
    """

    def __init__(
        self, engine: Engine, workshop: Workshop, listener: Listener, *, anew: bool
    ) -> None:
        self.engine = engine
        self.workshop = workshop
        self._listener = listener
        self.anew = anew
        self._builds = Builds(engine)
        self.used: set[Path] = set()

    def end(self) -> None:
        """End what is being built, in whichever thread."""
        self._builds.end()

    def cached(
        self,
        recipe: Recipe,
        sha256: str,
        ingredients: Callable[[Callable[[str], None]], Ingredients],
    ) -> Path:
        """Return the file of a layer, which is built where it is not cached.

        `ingredients`: fetches and names what it is made of; called only where there is something to
        build, with what hears each thing that is done.
        """
        file = self.workshop.layer(recipe.name, sha256)
        if self._is_usable(file):
            return file
        with self.place(recipe, file.stem) as (place, scratch):
            # Another process may have made it while this one waited.
            if not self._is_usable(file):
                made = self.build(recipe, ingredients(self.hear(recipe)), place, scratch)
                self.workshop.install(made, file)
                self.used.add(file)
        return file

    @contextmanager
    def place(self, recipe: Recipe, key: str) -> Iterator[tuple[Path, Path]]:
        """Folders to make something in, which nobody else makes meanwhile."""
        waiting = BuildEvent(recipe.image, recipe.layer, "waiting")
        with (
            self.workshop.claim(key, lambda: self._listener(waiting)),
            self.workshop.place(key) as folders,
        ):
            yield folders

    def build(self, recipe: Recipe, made_of: Ingredients, place: Path, scratch: Path) -> Path:
        """Build a recipe in its place, with its log; return the SIF."""
        self._listener(BuildEvent(recipe.image, recipe.layer, "started"))
        variables, made = dict(made_of.words), place / "made.sif"
        for name, path in made_of.files.items():
            variables[name] = f"{name}.sif" if path.suffix == ".sif" else name
            if path.parent != place:
                (place / variables[name]).symlink_to(path.absolute())
        lay_out(shared_files(), place / "containers")
        variables["containers"] = "containers"
        with BuildLog(self.workshop.logs, recipe.name) as log:
            file, hear = recipe.definition_file, self.hear(recipe)
            self._builds.build(file, variables, made, scratch, log=log, hear=hear)
        self._listener(BuildEvent(recipe.image, recipe.layer, "finished"))
        return made

    def hear(self, recipe: Recipe) -> Callable[[str], None]:
        """What hears each line of what is done for a recipe."""
        return lambda line: self._listener(BuildEvent(recipe.image, recipe.layer, "said", line))

    def _is_usable(self, file: Path) -> bool:
        usable = file in self.used or (file.is_file() and not self.anew)
        if usable:
            self.used.add(file)
        return usable
