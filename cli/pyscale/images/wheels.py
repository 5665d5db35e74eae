"""Fetches the wheels of an image, so that its build needs no network."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from pyscale.errors import Sayings, UserError, explained
from pyscale.images.catalog import ImageDefinition
from pyscale.images.partlocks import WheelPin, package_key, platform_options, read_pins
from pyscale_stages.errors import MissingPart, ResourceExhausted
from pyscale_stages.hashing import sha256_of

HASHING_THREADS = 2
"""Enough to keep a disk busy; a larger share of a login node is not taken."""

_ADVICE = "or name a folder that was filled elsewhere by --wheels"
_SAID_BY_PIP: Sayings = (
    (
        re.escape(os.strerror(errno.ENOSPC)),
        ResourceExhausted,
        "the disk of {folder} filled up while fetching {what}: free space there and run the "
        "command again; complete files are kept",
    ),
    (
        r"(?i)DO NOT MATCH THE HASHES|mismatched hash",
        UserError,
        "one of {what} does not match {lock}: check the package index that pip uses here (`pip "
        "config list`), and build no image from it",
    ),
    (
        r"NewConnectionError|ConnectTimeout|Failed to establish|name resolution|ProxyError|"
        r"SSLError|Read timed out|Network is unreachable",
        UserError,
        "{what} cannot be fetched, because pip reaches no package index: connect to the network, "
        f"set PIP_INDEX_URL to a reachable one, {_ADVICE}",
    ),
    (
        r"No matching distribution found for (?P<absent>\S*\+cpu\S*)",
        UserError,
        "no index or folder of pip has {absent} for {image}: set PIP_FIND_LINKS or "
        f"PIP_EXTRA_INDEX_URL to an index that has CPU builds of torch, {_ADVICE}",
    ),
    (
        r"No matching distribution found for (?P<absent>\S+)",
        UserError,
        "no index or folder of pip has {absent} for {image}: set PIP_INDEX_URL to an index that "
        f"has it, {_ADVICE}",
    ),
)


def fetch_wheels(
    definition: ImageDefinition, folder: Path, listener: Callable[[str], None]
) -> Path:
    """Bring each wheel of an image's lock into `folder/NAME/wheels`.

    What lies there with the right hash is kept; a complete folder needs no network.
    Wheels are fetched by pip, with the settings that pip has on this machine.
    """
    wheels = folder / definition.name / "wheels"
    absent = absent_wheels(read_pins(definition), wheels)
    if absent:
        wheels.mkdir(parents=True, exist_ok=True)
        absent = _not_beside(absent, wheels)
    if absent:
        listener(f"fetching {len(absent)} wheels")
        # On the same disk, so that each wheel moves to its place whole.
        with tempfile.TemporaryDirectory(prefix=f".{definition.name}-", dir=folder) as scratch:
            _download(definition, absent, Path(scratch), listener)
            for wheel in sorted(Path(scratch).glob("*.whl")):
                wheel.replace(wheels / wheel.name)
    return wheels


def absent_wheels(pins: Sequence[WheelPin], wheels: Path) -> list[WheelPin]:
    """Those of a lock's wheels that do not lie in a folder with the right hash."""
    wanted = {pin.sha256 for pin in pins}
    with ThreadPoolExecutor(HASHING_THREADS) as pool:
        present = wanted.intersection(pool.map(sha256_of, wheels.glob("*.whl")))
    return [pin for pin in pins if pin.sha256 not in present]


def _not_beside(pins: Sequence[WheelPin], wheels: Path) -> list[WheelPin]:
    """Link wheels that another image's folder holds; return the pins that none holds."""
    by_package: dict[str, list[Path]] = {}
    for wheel in wheels.parent.parent.glob("*/wheels/*.whl"):
        by_package.setdefault(package_key(wheel.name.partition("-")[0]), []).append(wheel)
    left = []
    for pin in pins:
        same = (w for w in by_package.get(pin.key, ()) if f"-{pin.version}-" in w.name)
        found = next((w for w in same if sha256_of(w) == pin.sha256), None)
        if found is None:
            left.append(pin)
            continue
        # What has this name there has another hash.
        (wheels / found.name).unlink(missing_ok=True)
        try:
            os.link(found, wheels / found.name)
        except OSError:
            # A folder of somebody else's, or a disk without links.
            left.append(pin)
    return left


def _download(
    definition: ImageDefinition,
    pins: list[WheelPin],
    folder: Path,
    listener: Callable[[str], None],
) -> None:
    if find_spec("pip") is None:
        raise MissingPart(
            f"fetching wheels needs pip, which {sys.executable} lacks: run `{sys.executable} -m "
            f"ensurepip`, {_ADVICE}"
        )
    wanted = folder / "wanted.txt"
    wanted.write_text("".join(f"{pin.requirement}\n" for pin in pins), encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps"]
    command += [*platform_options(), "--require-hashes", "--progress-bar", "off", "--no-input"]
    command += ["--dest", str(folder), "--requirement", str(wanted)]
    said = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as pip:
        assert pip.stdout is not None
        try:
            for line in pip.stdout:
                said.append(line.strip())
                listener(line.strip())
        except BaseException:
            pip.terminate()
            raise
    if pip.returncode == 0:
        return
    text, what = "\n".join(said), f"the wheels of {definition.name}"
    known = explained(
        text,
        _SAID_BY_PIP,
        what=what,
        image=definition.name,
        lock=definition.lock_file,
        folder=folder.parent,
    )
    last = next((line for line in reversed(said) if line.startswith("ERROR")), text[-300:])
    raise known or UserError(f"{what} cannot be fetched ({last}): fix that, {_ADVICE}")
