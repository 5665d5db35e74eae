"""Energy as the hardware counts it: of the GPU by NVML, of processor packages by RAPL.

Both count whole devices, for all that runs on them. Virtual machines show neither as a rule, and
since 2020 Linux lets only root read RAPL's: what cannot be read is None.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, NamedTuple

from pyscale_stages.measure.cgroups import kernel_text

POWERCAP_FOLDER = Path("/sys/class/powercap")
PERIOD_S = 60.0
"""Between two readings. A counter of 65 kJ, the smallest range in use, begins anew after 65 s at
1 kW; that it did so twice between readings could not be seen."""


class PackageEnergy(NamedTuple):
    """Energy counter of one processor package."""

    energy_uj: int
    range_uj: int
    """The largest value, after which it begins at zero again."""


def package_energies(folder: Path = POWERCAP_FOLDER) -> dict[str, PackageEnergy] | None:
    """Counter of every package; None where one cannot be read."""
    found = {}
    for zone in sorted(folder.glob("intel-rapl:*")):
        # A package's energy has that of zones such as its cores in it already.
        if not kernel_text(zone / "name").startswith("package-"):
            continue
        texts = [kernel_text(zone / name) for name in ("energy_uj", "max_energy_range_uj")]
        # A sum without one package would pass for the whole.
        if not all(text.isdigit() for text in texts):
            return None
        found[zone.name] = PackageEnergy(*(int(text) for text in texts))
    return found or None


def gpu_energy_mj(nvml: Any, handle: Any) -> int | None:
    """Energy of a GPU since its driver was loaded, in mJ; None where it does not count it."""
    try:
        return int(nvml.nvmlDeviceGetTotalEnergyConsumption(handle))
    except nvml.NVMLError:
        return None


class EnergySum:
    """Adds up the energy between readings; None from the first that cannot be compared on."""

    def __init__(self, first: dict[str, PackageEnergy] | None) -> None:
        self.joules: float | None = None if first is None else 0.0
        self._last = first or {}

    def add(self, now: dict[str, PackageEnergy] | None) -> None:
        """Add what all packages used since the reading before."""
        if self.joules is None or now is None or now.keys() != self._last.keys():
            self.joules = None
            return
        for zone, package in now.items():
            # A counter that began anew reads less than before.
            used_uj = (package.energy_uj - self._last[zone].energy_uj) % package.range_uj
            self.joules += used_uj / 1e6
        self._last = now


class CpuEnergyMeter:
    """Adds up the energy of the processor packages from its construction to `stop`."""

    def __init__(self, folder: Path = POWERCAP_FOLDER) -> None:
        self._folder = folder
        self._sum = EnergySum(package_energies(folder))
        self._enough = threading.Event()
        self._thread: threading.Thread | None = None
        if self._sum.joules is not None:
            self._thread = threading.Thread(target=self._read_on, name="cpu-energy", daemon=True)
            self._thread.start()

    def stop(self) -> float | None:
        """Take a last reading and say how many joules were used; None where nothing counts them."""
        if self._thread is not None:
            self._enough.set()
            self._thread.join()
        return self._sum.joules

    def _read_on(self) -> None:
        stopped = False
        while not stopped:
            stopped = self._enough.wait(PERIOD_S)
            self._sum.add(package_energies(self._folder))
