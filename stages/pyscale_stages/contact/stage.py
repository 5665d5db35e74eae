"""The contact stage: which cells touch, overlap and neighbour each other in each frame."""

from __future__ import annotations

from pyscale_stages.contact.agreement import check
from pyscale_stages.contact.merge import merge
from pyscale_stages.contact.params import ContactParams
from pyscale_stages.contact.run import run
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
    packages=("pyclesperanto", "pyclesperanto-opencl", "scipy"),
    determinism=(
        "Nothing is random. Counts of pixels are exact on every device. Centroids are float32: "
        "the same bytes on the same device and driver, within 0.001 px between devices, where "
        "equally near cells may change places"
    ),
    run=run,
    merge=merge,
    check=check,
    resources=Resources(cpus=1, memory_gib=4.0, devices=("cpu", "cuda")),
    extra="contact",
)
