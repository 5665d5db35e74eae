"""Labels of a SIF, by which an image of pyscale says what it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pyscale.errors import UserError
from pyscale.images.engine import Engine
from pyscale.processes import ran

UNKNOWN = "unknown"
"""What a label says where a fact is not known."""
PREFIX = "org.pyscale."
"""What the names of pyscale's own labels begin with; `containers/stage.def` gives them."""


def commit_of(labels: Mapping[str, str]) -> str | None:
    """Commit of the stage code in an image, where it is known."""
    commit = labels.get(f"{PREFIX}git_commit", UNKNOWN)
    return None if commit == UNKNOWN else commit


def labels_of(sif: Path, engine: Engine) -> dict[str, str]:
    """All labels of a SIF, as the container program reads them."""
    answer = ran([engine.program, "inspect", "--json", "--labels", str(sif)])
    try:
        labels = json.loads(answer.stdout)["data"]["attributes"]["labels"]
    except (ValueError, KeyError, TypeError) as error:
        said = answer.stderr.strip().rpartition("\n")[2] or "no answer"
        raise UserError(f"{sif} is not a SIF image ({said}): build or pull it again") from error
    return dict(labels or {})
