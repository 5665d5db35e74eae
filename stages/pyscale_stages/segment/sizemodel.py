"""Size models: how Cellpose 3 estimates the diameter of the cells of a frame.

A size model is a linear regression from a network's style vector to the logarithm of the diameter.
It belongs to the weights of that network and lies beside them in a file of its own.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from pydantic import ConfigDict, Field, ValidationError, model_validator

from pyscale_stages.contract import Record
from pyscale_stages.errors import BadInput

STYLE_WIDTH = 256
"""Cellpose keeps the style vector in an array of this fixed width."""
_OF_ARRAYS = {
    (f"numpy.{core}.{module}", name)
    for core in ("core", "_core")
    for module, name in (
        ("multiarray", "_reconstruct"),
        ("multiarray", "scalar"),
        ("numeric", "_frombuffer"),
    )
} | {("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")}
"""What a pickle of arrays and numbers names, in any version of NumPy."""


class SizeWeights(Record):
    """Numbers of a diameter, `diam_mean_px * exp(slopes . (style - style_mean) + intercept)`."""

    model_config = ConfigDict(allow_inf_nan=False)

    slopes: tuple[float, ...] = Field(
        min_length=1,
        max_length=STYLE_WIDTH,
        description="Of the logarithm of the diameter against each component of the style",
    )
    style_mean: tuple[float, ...] = Field(description="Mean style of the training frames")
    intercept: float = Field(description="Mean logarithm, in multiples of diam_mean_px")
    diam_mean_px: float = Field(gt=0, description="Diameter that the network rescales cells to")

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if len(self.slopes) != len(self.style_mean):
            raise ValueError("there must be a mean for each slope")
        return self


def load_size_model(path: Path, cellpose_model: Any) -> Any:
    """Build Cellpose's size model on a loaded network; its `eval` estimates diameters in pixels."""
    from cellpose.models import SizeModel

    weights = read_size_weights(path)
    # Given the file, Cellpose would unpickle it, and a pickle can execute anything.
    size_model = SizeModel(cellpose_model)
    missing_width = STYLE_WIDTH - len(weights.slopes)
    size_model.params = {
        "A": np.pad(weights.slopes, (0, missing_width)),
        "smean": np.pad(weights.style_mean, (0, missing_width)),
        "ymean": weights.intercept,
        "diam_mean": weights.diam_mean_px,
    }
    size_model.diam_mean = weights.diam_mean_px
    return size_model


def read_size_weights(path: Path) -> SizeWeights:
    """Read a size model, pyscale's or Cellpose's; nothing in the file is executed."""
    try:
        if path.suffix == ".json":
            return SizeWeights.model_validate_json(path.read_bytes())
        with path.open("rb") as file:
            return of_cellpose(_pickled(file))
    except Exception as error:  # pickle, NumPy and pydantic each have their own kinds
        lacking = isinstance(error, ValidationError | KeyError)
        reason = "it lacks some of its numbers" if lacking else str(error).partition("\n")[0]
        raise BadInput(
            f"{path} is not a readable size model ({reason}): name the one that Cellpose 3 saved "
            "for these weights, or leave estimate_diameter out"
        ) from error


def of_cellpose(params: Any) -> SizeWeights:
    """Weights from the dictionary that Cellpose trains and saves."""
    return SizeWeights(
        slopes=tuple(np.ravel(params["A"]).tolist()),
        style_mean=tuple(np.ravel(params["smean"]).tolist()),
        intercept=float(params["ymean"]),
        diam_mean_px=float(params["diam_mean"]),
    )


class _Arrays(pickle.Unpickler):
    """Unpickles arrays and numbers, and refuses whatever else a file asks to be called."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _OF_ARRAYS:
            raise pickle.UnpicklingError(f"it would call {module}.{name}")
        return super().find_class(module, name)


def _pickled(file: BinaryIO) -> Any:
    """Content of an `.npy` file of one object, which is how Cellpose saves a dictionary."""
    version = np.lib.format.read_magic(file)  # type: ignore[no-untyped-call]
    header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    header(file)  # type: ignore[no-untyped-call]
    return _Arrays(file).load().item()
