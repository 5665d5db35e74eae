"""Movies in files as people have them."""

import numpy as np
import tifffile

SHAPE_YX = (64, 64)


def noise(*leading, dtype="uint16"):
    """Frames of noise, the same for the same axes."""
    return np.random.default_rng(1).integers(0, 200, (*leading, *SHAPE_YX)).astype(dtype)


def write_set(folder, frames):
    """Write an OME-TIFF of one file a frame, each of which knows the others."""
    folder.mkdir()
    planes = "".join(
        f'<TiffData FirstT="{t}" IFD="0" PlaneCount="1">'
        f'<UUID FileName="t{t}.ome.tif">urn:uuid:{t:032}</UUID></TiffData>'
        for t in range(len(frames))
    )
    height, width = SHAPE_YX
    for t, frame in enumerate(frames):
        xml = (
            '<?xml version="1.0" encoding="UTF-8"?>'
            '<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" '
            f'UUID="urn:uuid:{t:032}"><Image ID="Image:0"><Pixels ID="Pixels:0" '
            f'DimensionOrder="XYZCT" Type="uint16" SizeX="{width}" SizeY="{height}" SizeZ="1" '
            f'SizeC="1" SizeT="{len(frames)}"><Channel ID="Channel:0:0" SamplesPerPixel="1"/>'
            f"{planes}</Pixels></Image></OME>"
        )
        tifffile.imwrite(folder / f"t{t}.ome.tif", frame, description=xml, metadata=None)
    return folder
