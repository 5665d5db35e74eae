import json
import os
import subprocess
import sys

import pytest

IMPORTS = """
import json, sys
import numba
njit = numba.njit
from pyscale_stages.segment.models import import_cellpose
import_cellpose(3)
from cellpose import dynamics
assert numba.njit is njit
assert "matplotlib" not in sys.modules
functions = ["_extend_centers", "steps2D", "steps3D"]
stats = {name: getattr(dynamics, name).stats for name in functions}
print(json.dumps({name: [sum(s.cache_hits.values()), sum(s.cache_misses.values())]
                  for name, s in stats.items()}))
"""


def imported(folder):
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS],
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


@pytest.mark.slow
def test_the_second_import_of_cellpose_compiles_nothing_and_none_loads_matplotlib(tmp_path):
    pytest.importorskip("cellpose")
    first, second = imported(tmp_path), imported(tmp_path)
    assert all(misses for _, misses in first.values())
    assert second == {name: [1, 0] for name in first}
