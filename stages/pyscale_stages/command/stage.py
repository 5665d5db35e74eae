"""The stage `command`: a step of the user's own, measured as every other is."""

from __future__ import annotations

from pyscale_stages.command.agreement import check
from pyscale_stages.command.joining import merge
from pyscale_stages.command.params import CommandParams, method, sharing
from pyscale_stages.command.run import run
from pyscale_stages.contract import Resources, Slot, Stage

STAGE = Stage(
    name="command",
    summary="A command, script or container of one's own over frames or files",
    params=CommandParams,
    inputs=(
        Slot("input", "what the workers share: a movie, a folder of files, or an earlier output"),
        Slot("input2", "another input, which every worker reads whole", required=False),
        Slot("input3", "a third input, which every worker reads whole", required=False),
    ),
    output="output",
    outputs=lambda params: params.output_name,
    packages=(),
    determinism="What the user's own program says",
    run=run,
    merge=merge,
    check=check,
    method=method,
    resources=Resources(cpus=1, memory_gib=4.0, devices=("cpu", "cuda", "mps")),
    sharing=sharing,
    is_compared=lambda params: params.check != "none",
    runs_outside=True,
    data=("movie", "labels", "files", "tiles"),
)
