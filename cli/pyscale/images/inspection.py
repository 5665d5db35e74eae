"""Facts about one image: labels, installed packages, builder and command."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from pydantic import Field

from pyscale.errors import UserError
from pyscale.images.engine import IMAGE_PYTHON, Engine
from pyscale.images.sif import ImageLabels, image_labels, read_sif, refuse_foreign
from pyscale_stages.contract import Record

# Runs inside: the standard library alone, so that it says the same of every image.
_LIST_PACKAGES = """
import importlib.metadata, json, pathlib
python, copyleft, debian, entry = {}, {}, {}, {}
for found in importlib.metadata.distributions():
    told = found.metadata
    python[told["Name"]] = found.version
    kinds = [c.rpartition(":: ")[2] for c in told.get_all("Classifier", []) if "License" in c]
    # The field License may hold a whole text.
    kinds += [told["License-Expression"] or "", (told["License"] or "").partition("\\n")[0]]
    gnu = [licence for licence in reversed(kinds) if "GPL" in licence or "GNU" in licence]
    if gnu:
        copyleft[told["Name"]] = gnu[0]
for line in pathlib.Path("/var/lib/dpkg/status").read_text().splitlines() + [""]:
    key, _, value = line.partition(": ")
    if line:
        entry.setdefault(key, value)
        continue
    if entry.get("Status", "").endswith(" installed"):
        debian[entry["Package"]] = entry["Version"]
    entry = {}
print(json.dumps({"python": python, "debian": debian, "copyleft": copyleft}))
"""


class ImageDescription(Record):
    """One image, described from its file alone."""

    file: Path
    size_bytes: int
    architecture: str = Field(description="Machine that it runs on, as `uname -m` tells it")
    created_utc: datetime = Field(description="When the SIF was made")
    labels: ImageLabels = Field(description="What pyscale wrote into it")
    all_labels: dict[str, str]
    runscript: str
    help_text: str
    python_packages: dict[str, str] = Field(description="Version by name")
    debian_packages: dict[str, str] = Field(description="Version by name")
    copyleft: dict[str, str] = Field(
        description="Licence by name, of Python packages under the GPL, LGPL or AGPL"
    )


def describe(sif: Path, engine: Engine) -> ImageDescription:
    """Describe an image of pyscale; its own Python is asked for what is installed."""
    header = read_sif(sif)
    labels = image_labels(sif, header)
    refuse_foreign(sif, header)
    packages = _packages(sif, engine)
    return ImageDescription(
        file=sif,
        size_bytes=header.size_bytes,
        architecture=header.architecture,
        created_utc=header.created_utc,
        labels=labels,
        all_labels=dict(sorted(header.labels.items())),
        runscript=header.runscript,
        help_text=header.help_text,
        python_packages=packages["python"],
        debian_packages=packages["debian"],
        copyleft=packages["copyleft"],
    )


def _packages(sif: Path, engine: Engine) -> dict[str, dict[str, str]]:
    done = engine.ask(*str(sif), IMAGE_PYTHON, "-c", _LIST_PACKAGES)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise UserError(
            f"{sif} does not start here, so its packages cannot be listed "
            f"({said[-1] if said else 'no output'}): see `pyscale image verify {sif}`"
        )
    found = json.loads(done.stdout)
    return {kind: dict(sorted(versions.items())) for kind, versions in found.items()}
