"""Layers of images: the folders that they are made and kept in, and how one is made.

A layer's file name holds the hash of what it is made from, so a layer that is there is right.
Whoever makes one holds its claim: others wait, and then find it made.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import BaseFileLock, Timeout

from pyscale.errors import UserError
from pyscale.filelocks import claimed, file_lock
from pyscale.images.buildlog import BuildEvent, BuildLog, Layer, Listener
from pyscale.images.content import hash_of_words, lay_out, shared_files
from pyscale.images.engine import Engine
from pyscale.images.enginebuild import Builds

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
        # Several folders of images may have their scratch on that disk.
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
            with suppress(Timeout), lock.acquire(timeout=0):
                if name in stale:
                    stale[name].unlink(missing_ok=True)
                self._remove(self._places / name)
                self._remove(self._scratches / f"{name}.scratch")

    def _lock(self, name: str) -> BaseFileLock:
        self.layers.mkdir(parents=True, exist_ok=True)
        return file_lock(self.layers / f".{name}.busy")

    def _remove(self, path: Path) -> None:
        """Remove a folder with all that is in it."""
        if not path.exists():
            return
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        # An unpacked image has files of other users, whom this one is in a namespace alone.
        command = ["unshare", "--map-root-user", "--map-auto", "rm", "-rf", str(path)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise UserError(
                f"{path} holds leftovers of a killed build that belong to users of the image: "
                f"remove it by `{' '.join(command)}` (util-linux 2.38), or as root"
            ) from error


@dataclass(frozen=True)
class Recipe:
    """How one layer of an image is made: what the container program builds."""

    image: str
    layer: Layer
    definition_file: Path

    @property
    def name(self) -> str:
        """Name of the layer, which its file and its log begin with."""
        names = {"base": "base", "libraries": f"{self.image}-libraries", "image": self.image}
        return names[self.layer]


Variables = Mapping[str, str | Path]
"""Values of a definition's variables. It names SIFs and folders by links beside each other, so that
no path of this machine gets into the image."""


class LayerBuilder:
    """Builds layers; each call of `pyscale image build` has one.

    `builds`: the container program at work. `workshop`: where layers are made and kept. `listener`:
    hears what happens. `anew`: whether cached layers are made again, each once.
    """

    def __init__(
        self, builds: Builds, workshop: Workshop, listener: Listener, *, anew: bool
    ) -> None:
        self._builds = builds
        self.engine = builds.engine
        self.workshop = workshop
        self._listener = listener
        self.anew = anew
        self.used: set[Path] = set()

    def cached(
        self, recipe: Recipe, sha256: str, variables: Callable[[Callable[[str], None]], Variables]
    ) -> Path:
        """Return the file of a layer, which is built where it is not cached.

        `variables`: fetches and names what it is made of; called only where there is something to
        build, with what hears each thing that is done.
        """
        file = self.workshop.layer(recipe.name, sha256)
        if self._is_usable(file):
            return file
        with self.place(recipe, file.stem) as (place, scratch):
            # Another process may have made it while this one waited.
            if not self._is_usable(file):
                made = self.build(recipe, variables(self._hearer(recipe)), place, scratch)
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

    def build(self, recipe: Recipe, given: Variables, place: Path, scratch: Path) -> Path:
        """Build a recipe in its place, with its log; return the SIF."""
        self._listener(BuildEvent(recipe.image, recipe.layer, "started"))
        variables, made = {"containers": "containers"}, place / "made.sif"
        for name, value in given.items():
            if isinstance(value, str):
                variables[name] = value
                continue
            variables[name] = f"{name}.sif" if value.suffix == ".sif" else name
            if value.parent != place:
                (place / variables[name]).symlink_to(value.absolute())
        lay_out(shared_files(), place / "containers")
        with BuildLog(self.workshop.logs, recipe.name) as log:
            self._builds.build(
                recipe.definition_file,
                variables,
                made,
                scratch,
                log=log,
                hear=self._hearer(recipe),
                # No image is run from it, and it is read again at once.
                quickly=recipe.layer == "libraries",
            )
        self._listener(BuildEvent(recipe.image, recipe.layer, "finished"))
        return made

    def _hearer(self, recipe: Recipe) -> Callable[[str], None]:
        return lambda line: self._listener(BuildEvent(recipe.image, recipe.layer, "said", line))

    def _is_usable(self, file: Path) -> bool:
        usable = file in self.used or (file.is_file() and not self.anew)
        if usable:
            self.used.add(file)
        return usable
