"""A small movie of real nuclei that move, with its truth."""

import tifffile

from pyscale_stages.synth.drifted import DriftedParams, write_drifted_movie

NAMES = {"image": "img2d.tif", "labels": "mask2d.tif"}


def write_moving_nuclei(folder, shared_data, part, frames):
    """Write a part of the image as frames that drift; return the folder of the movie."""
    for name in NAMES.values():
        whole = tifffile.imread(shared_data / "stardist-nuclei" / name)
        tifffile.imwrite(folder / name, whole[part])
    params = DriftedParams(source="stardist-nuclei", **NAMES, seed=103, frames=frames)
    return write_drifted_movie(folder / "nuclei", params, folder)
