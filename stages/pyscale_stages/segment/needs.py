"""What segmentation needs: weights that are those of the record, and a device that works."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from pyscale_stages.declaration import Needs
from pyscale_stages.segment import models
from pyscale_stages.segment.params import SegmentParams

if TYPE_CHECKING:
    from pyscale_stages.trying import Trying


def look(params: SegmentParams, _device: str, _here: bool) -> None:
    """Look for the weights."""
    models.find_model(params)


def try_out(trying: Trying) -> None:
    """Hash the weights, and segment two small frames."""
    trying.step("find the weights")
    params, cellpose = trying.params, models.installed_cellpose()
    needed = models.CELLPOSE_OF_MODEL.get(params.model, cellpose)
    models.refuse_other_version(params.model, needed, cellpose)
    _weights(trying, models.find_weights(params.model))
    # No square of a real frame fits into a small one; that is the movie's affair.
    trying.small(length_px=None, channel=0)


def _weights(trying: Trying, path: Path) -> None:
    """Hash the weights and hold them to what was recorded when they were trained."""
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    record = path.with_suffix(".json")
    recorded = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
    expected = recorded.get("weights_sha256")
    if expected not in {None, sha256}:
        trying.problem(
            "weights",
            f"the weights {path} differ from those that {record.name} records: sha256 is "
            f"{sha256[:12]}…, expected {expected[:12]}…",
            "install pyscale again",
        )
        return
    held = ", as recorded" if expected else ""
    said = f"{path.name} ({path.stat().st_size / 2**20:.1f} MiB), sha256 {sha256[:12]}…"
    trying.ok("weights", f"{said}{held}; nothing is fetched")


NEEDS = Needs(deciding=("model", "estimate_diameter"), look=look, try_out=try_out)
