import subprocess
import sys
from collections import Counter
from dataclasses import replace
from typing import get_args

import pytest

from pyscale_stages.contract import TaskResult
from pyscale_stages.errors import BadInput
from pyscale_stages.kernels import run, work
from pyscale_stages.kernels.run import KERNELS, chosen
from pyscale_stages.kernels.stage import KernelParams
from pyscale_stages.kernels.work import bottleneck_on
from pyscale_stages.timing import Bottleneck, Timing
from refusals import refused

FEW = {"tests": ["picking", "disk_single_linear10_max_C1", "host_to_device_pinned"]}
NOT_APPLICABLE = "not applicable: "


def whole(result, test):
    return [t for t in result.of(Timing) if t.test == test and t.step is None]


def pretend(monkeypatch, name, prepare):
    """Put other work in the place of a test."""
    kernels = tuple(
        replace(kernel, prepare=prepare) if kernel.name == name else kernel for kernel in KERNELS
    )
    monkeypatch.setattr(run, "KERNELS", kernels)


@pytest.mark.slow
def test_every_test_of_the_catalog_has_a_time_or_says_why_not(kernels):
    result = kernels.run("run")
    assert result.error is None, result.error
    assert result.warnings == ()
    assert {t.test for t in result.of(Timing)} == {kernel.name for kernel in KERNELS}
    for kernel in KERNELS:
        timings = whole(result, kernel.name)
        if kernel.family == "transfers":
            assert [(t.wall_s, t.amount) for t in timings] == [(None, None)]
            assert timings[0].why_not.startswith(NOT_APPLICABLE)
            continue
        assert [t.repeat for t in timings] == [0, 1]
        assert [t.details["first_call"] for t in timings] == [1, 0]
        for timing in timings:
            assert timing.wall_s > 0
            assert timing.amount
            assert timing.unit == kernel.unit
            assert timing.bottleneck not in {None, "gpu", "gpu_memory", "pcie"}
            assert timing.details["error"] <= timing.details["tolerance"]
            assert timing.workers == (2 if "_multi_" in kernel.name else 1)


def test_steps_are_timed_apart_and_lie_within_the_whole(kernels):
    result = kernels.run("run", tests=["fsc_spherical"])
    steps = {t.step: t for t in result.of(Timing) if t.repeat == 1}
    total = steps.pop(None).wall_s
    absent = steps.pop("put_map_on_device")
    assert absent.wall_s is None
    assert absent.why_not.startswith(NOT_APPLICABLE)
    assert set(steps) == {"apply_mask", "fft", "shells", "get_result"}
    assert 0 < sum(step.wall_s or 0 for step in steps.values()) <= total
    assert steps["shells"].bottleneck == "memory"


def test_particles_are_read_from_the_place_cold_or_not_as_is_known(kernels, tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    result = kernels.run("run", place, **FEW)
    assert result.error is None
    loads = [t for t in result.of(Timing) if t.step == "load_particles"]
    assert len(loads) == 2
    for timing in loads:
        assert timing.cache is not None
        assert timing.bottleneck == "storage"
        assert (timing.amount, timing.unit) == (6 * 24 * 24 * 4, "B")


def test_memory_that_runs_out_costs_one_test_and_is_said(kernels):
    result = kernels.run("run", tests=["allocation", "picking"], allocation_bytes=1 << 60)
    assert result.error is None
    (failed,) = whole(result, "allocation")
    assert failed.wall_s is None
    assert failed.why_not.startswith("memory ran out (")
    assert failed.why_not.endswith("): give the test smaller sizes")
    assert "allocation has no time" in result.warnings[0]
    assert len(whole(result, "picking")) == 2


def test_a_wrong_result_is_said_once_and_recorded_each_time_and_a_defect_fails_the_task(
    kernels, monkeypatch
):
    wrong = work.Judgement(checksum=1.0, error=float("inf"), tolerance=0.5)
    pretend(
        monkeypatch, "allocation", lambda _bench: work.Work(lambda _clock: None, lambda _: wrong)
    )
    result = kernels.run("run", tests=["allocation"])
    assert result.error is None
    assert result.warnings == (
        "allocation computes wrongly on cpu: its error is inf, above the allowed 0.5",
    )
    # JSON has no infinity.
    assert [set(t.details) for t in whole(result, "allocation")] == [
        {"threads", "first_call", "checksum", "tolerance"}
    ] * 2
    assert TaskResult.model_validate_json(result.model_dump_json()) == result

    def broken(_bench):
        raise ValueError("a defect")

    pretend(monkeypatch, "allocation", broken)
    result = kernels.run("run", tests=["allocation"])
    assert result.error.exit_code == 1


def test_more_devices_than_there_are_is_refused(kernels):
    kernels.refused("run", gpus=2)


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
