"""The loader stage: how many patches a second storage, loader processes and ranks deliver."""

from __future__ import annotations

from pyscale_stages.contract import Resources, Slot, Stage
from pyscale_stages.declaration import Image
from pyscale_stages.libraries import OF_EXTRA, ZARR
from pyscale_stages.loader.needs import NEEDS
from pyscale_stages.loader.params import LOADING, LoaderParams, folder_of_factory, method
from pyscale_stages.loading import Loading
from pyscale_stages.registry import later

STAGE = Stage(
    name="loader",
    summary="Patches of slides per second from storage and loader processes to training",
    params=LoaderParams,
    inputs=(Slot("slides", "folder of whole-slide images, one of them, or an OME-Zarr image"),),
    output=LOADING,
    packages=("torch", "openslide-python", "openslide-bin", "tiffslide", "zarr", "wsistream"),
    samples=(Loading,),
    determinism=(
        "The same seed, parameters and ranks give the same patches if the dataset keeps to its "
        "seed, which the checksum of the first ones proves; times differ"
    ),
    run=later("loader.run", "run"),
    merge=later("loader.table", "merge"),
    check=later("loader.table", "check"),
    method=method,
    resources=Resources(cpus=2, memory_gib=8.0, devices=("cpu", "cuda")),
    extra="loader",
    image=Image((*OF_EXTRA["loader"], ZARR), cuda=()),
    modules=("torch", "cv2", "openslide", "tiffslide", "wsistream", "zarr", "polars"),
    folders=("ranks", "slides"),
    surroundings=folder_of_factory,
    work="own",
    data=("slides",),
    needs=NEEDS,
)
