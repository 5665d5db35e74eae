"""Joules from counters of the kernel, in a folder made like the kernel's, and of NVML."""

import pytest

from pyscale_stages.measure.energy import (
    CpuEnergyMeter,
    EnergySum,
    PackageEnergy,
    gpu_energy_mj,
    package_energies,
)

RANGE_UJ = 65_532_610_987


def write_zone(folder, zone, name, energy_uj):
    (folder / zone).mkdir(parents=True, exist_ok=True)
    (folder / zone / "name").write_text(f"{name}\n")
    (folder / zone / "max_energy_range_uj").write_text(f"{RANGE_UJ}\n")
    if energy_uj is not None:
        (folder / zone / "energy_uj").write_text(f"{energy_uj}\n")


def test_packages_are_read_and_neither_their_parts_nor_the_platform(tmp_path):
    write_zone(tmp_path, "intel-rapl:0", "package-0", 5_000_000)
    write_zone(tmp_path, "intel-rapl:0:0", "core", 4_000_000)
    write_zone(tmp_path, "intel-rapl:0:1", "dram", 4_000_000)
    write_zone(tmp_path, "intel-rapl:1", "package-1", 7_000_000)
    write_zone(tmp_path, "intel-rapl:2", "psys", 90_000_000)
    write_zone(tmp_path, "intel-rapl-mmio:0", "package-0", 5_000_000)
    assert package_energies(tmp_path) == {
        "intel-rapl:0": PackageEnergy(5_000_000, RANGE_UJ),
        "intel-rapl:1": PackageEnergy(7_000_000, RANGE_UJ),
    }


def test_a_machine_without_counters_or_with_one_that_may_not_be_read_has_no_energy(tmp_path):
    assert package_energies(tmp_path / "absent") is None
    assert package_energies(tmp_path) is None
    assert CpuEnergyMeter(tmp_path).stop() is None
    write_zone(tmp_path, "intel-rapl:0", "package-0", 5_000_000)
    write_zone(tmp_path, "intel-rapl:1", "package-1", None)
    assert package_energies(tmp_path) is None


def read(**energies_uj):
    return {name: PackageEnergy(energy, RANGE_UJ) for name, energy in energies_uj.items()}


@pytest.mark.parametrize(
    ("before", "after", "joules"),
    [
        (read(a=1_000_000, b=3_000_000), read(a=3_500_000, b=3_000_000), 2.5),
        # A counter that began anew goes on from its range.
        (read(a=RANGE_UJ - 2_000_000), read(a=1_000_000), 3.0),
        (read(a=1), read(b=2), None),
        (read(a=1), None, None),
        (None, read(a=1), None),
    ],
    ids=["two packages", "began anew", "other packages", "none after", "none before"],
)
def test_energy_is_the_difference_summed_over_packages(before, after, joules):
    total = EnergySum(before)
    total.add(after)
    assert total.joules == pytest.approx(joules)


def test_a_meter_adds_up_what_was_used_until_it_is_stopped(tmp_path):
    write_zone(tmp_path, "intel-rapl:0", "package-0", 5_000_000)
    meter = CpuEnergyMeter(tmp_path)
    write_zone(tmp_path, "intel-rapl:0", "package-0", 9_000_000)
    assert meter.stop() == pytest.approx(4.0)


def test_a_sum_goes_on_where_counters_begin_anew_and_stays_unknown_where_a_reading_lacks():
    half = RANGE_UJ // 2
    total = EnergySum(read(a=0))
    for step in range(1, 7):
        total.add(read(a=step * half % RANGE_UJ))
    assert total.joules == pytest.approx(6 * half / 1e6)
    total = EnergySum(read(a=0))
    for reading in (None, read(a=5), read(a=9)):
        total.add(reading)
    assert total.joules is None


def test_a_gpu_that_counts_no_energy_tells_none():
    class Nvml:
        class NVMLError(Exception):
            pass

        def nvmlDeviceGetTotalEnergyConsumption(self, handle):  # noqa: N802
            if handle == "old":
                raise self.NVMLError("Not Supported")
            return 1_234_567

    assert gpu_energy_mj(Nvml(), "new") == 1_234_567
    assert gpu_energy_mj(Nvml(), "old") is None
