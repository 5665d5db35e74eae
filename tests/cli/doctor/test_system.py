"""What disturbs every measurement on a machine is named."""

import resource

import pytest

from pyscale.doctor import system
from pyscale_stages.measure.stamp import Memory


@pytest.mark.parametrize(
    ("limit", "soft", "hard", "check", "remedy"),
    [
        ("NOFILE", 256, 4096, "open_files", "ulimit -n 1024"),
        # A hard limit is for the staff to raise.
        ("NOFILE", 256, 256, "open_files", "ask the staff"),
        ("AS", 64 << 30, 64 << 30, "address_space", "run `ulimit -v unlimited`"),
    ],
)
def test_a_low_limit_is_a_warning_with_the_command_that_raises_it(
    monkeypatch, limit, soft, hard, check, remedy
):
    changed = {getattr(resource, f"RLIMIT_{limit}"): (soft, hard)}
    real = resource.getrlimit
    monkeypatch.setattr(resource, "getrlimit", lambda which: changed.get(which) or real(which))
    found = {one.check: one for one in system.limits(2)}[f"system.{check}"]
    assert found.status == "warning"
    assert found.remedy.startswith(remedy)
    assert limit != "AS" or "64.0 GiB" in found.sentence


def test_no_limit_is_no_number():
    everything = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    assert system.open_files(*everything).sentence == "a process may open any number of files"
    assert system.processes(*everything, 10**6).status == "ok"
    assert system.processes(100, 4096, 128).remedy == "ulimit -u 128"


def test_a_slow_clock_is_a_warning_and_none_is_invented(tmp_path):
    assert system.clock(tmp_path).status == "not applicable"
    (tmp_path / "available_clocksource").write_text("tsc hpet acpi_pm\n")
    for name, status in (("tsc", "ok"), ("hpet", "warning")):
        (tmp_path / "current_clocksource").write_text(f"{name}\n")
        found = system.clock(tmp_path)
        assert found.status == status
        assert found.sentence.startswith(f"the clock source is {name}")
    here = (system.CLOCK_FOLDER / "current_clocksource").read_text().strip()
    assert here in system.clock(system.CLOCK_FOLDER).sentence


@pytest.mark.parametrize(
    ("load_1min", "cores", "status"), [(0.3, 2, "ok"), (1.9, 2, "warning"), (1.9, 128, "ok")]
)
def test_a_loaded_machine_is_a_warning(load_1min, cores, status):
    assert system.load(load_1min, cores).status == status


def test_swap_in_use_is_a_warning_but_for_a_little():
    def memory(used):
        return Memory(
            total_bytes=64 << 30,
            available_bytes=32 << 30,
            swap_total_bytes=8 << 30,
            swap_used_bytes=used,
            transparent_hugepages="",
        )

    assert system.swap(memory(20 << 20)).status == "ok"
    assert system.swap(memory(4 << 30)).sentence.startswith("4.0 GiB of 8.0 GiB swap are in use")
