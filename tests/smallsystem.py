"""A system of a shell and a few programs, from which images for tests are built in a moment."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path


def small_system() -> str:
    """Definition of a system of a shell and a few programs, with the libraries that they need."""
    files: dict[str, str] = {}
    for name in ("sh", "sleep", "cat", "touch", "chmod", "ln", "rm"):
        program = shutil.which(name)
        assert program is not None
        files[f"/bin/{name}"] = program
        said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        files |= {library: library for library in re.findall(r"(/\S+) \(0x", said)}
    lines = "".join(
        f"    {Path(source).resolve()} {inside}\n" for inside, source in sorted(files.items())
    )
    return f"Bootstrap: scratch\n\n%files\n{lines}"
