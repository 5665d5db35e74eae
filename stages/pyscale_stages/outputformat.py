"""Formats of the frames that stages write."""

from __future__ import annotations

from typing import Literal

OutputFormat = Literal["ome-tiff", "ome-zarr"]
ENDINGS: dict[str, str] = {"ome-tiff": ".ome.tif", "ome-zarr": ".ome.zarr"}
"""What names of outputs end with."""
