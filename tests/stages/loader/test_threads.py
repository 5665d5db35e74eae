import os
import subprocess
import sys

import pytest
import torch

from pyscale_stages.loader.batches import VARIABLES, one_thread_each, threads_here
from pyscale_stages.loader.run import Crew, oversubscription

FOUR_CPUS = (0, 1, 2, 3)


def test_threads_are_one_inside_and_as_before_afterwards(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.delenv("BLOSC_NTHREADS", raising=False)
    torch.set_num_threads(2)
    with one_thread_each():
        assert threads_here().startswith("OMP_NUM_THREADS 1, MKL_NUM_THREADS 1, torch 1")
        assert torch.get_num_threads() == 1
        assert {os.environ[name] for name in VARIABLES} == {"1"}
    assert torch.get_num_threads() == 2
    assert os.environ["OMP_NUM_THREADS"] == "2"
    assert "BLOSC_NTHREADS" not in os.environ
    torch.set_num_threads(1)


def test_opencv_has_one_thread_whether_imported_before_or_after():
    cv2 = pytest.importorskip("cv2")
    before = cv2.getNumThreads()
    try:
        with one_thread_each():
            assert threads_here().endswith("OpenCV 1")
            assert cv2.getNumThreads() == 1
            later = subprocess.run(
                [sys.executable, "-c", "import cv2; print(cv2.getNumThreads())"],
                check=True,
                capture_output=True,
                text=True,
            )
            assert later.stdout.strip() == "1"
    finally:
        cv2.setNumThreads(before)


CREWS = {
    "enough": ([Crew("n1", FOUR_CPUS, 4, 4)], ""),
    # The rank needs a core beside its loader processes.
    "one too many": (
        [Crew("n1", FOUR_CPUS, 4, 5)],
        "4 loader processes are 5 processes on 4 usable cores",
    ),
    "own cores": ([Crew("n1", (0, 1), 2, 2), Crew("n1", (2, 3), 2, 2)], ""),
    "shared cores": ([Crew("n1", FOUR_CPUS, 4, 3)] * 2, "2 ranks on n1"),
    "granted a part": ([Crew("n1", FOUR_CPUS, 2, 3)], "3 processes on 2 usable cores"),
    # They have all of the same cores.
    "granted parts": ([Crew("n1", FOUR_CPUS, 2, 2)] * 2, ""),
    "another node": ([Crew("n1", FOUR_CPUS, 4, 4), Crew("n2", FOUR_CPUS, 4, 9)], ""),
}


@pytest.mark.parametrize(("crews", "said"), CREWS.values(), ids=CREWS)
def test_a_node_with_too_few_cores_is_warned_of(crews, said):
    found = oversubscription(crews, "n1")
    assert said in found
    assert bool(found) == bool(said)
