"""Results of tasks as pyscale wrote them before samples had one shape."""

from __future__ import annotations

import json
from typing import Any

from pyscale_stages.contract import TaskResult
from pyscale_stages.loading import Loading
from pyscale_stages.reconstruction import Reconstruction
from pyscale_stages.timing import Call, Timing

SAMPLES = (Call, Timing, Loading, Reconstruction)
"""What had a field of its own, by the name that its samples have now."""


def result_of_schema_1(text: bytes) -> TaskResult | None:
    """Read a result of schema 1; None where it is of another one, or no JSON at all."""
    try:
        told: dict[str, Any] = json.loads(text)
        is_older = told["schema_version"] == 1
    except (ValueError, TypeError, KeyError):
        return None
    if not is_older:
        return None
    samples = {}
    for name in (kind.kept_as for kind in SAMPLES):
        found = told.pop(name, None)
        # A rank had one, and others a list.
        if found:
            samples[name] = found if isinstance(found, list) else [found]
    # Before there were codes of warnings there were sentences alone.
    told["warned"] = told.pop("warned", told.pop("warnings", ()))
    return TaskResult.model_validate({**told, "schema_version": 2, "samples": samples})
