"""Writes the locks of the images: each package's version and the hash of its one wheel.

Run as `make locks`. pip resolves for the Python and platform of the images; nothing is installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from rich.progress import track

from pyscale.errors import UserError
from pyscale.images.build import PYTHON_VERSION, platform_options
from pyscale.images.catalog import ImageDefinition, definitions
from pyscale_stages.atomic import write_atomically

CONSTRAINTS = Path(__file__).resolve().parents[1] / "constraints.txt"


def main(names: Sequence[str]) -> None:
    """Resolve the named images, or all."""
    for definition in track(definitions(names), description="resolving"):
        write_atomically(definition.lock_file, lock_text(definition, resolve(definition)))


def resolve(definition: ImageDefinition) -> list[tuple[str, str]]:
    """Ask pip which wheels an image's requirements come to: names, and lines of the lock.

    Raises
    ------
    UserError
        If they cannot be met by wheels.
    """
    with tempfile.TemporaryDirectory() as scratch:
        constraints = Path(scratch) / "constraints.txt"
        constraints.write_text(constraints_for(definition, CONSTRAINTS.read_text("utf-8")), "utf-8")
        report = Path(scratch) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"]
        command += ["--ignore-installed", "--report", str(report), "--target", scratch]
        command += [*platform_options(), "--constraint", str(constraints)]
        command += definition.requirements
        answer = subprocess.run(
            command,
            env=environment_for(definition, os.environ),
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if answer.returncode != 0:
            raise UserError(f"{definition.name} cannot be resolved: {answer.stderr.strip()}")
        return pins_of(json.loads(report.read_text("utf-8")))


def constraints_for(definition: ImageDefinition, text: str) -> str:
    """Versions that `make setup` installs, less those that the image cannot share.

    An image for CUDA needs another build of torch, and one of Cellpose 4 another Cellpose.
    """
    other = {"torch"} if definition.device == "cuda" else set()
    if definition.name in {"segment", "segment-cuda"}:
        other.add("cellpose")
    lines = [line for line in text.splitlines() if line.partition("==")[0] not in other]
    if definition.device == "cuda":
        # Three signs name the build without a local version, and no other.
        lines += [
            line.replace("==", "===").partition("+")[0]
            for line in text.splitlines()
            if line.startswith("torch==")
        ]
    return "\n".join(lines) + "\n"


def environment_for(definition: ImageDefinition, environment: Mapping[str, str]) -> dict[str, str]:
    """Environment of pip: the public index alone, so that a lock says the same everywhere.

    CPU builds of torch are not there: those come from what PIP_FIND_LINKS names, which hides CUDA
    builds.
    """
    hidden = {"PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL"}
    if definition.device == "cuda":
        hidden.add("PIP_FIND_LINKS")
    kept = {name: value for name, value in environment.items() if name not in hidden}
    return {**kept, "PIP_CONFIG_FILE": os.devnull}


def pins_of(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Read pip's report of what it would install."""
    pins = []
    for item in report["install"]:
        name, version = item["metadata"]["name"], item["metadata"]["version"]
        sha256 = item["download_info"]["archive_info"]["hashes"]["sha256"]
        # Builds of torch for other devices are versions that two signs take for the same.
        sign = "===" if name == "torch" else "=="
        pins.append((canonicalize_name(name), f"{name}{sign}{version} --hash=sha256:{sha256}"))
    return pins


def lock_text(definition: ImageDefinition, pins: Sequence[tuple[str, str]]) -> str:
    """Write the lock of an image: sorted, one wheel a line."""
    lines = [
        f"# Python {PYTHON_VERSION} packages of the image {definition.name} on x86_64 Linux.",
        "# Made by `make locks` from what its stage declares; do not edit.",
        *(line for _, line in sorted(pins)),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(sys.argv[1:])
