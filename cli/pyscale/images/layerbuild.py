"""One layer: reused where it is cached, else built in a place of its own and installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyscale.images.buildlog import BuildEvent, BuildLog, Layer, Listener
from pyscale.images.content import lay_out, shared_files
from pyscale.images.engine import Engine
from pyscale.images.enginebuild import Builds, build_sif
from pyscale.images.workshop import Workshop


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
        self._builds = Builds()
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
            hear = self.hear(recipe)
            build_sif(
                self.engine,
                recipe.definition_file,
                variables,
                made,
                scratch,
                builds=self._builds,
                log=log,
                hear=hear,
            )
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
