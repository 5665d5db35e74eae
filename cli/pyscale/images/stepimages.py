"""Images that steps of the user's own name in a registry, as files beside the shipped ones."""

from __future__ import annotations

import re
from pathlib import Path

from pyscale.data.progress import Report
from pyscale.errors import UserError
from pyscale.images.engine import find_engine
from pyscale.images.lockfile import ImageFolder, folder_errors_explained
from pyscale.images.registrycall import Reference, call_registry
from pyscale.images.transfer import arrivals
from pyscale.suite import Suite
from pyscale_stages.atomic import atomic_path

SUBFOLDER = "steps"
HUB = "docker.io"
"""The registry that is meant where a name holds none."""
_NAMED = re.compile(
    r"(?P<scheme>docker://|oras://)(?:(?P<host>localhost(?::\d+)?|[\w-]*[.:][\w.:-]*|\[[\da-f:]+\]:\d+)/)?"
    r"(?P<path>[a-z0-9][a-z0-9._/-]*)(?::[\w.-]+)?@(?P<digest>sha256:[0-9a-f]{64})",
    re.ASCII,
)


def with_images_here(suite: Suite, images: ImageFolder, report: Report | None) -> Suite:
    """The suite with each image in a registry replaced by its file, pulled where it is absent.

    `images`: folder of the shipped images, beside which these lie. `report`: hears of a pull; None
    pulls nothing.
    """
    stages = dict(suite.stages)
    for entry, step in suite.stages.items():
        named = str(step.params.get("image", ""))
        if "://" in named:
            source = _reference(entry, named)
            pinned = str(source.digest).removeprefix("sha256:")[:16]
            sif = images.path / SUBFOLDER / f"{source.path.rpartition('/')[2]}-{pinned}.sif"
            if report is not None and not sif.is_file():
                _pull(source, sif, images, report)
            params = {**step.params, "image": str(sif), "pulled_from": named}
            stages[entry] = step.model_copy(update={"params": params})
    return suite.model_copy(update={"stages": stages})


def _reference(entry: str, named: str) -> Reference:
    found = _NAMED.fullmatch(named)
    if found is None:
        raise UserError(
            f"the image {named} of {entry} is not pinned: name it as docker://NAME@sha256:DIGEST, "
            f"or make a file of it by `apptainer pull mine.sif {named}` and name that"
        )
    # A digest says more than a tag beside it, and container programs refuse both at once.
    host = found["host"] or HUB
    return Reference(host, found["path"], digest=found["digest"], scheme=found["scheme"])


def _pull(source: Reference, sif: Path, images: ImageFolder, report: Report) -> None:
    engine = find_engine()
    with arrivals(images, report) as place:
        # Another pyscale may have pulled it while this one waited.
        if sif.is_file():
            return
        arrived = place / "image.sif"
        call_registry(engine, "pull", arrived, source, report, scratch=place)
        with folder_errors_explained(sif.parent):
            sif.parent.mkdir(exist_ok=True)
            with atomic_path(sif) as temporary:
                arrived.replace(temporary)
