"""The reconstruct stage: one image by several ranks, and where each iteration's time goes."""

from __future__ import annotations

from pyscale_stages.contract import Resources, Stage
from pyscale_stages.declaration import Image
from pyscale_stages.libraries import OF_EXTRA
from pyscale_stages.reconstruct.needs import NEEDS
from pyscale_stages.reconstruct.params import IMAGE, ReconstructParams, files_of, method
from pyscale_stages.reconstruction import Reconstruction
from pyscale_stages.registry import later


def refuse_ranks(params: ReconstructParams, ranks: int) -> None:
    """Refuse more ranks than the image has tiles."""
    from pyscale_stages.reconstruct.ownimage import lengths_of
    from pyscale_stages.reconstruct.tiles import grid_of

    grid_of((1, *lengths_of(params)), params, ranks)


STAGE = Stage(
    name="reconstruct",
    summary="Plug-and-play reconstruction of one image by several ranks, each component timed",
    params=ReconstructParams,
    inputs=(),
    output=IMAGE,
    packages=("deepinv", "torch", "torchvision", "astra-toolbox"),
    samples=(Reconstruction,),
    determinism=(
        "The same seed, parameters and ranks give the same image on one device, apart from the "
        "order of sums; tiles change it near their borders; times differ"
    ),
    run=later("reconstruct.run", "run"),
    merge=later("reconstruct.output", "merge"),
    check=later("reconstruct.output", "check"),
    method=method,
    resources=Resources(cpus=1, memory_gib=4.0, devices=("cpu", "cuda")),
    extra="reconstruct",
    image=Image(
        OF_EXTRA["reconstruct"],
        # ASTRA computes cone beams on GPUs alone, and brings CUDA with it.
        cuda=OF_EXTRA["reconstruct_astra"],
        imports=("polars", "tifffile", "torch"),
        # Beside a CPU torch, torchvision cannot be imported by itself.
        after_code=(
            '/opt/pyscale/venv/bin/python -B -c "from pyscale_stages import torchdevice; '
            'torchdevice.make_torchvision_importable(); import deepinv"'
        ),
    ),
    modules=("torch", "torchvision", "deepinv", "tifffile"),
    folders=("ranks",),
    surroundings=files_of,
    work="shared",
    refuse_workers=refuse_ranks,
    data=("phantom",),
    needs=NEEDS,
)
