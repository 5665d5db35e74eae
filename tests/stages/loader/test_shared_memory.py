import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyscale_stages.errors import EXIT_RESOURCE_EXHAUSTED

pytestmark = pytest.mark.slow

TESTS = Path(__file__).resolve().parents[2]
SMALL_SHARED_MEMORY = [
    *("unshare", "--user", "--map-root-user", "--mount", "sh", "-c"),
    'mount -t tmpfs -o size=8m tmpfs /dev/shm && exec "$@"',
    "sh",
]


def test_shared_memory_that_is_too_small_is_one_sentence(slides, tmp_path, missing):
    if subprocess.run([*SMALL_SHARED_MEMORY, "true"], capture_output=True, check=False).returncode:
        missing("a process with shared memory of its own", "allow user namespaces")
    params = tmp_path / "params.json"
    # Four batches of 12 MB each may lie ready, in 8 MB.
    params.write_text(json.dumps({"factory": "patchsets:large", "batch_size": 4}))
    ended = subprocess.run(
        [
            *(*SMALL_SHARED_MEMORY, sys.executable, "-m", "pyscale_stages", "loader", "run"),
            *("--input", f"slides={slides}", "--output", str(tmp_path / "output")),
            *("--params", str(params)),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == EXIT_RESOURCE_EXHAUSTED
    assert "error: shared memory" in ended.stderr
    assert "enlarge /dev/shm, or lower num_workers" in ended.stderr
