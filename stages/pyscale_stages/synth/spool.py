"""Frames on their way into compressed files."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from pyscale_stages.atomic import atomic_path
from pyscale_stages.moviewriter import write_movie


class FrameSpool:
    """Stacks of frames that grow together, kept on disk so that memory stays bounded.

    A compressed OME-TIFF is written in one go, but the files of a movie are rendered side by
    side. When the block ends without an error, each stack becomes an OME-TIFF; in any case
    nothing of the spool stays behind.

    `folder`: where the files go, and the raw frames until then.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Written, not mapped: a full disk is then an error and not a fatal signal.
        self._raw_files: dict[str, BinaryIO] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}

    def __enter__(self) -> FrameSpool:
        return self

    def append(self, name: str, image: npt.NDArray[np.uint16]) -> None:
        """Add a frame, shape (Y, X) or (C, Y, X), to the stack of file `name`."""
        if name not in self._raw_files:
            raw = self._raw_path(name)
            raw.parent.mkdir(parents=True, exist_ok=True)
            self._raw_files[name] = raw.open("wb")
            self._shapes[name] = image.shape
        self._raw_files[name].write(np.ascontiguousarray(image).data)

    def __exit__(self, error: object, *_: object) -> None:
        try:
            if error is None:
                for name, shape in self._shapes.items():
                    self._compress(name, shape)
        finally:
            for name, raw_file in self._raw_files.items():
                raw_file.close()
                self._raw_path(name).unlink(missing_ok=True)

    def _compress(self, name: str, shape: tuple[int, ...]) -> None:
        self._raw_files[name].close()
        raw = self._raw_path(name)
        stack = np.memmap(raw, np.uint16, "r").reshape(-1, *shape)
        with atomic_path(self._folder / name) as path:
            write_movie(path, stack, "TYX" if stack.ndim == 3 else "TCYX")
        raw.unlink()

    def _raw_path(self, name: str) -> Path:
        return self._folder / f"{name}.raw"
