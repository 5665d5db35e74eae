"""Sent into a Python environment or an image: what a stage is made from there.

It runs under whichever Python and whichever release of the stages it finds, so it imports nothing
of this package.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def identity(stage: str, modules: list[str]) -> dict[str, Any]:
    """Describe the stage that tasks would run here; `modules` are the libraries it needs."""
    import pyscale_stages
    from pyscale_stages.contract import TaskResult
    from pyscale_stages.registry import load_stage

    assert pyscale_stages.__file__ is not None
    folder = Path(pyscale_stages.__file__).resolve().parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return {
        "schema_version": TaskResult.model_fields["schema_version"].default,
        "parameters": sorted(load_stage(stage).params.model_fields),
        "absent": [name for name in modules if find_spec(name) is None],
        "identity": {
            "python": platform.python_version(),
            "code_folder": str(folder),
            "code_sha256": digest.hexdigest(),
            "packages": dict(sorted((str(d.metadata["Name"]), d.version) for d in distributions())),
        },
    }


if __name__ == "__main__":
    # What a library prints when it is imported comes before this line.
    print(json.dumps(identity(sys.argv[1], sys.argv[2:])))  # noqa: T201 - the answer
