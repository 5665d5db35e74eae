"""Python environments that hold another copy of the stages, beside all else that is here."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pyscale_stages

CODE = Path(pyscale_stages.__file__).parent


def base_environment(folder, *, has_stages=True):
    """Make an environment; return the folder of its packages."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", "--symlinks", folder], check=True
    )
    (packages,) = folder.glob("lib/python3*/site-packages")
    if has_stages:
        shutil.copytree(CODE, packages / CODE.name, ignore=shutil.ignore_patterns("__pycache__"))
        # Libraries come from here; folders that this environment adds to them do not.
        (packages / "libraries.pth").write_text(f"{sysconfig.get_paths()['purelib']}\n")
    return packages


def replace_in(file, old, new):
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{file} has {old!r} {text.count(old)} times"
    file.write_text(text.replace(old, new), encoding="utf-8")
