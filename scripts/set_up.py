"""Make `.venv` with all that the checkout needs: a copy of what this user's cache keeps, or anew.

What is kept is named by what it was made from, so that another clone on the same machine begins
with it. Usage: set_up.py, with the Python that `.venv` is to have; the standard library is enough.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:
    version = sys.version.partition(" ")[0]
    sys.exit(
        f"error: Python {version} is too old for pyscale: make setup PYTHON=python3.11, or newer"
    )

ROOT = Path(__file__).resolve().parents[1]
VENV, LOG = ROOT / ".venv", ROOT / "build" / "setup.log"
MADE_FROM = ("constraints.txt", "scripts/set_up.py")
ASKED = ("requires-python", "dependencies", "optional-dependencies")
"""Of the project's own description: its settings of tools and words install nothing."""
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pyscale"
MADE_AT = "pyscale-made-at"
"""File in an environment with the path that its programs begin with."""


def kept_environment() -> Path:
    """Folder of the environment that these files and this Python make."""
    parts = [(ROOT / name).read_bytes() for name in MADE_FROM]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts += [json.dumps([project[name] for name in ASKED]).encode()]
    parts += [sys.version.encode(), sys.base_prefix.encode()]
    digest = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts))
    return CACHE / "environments" / digest.hexdigest()[:16]


def linked(source: Path, target: Path) -> None:
    """Copy a tree by hard links, which take no room: pip writes a new file and never into one."""
    shutil.copytree(source, target, symlinks=True, copy_function=os.link)


def moved() -> None:
    """Let the programs of a copied environment begin with its own Python."""
    before = (VENV / MADE_AT).read_bytes()
    for path in (VENV / "bin").iterdir():
        if not path.is_symlink() and before in (text := path.read_bytes()):
            mode = path.stat().st_mode
            path.unlink()  # the kept one has the same file
            path.write_bytes(text.replace(before, str(VENV).encode()))
            path.chmod(mode)


def pip(*words: str) -> None:
    """Install by a line of pip; its log is kept."""
    line = [VENV / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check"]
    with LOG.open("ab") as log:
        subprocess.run([*line, *words], cwd=ROOT, stdout=log, stderr=log, check=True)


def made() -> None:
    """Install everything."""
    subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    constraints = ("--constraint", "constraints.txt")
    # torch comes first and pinned: a range would pull another build with another package.
    pip(*constraints, "torch")
    pip(*constraints, "--editable", ".[all,dev,docs]")
    (VENV / MADE_AT).write_text(str(VENV))


def keep(kept: Path) -> None:
    """Keep a copy for the next checkout, and none of an earlier state."""
    shutil.rmtree(kept.parent, ignore_errors=True)
    kept.parent.mkdir(parents=True)
    if is_on_one_disk():
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            linked(VENV, Path(folder) / "venv")
            (Path(folder) / "venv").rename(kept)


def is_on_one_disk() -> bool:
    """Say whether the cache can hold an environment of this checkout without more room."""
    return CACHE.is_dir() and CACHE.stat().st_dev == ROOT.stat().st_dev


def main() -> None:
    """Set up the checkout."""
    LOG.parent.mkdir(exist_ok=True)
    LOG.unlink(missing_ok=True)
    shutil.rmtree(VENV, ignore_errors=True)
    kept = kept_environment()
    if kept.is_dir() and is_on_one_disk():
        print(f"setting up .venv from {kept}", flush=True)
        linked(kept, VENV)
        moved()
        pip("--no-deps", "--no-build-isolation", "--editable", ".")
    else:
        print(f"setting up .venv: about 3 minutes; log: {LOG.relative_to(ROOT)}", flush=True)
        made()
        keep(kept)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        if LOG.exists():
            sys.stderr.write(LOG.read_text(errors="replace")[-4000:])
        sys.exit(error.returncode)
