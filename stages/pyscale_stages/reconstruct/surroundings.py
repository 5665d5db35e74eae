"""What the stage takes from the machine: the file of the denoiser's weights."""

from __future__ import annotations

from pyscale_stages.contract import Surroundings
from pyscale_stages.reconstruct.params import ReconstructParams


def weights_file(params: ReconstructParams) -> Surroundings:
    """Name the file of weights, where one is given."""
    return Surroundings(files=() if params.weights is None else (params.weights,))
