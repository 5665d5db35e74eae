"""What reconstruction needs: a projector, and the weights of a denoiser of the user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale_stages.declaration import Needs
from pyscale_stages.reconstruct.params import ReconstructParams

if TYPE_CHECKING:
    from pyscale_stages.trying import Trying


def look(params: ReconstructParams, _device: str, _here: bool) -> None:
    """Look for the weights."""
    from pyscale_stages.reconstruct.denoiser import weights_of

    weights_of(params)


def try_out(trying: Trying) -> None:
    """Reconstruct a small image."""
    size_px = 32 if trying.params.problem == "tomography_3d" else 64
    once = {"iterations": 1, "warmup_iterations": 1}
    trying.small(size_px=size_px, whole_at_one=True, gate=False, **once)


NEEDS = Needs(
    of_choice={
        ("projector", "astra"): (
            ("torch", "torchvision", "deepinv", "astra"),
            "reconstruct_astra",
        ),
    },
    deciding=("projector", "weights"),
    look=look,
    try_out=try_out,
)
