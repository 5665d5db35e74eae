"""References of tests of a machine: read, shown beside tests of the same names, made of a run."""

import polars as pl
import pytest

from madeupmachine import made_up
from pyscale.analysis.machine.beside import MachineSide, machine_speedups, machines_side_by_side
from pyscale.analysis.machine.findings import MachineFindings
from pyscale.analysis.referencemodel import Loaded
from pyscale.errors import UserError
from pyscale.references.files import read_reference, shipped_folder
from pyscale.references.matching import matching_tests
from refusals import refused

CSV = """test,timing,device,wall_s,amount,unit,repeat
fft_3d,,,0.5,100,flop,0
fft_3d,,,0.7,100,flop,1
fft_3d,forward,,0.2,,,0
fft_3d,,NVIDIA A100,0.01,100,flop,0
elsewhere,,,1,,,0
"""


@pytest.fixture
def toml(toml):
    """What describes a reference of tests."""
    return toml.replace('"workers"', '"test"').replace('cells = "segment"\n', "")


@pytest.fixture
def ours(write, toml):
    """A reference of one's own."""
    return read_reference(write(toml=toml, csv=CSV))


@pytest.fixture(scope="module")
def guide():
    """What the guide of CryoSPARC shows."""
    return read_reference(shipped_folder() / "cryosparc-sample.toml")


@pytest.fixture(scope="module")
def tests():
    """Those of a made-up run on the processor and on GPUs, of one node."""
    found = made_up(nodes=1).of(MachineFindings)
    assert found is not None
    # Two more tests have the step of the guide.
    named = [
        found.tests.filter(test="fsc_tight").with_columns(test=pl.lit(name))
        for name in ("fsc_spherical", "fsc_loose")
    ]
    return pl.concat([found.tests, *named])


def test_it_is_summed_up_as_a_run_is(ours):
    found = ours.tests()
    assert found is not None
    whole = [row for row in found.to_dicts() if row["test"] == "fft_3d" and row["device"] is None]
    assert [(row["step"], row["wall_s"], row["repeats"]) for row in whole] == [
        (None, pytest.approx(0.6), 2),
        ("forward", 0.2, 1),
    ]
    assert whole[0]["rate"] == pytest.approx(100 / 0.6)
    assert set(found["kind"]) == {None}


@pytest.mark.parametrize(
    "csv",
    [
        "test,seconds\nfft,1\n",
        "test,wall_s\nfft,fast\n",
        "test,wall_s\nfft,-1\n",
        "test,wall_s\n,1\n",
    ],
)
def test_a_table_that_is_none_is_refused_in_a_sentence(write, toml, csv):
    with refused(UserError):
        read_reference(write(toml=toml, csv=csv))


def test_only_tests_of_the_run_on_the_same_kind_of_device_stand_beside_it(ours, tests):
    (found,) = matching_tests([ours], tests)
    assert set(found.found["test"]) == {"fft_3d"}
    assert set(found.found["kind"]) == {"kernels"}
    assert set(found.found["device"]) == {None, "NVIDIA A100"}
    (found,) = matching_tests([ours], tests.filter(pl.col("device").is_null()))
    assert set(found.found["device"]) == {None}
    assert matching_tests([ours], tests.filter(kind="storage")) == []


def test_the_very_measurement_is_not_shown_beside_itself(tests, ours):
    own = tests.filter(pl.col("test") == "fft_3d", pl.col("device").is_null())
    table = own.select("test", timing="step", wall_s="wall_s")
    assert matching_tests([Loaded(ours.reference, table)], own) == []


def test_the_two_timings_of_the_guide_stand_beside_our_step_of_the_same_tests_on_gpus(guide, tests):
    assert sorted(guide.tests().select("test", "step", "wall_s").rows()) == [
        ("fsc_loose", "put_map_on_device", 0.677032470703125),
        ("fsc_spherical", "put_map_on_device", 0.5858473777771),
    ]
    (found,) = matching_tests([guide], tests)
    sides = [MachineSide(tests, {}), MachineSide(found.found, found.reference.size_ids)]
    speedups = machine_speedups(machines_side_by_side(sides)).filter(base=0, side=1)
    # They have no speedup, as amounts are not known to be equal.
    assert speedups.select("test", "device", "step", "speedup", "why_not").rows() == [
        ("fsc_spherical", "GPU", "put_map_on_device", None, "unknown-amount"),
        ("fsc_loose", "GPU", "put_map_on_device", None, "unknown-amount"),
    ]
    assert matching_tests([guide], tests.filter(pl.col("device").is_null())) == []
    told = " ".join(guide.reference.caveats)
    assert "amounts are not known to be equal" in told
    assert "One value each" in told
