"""The contact stage: which cells touch, overlap and neighbour each other in each frame."""

from __future__ import annotations

from pyscale_stages.contact.agreement import check
from pyscale_stages.contact.params import ContactParams, method
from pyscale_stages.contact.run import preload, run, why_unforkable
from pyscale_stages.contact.tables import merge
from pyscale_stages.contract import Resources, Slot, Stage

STAGE = Stage(
    name="contact",
    summary="Touching, overlapping and neighbouring cells of one or two label movies",
    params=ContactParams,
    inputs=(
        Slot("labels", "label movie (TYX): every cell a whole number, 0 for background"),
        Slot(
            "other_labels",
            "label movie of a second cell type; then contacts are between the types",
            required=False,
        ),
    ),
    output="contacts.parquet",
    packages=("numpy", "scipy", "pyclesperanto", "pyclesperanto-opencl"),
    determinism=(
        "No randomness. Pixel counts are exact on every device. By NumPy, the same bytes; by "
        "OpenCL, centroids are float32: the same bytes on the same device and driver, within "
        "0.001 px otherwise, where equally near cells may swap places"
    ),
    run=run,
    merge=merge,
    check=check,
    method=method,
    resources=Resources(cpus=1, memory_gib=4.0, devices=("cpu", "cuda")),
    extra="contact",
    preload=preload,
    why_unforkable=why_unforkable,
)
