"""Tasks of the decompress stage that run in this process, on small movies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyscale_stages.contract import TaskResult
from stagetasks import run_verb

SMALL = {"frames": 3, "height_px": 64, "width_px": 96, "repeats": 2, "threads": [1, 2]}
RunDecompress = Callable[..., TaskResult]


@pytest.fixture
def run_decompress() -> RunDecompress:
    """Run a verb of the stage; `run` takes a place to measure or none."""

    def run(
        verb: str,
        *inputs: Path,
        output: Path | None = None,
        params: dict[str, Any] | None = None,
        **spec: Any,
    ) -> TaskResult:
        slot = "place" if verb == "run" else ""
        pairs = [(slot, path) for path in inputs]
        given = SMALL | (params or {})
        return run_verb("decompress", verb, pairs, output=output, params=given, **spec)

    return run
