"""What registration needs: ITK with as many threads as it is told to use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyscale_stages.declaration import Needs

if TYPE_CHECKING:
    from pyscale_stages.trying import Trying


def try_out(trying: Trying) -> None:
    """Denoise a small image, and count the threads that ITK started for it."""
    import ants
    import numpy as np

    trying.step("denoise a small image with ANTs")
    before = _threads_of_this_process()
    noise = np.random.default_rng(0).random((64, 64), dtype=np.float32)
    ants.denoise_image(ants.from_numpy(noise))
    if before is None:
        trying.ok("works", "ANTs denoised a small image")
        return
    # ITK starts its pool of threads with the first filter, and never makes it smaller.
    pool = (_threads_of_this_process() or before) - before
    if pool > trying.threads:
        trying.warning(
            "works",
            f"ITK runs {pool} threads instead of {trying.threads} "
            "(ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS)",
            "look for a library that is imported earlier and sets them, as in a sitecustomize",
        )
    else:
        trying.ok("works", f"ANTs denoised a small image with {pool} ITK threads")


def _threads_of_this_process() -> int | None:
    try:
        return len(list(Path("/proc/self/task").iterdir()))
    except OSError:
        return None


NEEDS = Needs(try_out=try_out)
