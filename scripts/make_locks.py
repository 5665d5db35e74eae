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

from rich.progress import track

from pyscale.errors import UserError
from pyscale.images.catalog import ImageDefinition, definitions
from pyscale.images.partlocks import WheelPin, lock_text, platform_options
from pyscale_stages.atomic import write_atomically

CONSTRAINTS = Path(__file__).resolve().parents[1] / "constraints.txt"


def main(names: Sequence[str]) -> None:
    """Resolve the named images, or all."""
    for definition in track(definitions(names), description="resolving"):
        write_atomically(definition.lock_file, lock_text(definition, resolve(definition)))


def resolve(definition: ImageDefinition) -> list[WheelPin]:
    """Ask pip which wheels an image's requirements come to.

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
        command += ["--requirement", str(definition.requirements_file)]
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
    if definition.definition == "segment":
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


def pins_of(report: Mapping[str, Any]) -> list[WheelPin]:
    """Read pip's report of what it would install."""
    return [
        WheelPin(
            name=item["metadata"]["name"],
            version=item["metadata"]["version"],
            sha256=item["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        for item in report["install"]
    ]


if __name__ == "__main__":
    main(sys.argv[1:])
