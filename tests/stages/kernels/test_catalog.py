import subprocess
import sys
from collections import Counter
from typing import get_args

import pytest

from pyscale_stages.errors import BadInput
from pyscale_stages.kernels.run import KERNELS, chosen
from pyscale_stages.kernels.stage import KernelParams
from pyscale_stages.kernels.work import bottleneck_on
from pyscale_stages.timing import Bottleneck
from refusals import refused


def test_tests_have_names_of_their_own_by_which_they_are_chosen():
    twice = [name for name, n in Counter(kernel.name for kernel in KERNELS).items() if n > 1]
    assert twice == []
    names = [kernel.name for kernel in chosen(("picking", "transfers", "fsc_tight"))]
    assert names[:2] == ["fsc_tight", "picking"]
    assert len(names) == 6
    assert chosen(()) == KERNELS
    with refused(BadInput):
        chosen(("fsc_tigt",))


@pytest.mark.parametrize("tag", get_args(Bottleneck))
def test_on_a_processor_no_test_depends_on_a_gpu(tag):
    assert bottleneck_on("cpu", tag) not in {"gpu", "gpu_memory", "pcie"}
    assert bottleneck_on("cuda", tag) == tag


@pytest.mark.parametrize(
    "wrong", [{"template_px": 32}, {"micrograph_px": 128}, {"marginal_poses": 100}, {"repeats": 0}]
)
def test_sizes_that_do_not_fit_each_other_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        KernelParams.model_validate(wrong)


@pytest.mark.slow
def test_the_stage_can_be_described_without_torch():
    program = (
        "import sys, pyscale_stages.kernels.stage\n"
        "assert {'torch', 'scipy'}.isdisjoint(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
