"""Writes images as OME-Zarr."""

import zarr

UNITS = {"y": "micrometer", "x": "nanometer"}


def write_zarr(path, pixels, axes, *, version="0.5", scale=250.0):
    """Write an image with a second level half as large, each time in chunks of its own."""
    group = zarr.open_group(str(path), mode="w", zarr_format=3 if version == "0.5" else 2)
    halved = tuple(slice(None, None, 2) if axis in "yx" else slice(None) for axis in axes)
    levels = []
    for number, level in enumerate((pixels, pixels[halved])):
        group.create_array(
            str(number),
            data=level,
            chunks=tuple(
                1 if axis == "t" else min(64, side)
                for axis, side in zip(axes, level.shape, strict=True)
            ),
        )
        steps = [scale * 2**number if axis in "yx" else 1.0 for axis in axes]
        scaled = {"type": "scale", "scale": steps}
        levels.append({"path": str(number), "coordinateTransformations": [scaled]})
    named = [{"name": axis} | ({"unit": UNITS[axis]} if axis in UNITS else {}) for axis in axes]
    image = {"axes": named, "datasets": levels}
    if version == "0.5":
        group.attrs["ome"] = {"version": "0.5", "multiscales": [image]}
    else:
        group.attrs["multiscales"] = [image | {"version": "0.4"}]
