"""The Python packages that stages compute with, and the command that installs them.

The extras of pyproject.toml name the same; an image, which has none of its metadata, needs them
here.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable

from pyscale_stages.measure.spans import CONTAINER_VARIABLE

EVERY_STAGE = (
    "imagecodecs>=2025.8",
    "numpy>=2.0",
    "nvidia-ml-py>=12.560",
    "polars>=1.30",
    "psutil>=6",
    "pydantic>=2.10",
    "scipy>=1.14.1",
    "tifffile>=2025.5.10",
    "zarr>=3.1.6,<4",
)
"""Packages that stages need whatever they compute; modules have the same names, but for NVML's."""
SCIPY, ZARR = (one for one in EVERY_STAGE if one.startswith(("scipy", "zarr")))
IN_EVERY_IMAGE = tuple(one for one in EVERY_STAGE if one not in {SCIPY, ZARR})
"""Packages of every image: SciPy and Zarr are in those whose stages use them."""
TORCH = "torch==2.13.0"
MOST = ("numpy<2.1", "scipy<1.16")
"""What an environment with all stages can use: Cellpose 3 and ANTsPy set these limits."""
OF_EXTRA: dict[str, tuple[str, ...]] = {
    "register_denoise": ("antspyx==0.6.3", "pywavelets==1.9.0"),
    "segment": ("cellpose==3.1.1.3",),
    "segment_cellpose4": ("cellpose==4.2.1.1",),
    "contact": ("pyclesperanto==0.25.1",),
    "track": ("laptrack==0.17.0", "py-ctcmetrics==1.3.3"),
    "track_trackmate": ("pyimagej==1.8.0",),
    "storage": ("mrcfile==1.5.4",),
    "decompress": ("mrcfile==1.5.4",),
    "kernels": (TORCH,),
    "loader": (
        "opencv-python-headless>=4.10",
        "openslide-bin==4.0.1.2",
        "openslide-python==1.4.7",
        "pillow>=10",
        "tiffslide==3.0.1",
        TORCH,
        "wsistream==0.1.6",
    ),
    "reconstruct": ("deepinv==0.5.0", TORCH, "torchvision==0.28.0"),
    "reconstruct_astra": ("astra-toolbox==2.5.0",),
}
"""Packages of each extra, beside those of every stage."""
IMAGE_AGAIN = "build or pull the image again"
"""The remedy in an image, which pip cannot change."""


def how_to_install(extra: str = "", missing: Iterable[str] = (), *, again: bool = False) -> str:
    """The command line that helps where libraries are absent or broken; in an image another."""
    # pyscale is not named with an extra: the package index knows another project by that name.
    if os.environ.get(CONTAINER_VARIABLE):
        return IMAGE_AGAIN
    shared = {re.split("[<=>]", requirement)[0]: requirement for requirement in EVERY_STAGE}
    absent = {module.partition(".")[0] for module in missing}
    packages = OF_EXTRA.get(extra, ())
    if absent and absent <= shared.keys():
        packages = tuple(shared[name] for name in sorted(absent))
    options = []
    if again:
        options.append("--force-reinstall")
        # pip takes the newest of what others need, unless it is told which the stages can use.
        packages += MOST
    return shlex.join(["pip", "install", *options, *(packages or EVERY_STAGE)])


def top_level(modules: Iterable[str]) -> tuple[str, ...]:
    """Packages that modules lie in, each once."""
    return tuple(dict.fromkeys(name.partition(".")[0] for name in modules))
