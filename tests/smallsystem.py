"""A system of a shell and a few programs, from which images for tests are made in a moment."""

import re
import shutil
import subprocess
from pathlib import Path

from pyscale.images.catalog import ImageDefinition
from pyscale_stages.declaration import Image

CONTACT = ImageDefinition("contact", "contact", Image(after_code="echo code >/after_code"))
"""An image that is built on the system."""


def small_system():
    """Definition of the system, for a container program to build it."""
    lines = "".join(f"    {source} {inside}\n" for inside, source in _files().items())
    return f"Bootstrap: scratch\n\n%files\n{lines}"


def _files():
    """Each file of the system by its path inside, with where it is here."""
    files = {}
    for name in ("sh", "sleep", "cat", "touch", "chmod", "ln", "rm"):
        program = shutil.which(name)
        assert program is not None
        files[f"/bin/{name}"] = program
        said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        files |= {library: library for library in re.findall(r"(/\S+) \(0x", said)}
    return {inside: Path(source).resolve() for inside, source in sorted(files.items())}
