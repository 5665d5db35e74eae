"""The weights of a task, and the adapter of the Cellpose version that runs them.

Weights are never downloaded: a model that Cellpose would fetch must already lie in its folder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from pyscale_stages.contract import Surroundings
from pyscale_stages.errors import BadInput, MissingPart
from pyscale_stages.libraries import how_to_install
from pyscale_stages.measure.spans import CONTAINER_VARIABLE
from pyscale_stages.segment.params import EMBEDDED_MODEL, SegmentParams, embedded_model
from pyscale_stages.torchdevice import make_torchvision_importable, read_weights
from pyscale_stages.wording import did_you_mean

if TYPE_CHECKING:
    import torch

    from pyscale_stages.segment.networks import Segmenter

Labels = npt.NDArray[Any]
State = dict[str, "torch.Tensor"]
Limits = tuple[float, float]

CELLPOSE_OF_MODEL = {EMBEDDED_MODEL: 3, "cyto3": 3, "cpsam": 4, "cpsam_v2": 4}
"""Major version of Cellpose that runs each model known by name."""
EXTRA_OF_CELLPOSE = {3: "segment", 4: "segment_cellpose4"}
IMAGE_OF_CELLPOSE = {3: "segment_cellpose3", 4: "segment"}
MODEL_FOLDER_VARIABLE = "CELLPOSE_LOCAL_MODELS_PATH"


@dataclass(frozen=True)
class Model:
    """Which weights a task uses and which major version of Cellpose runs them."""

    cellpose: int
    weights: Path
    size_weights: Path | None = None

    def build(self, device: torch.device) -> Segmenter:
        """Build the network and fill in the weights."""
        if self.cellpose == 4:
            from pyscale_stages.segment.networks import Cellpose4Segmenter

            return Cellpose4Segmenter(self.weights, device)
        from pyscale_stages.segment.networks import Cellpose3Segmenter

        return Cellpose3Segmenter(self.weights, device, self.size_weights)


def find_model(params: SegmentParams) -> Model:
    """Find what the parameters ask for on this machine; imports no library."""
    cellpose = installed_cellpose()
    refuse_other_version(params.model, CELLPOSE_OF_MODEL.get(params.model, cellpose), cellpose)
    if cellpose == 4 and params.tile_px is not None:
        raise BadInput(
            "tile_px is for Cellpose 3, and the network of Cellpose 4 takes tiles of one size "
            "alone: leave tile_px out"
        )
    weights = find_weights(params.model)
    if not params.estimate_diameter:
        return Model(cellpose, weights)
    return Model(cellpose, weights, find_size_weights(params.model, cellpose))


def installed_cellpose() -> int:
    """Major version of the installed Cellpose, which must be one that an adapter knows."""
    try:
        found = version("cellpose")
    except PackageNotFoundError as error:
        raise MissingPart(
            f"segment needs Cellpose, which is not installed here: {how_to_install('segment')}"
        ) from error
    major = int(found.partition(".")[0])
    if major not in EXTRA_OF_CELLPOSE:
        raise MissingPart(
            f"segment runs Cellpose 3 or 4, but {found} is installed: {how_to_install('segment')}"
        )
    return major


def refuse_other_version(model: str, needed: int, installed: int) -> None:
    """Raise `MissingPart` if the installed Cellpose cannot run a model."""
    if needed == installed:
        return
    if os.environ.get(CONTAINER_VARIABLE):
        image = IMAGE_OF_CELLPOSE[needed]
        remedy = f'run the image {image} (in a run of pyscale: segment = "{image}" under [images])'
    else:
        remedy = f"{how_to_install(EXTRA_OF_CELLPOSE[needed])} in a separate environment"
    raise MissingPart(
        f"the model {model} needs Cellpose {needed}, but {version('cellpose')} is installed: "
        f"{remedy}, or choose a model of Cellpose {installed}"
    )


def find_weights(model: str) -> Path:
    """Weights file of a model, by its name or its path."""
    if model == EMBEDDED_MODEL:
        return embedded_model(model)
    if model in CELLPOSE_OF_MODEL:
        path = model_folder() / model
        if path.is_file():
            return path
        raise MissingPart(
            f"the weights of {model!r} are missing, and a measured task downloads nothing: put "
            f"Cellpose's file {model!r} into {path.parent}, name a folder that has it in "
            f"{MODEL_FOLDER_VARIABLE}, or fetch cyto3 or cpsam by `pyscale data fetch` and give "
            "the path that it prints as the model"
        )
    path = Path(model).expanduser()
    if path.is_file():
        return path
    raise BadInput(
        f"unknown model {model}, and no file has this name: "
        f"{did_you_mean(model, CELLPOSE_OF_MODEL)}, or give the path of a weights file"
    )


def find_size_weights(model: str, cellpose: int = 3) -> Path:
    """File of the size model that belongs to a model, by the model's name or path."""
    if CELLPOSE_OF_MODEL.get(model, cellpose) == 4:
        raise BadInput(
            f"estimate_diameter needs a size model, which {model} of Cellpose 4 does not have: "
            "leave it out, or choose a model of Cellpose 3"
        )
    path = size_file(model)
    if path.is_file():
        return path
    raise MissingPart(
        f"the size model of {model}, which estimates diameters, is not in {path.parent}: put it "
        f"there as {path.name}, or leave estimate_diameter out"
    )


def size_file(model: str) -> Path:
    """Where the size model of a model lies, or would have to lie."""
    # Beside weights given by path it has one of the two names that Cellpose gives it.
    if model == EMBEDDED_MODEL:
        return embedded_model(model).with_name(f"{model}-size.json")
    if model in CELLPOSE_OF_MODEL:
        return model_folder() / f"size_{model}.npy"
    weights = Path(model).expanduser()
    trained = weights.with_name(f"{weights.name}_size.npy")
    published = weights.with_name(f"size_{weights.name}.npy")
    return published if published.is_file() and not trained.is_file() else trained


def import_cellpose(cellpose: int) -> None:
    """Import what the adapter of this major version needs; the slow part of a start."""
    if "cellpose.models" in sys.modules:
        return
    if cellpose == 4:
        make_torchvision_importable()
        with _without("matplotlib"):
            import_module("cellpose.models")
        return
    from pyscale_stages.segment.networks import kept_by_numba

    with kept_by_numba(), _without("matplotlib"):
        import_module("cellpose.models")


@contextmanager
def _without(library: str) -> Iterator[None]:
    """Hide a library that was not imported yet from what would import it if it is there."""
    # Cellpose has Matplotlib for figures that nobody here asks for, and images do not have it: its
    # import would take a third of a second of every task.
    if library in sys.modules:
        yield
        return
    sys.modules[library] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[library]


def model_folder() -> Path:
    """Folder where Cellpose looks for weights, by its own rule."""
    given = os.environ.get(MODEL_FOLDER_VARIABLE)
    return Path(given) if given else Path.home() / ".cellpose" / "models"


def image_of(params: SegmentParams) -> str:
    """Name of the image with the Cellpose that runs a model; of a path Cellpose 3 is taken."""
    return IMAGE_OF_CELLPOSE[CELLPOSE_OF_MODEL.get(params.model, 3)]


def surroundings(params: SegmentParams) -> Surroundings:
    """Weights that do not ship with the stage, the size model's too where it is asked for."""
    if params.model == EMBEDDED_MODEL:
        return Surroundings()
    sizes = (size_file(params.model),) if params.estimate_diameter else ()
    if params.model in CELLPOSE_OF_MODEL:
        folder = model_folder()
        return Surroundings((folder / params.model, *sizes), {MODEL_FOLDER_VARIABLE: str(folder)})
    return Surroundings((Path(params.model).expanduser(), *sizes))


def read_state(path: Path, *, mapped: bool = False) -> State:
    """Read the weights of a network of Cellpose; `mapped` leaves values on the disk."""
    return read_weights(path, "name a weights file of Cellpose", mapped=mapped)


def cellpose_of_state(path: Path, state: State) -> int:
    """Major version of Cellpose whose network has these weights."""
    # Cellpose tells them apart by the same key: the readout that only version 4 has.
    if "W2" in state:
        return 4
    if "output.2.weight" in state:
        return 3
    raise BadInput(f"{path} holds weights of another network: name a weights file of Cellpose")
