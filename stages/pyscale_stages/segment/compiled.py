"""Functions that Cellpose 3 compiles when it is imported, kept by numba for the next import."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

IN_IMAGE = Path("/opt/pyscale/numba")
"""Where an image has them from its build."""


@contextmanager
def kept_by_numba() -> Iterator[None]:
    """Have numba keep all that is compiled while modules are imported.

    Three functions of `cellpose.dynamics` have signatures and no cache: compiling them takes more
    than half of the CPU time of the import, in every task. What numba keeps depends on the source
    and on the processor, so that another Cellpose or node compiles its own.
    """
    _take_from_image()
    import numba

    njit = numba.njit

    def keeping(*arguments: Any, **options: Any) -> Any:
        return njit(*arguments, **({"cache": True} | options))

    numba.njit = keeping
    try:
        yield
    finally:
        numba.njit = njit


def _take_from_image() -> None:
    """Copy what the image has into a folder of this process: numba must be able to write there."""
    if os.environ.get("NUMBA_CACHE_DIR") == str(IN_IMAGE) or not IN_IMAGE.is_dir():
        return
    folder = tempfile.TemporaryDirectory(prefix="pyscale-numba-")
    atexit.register(folder.cleanup)
    shutil.copytree(IN_IMAGE, folder.name, dirs_exist_ok=True)
    os.environ["NUMBA_CACHE_DIR"] = folder.name
