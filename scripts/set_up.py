"""Install this checkout and what it needs into `.venv`, by uv.

Usage: set_up.py demo|all, with the Python that `.venv` is to have. `demo` installs what `make demo`
measures, `all` what tests and tools need, too. The standard library is enough to run it.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = ROOT / ".venv" / "bin"
EXTRAS = {"demo": "register_denoise,segment,contact,track", "all": "all,dev,docs"}
UV_OF_PIP = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "constraint": ("UV_CONSTRAINT", " "),
}
"""Variable of uv, and what separates its values, by a setting of pip.

uv reads no configuration of pip, where many sites name their own package index.
"""


def uv_variables(pip_config: str) -> dict[str, str]:
    """Variables of uv that say what `pip config list` has printed."""
    # The environment goes before files.
    lines = sorted(pip_config.splitlines(), key=lambda line: line.startswith(":env:"))
    pairs = (line.partition("=") for line in lines)
    settings = {key.rpartition(".")[2]: ast.literal_eval(value) for key, _, value in pairs}
    return {
        variable: separator.join(settings[name].split())
        for name, (variable, separator) in UV_OF_PIP.items()
        if name in settings
    }


def main() -> None:
    """Set up the checkout."""
    if sys.version_info < (3, 11):  # noqa: UP036 - an older one is what this is for
        version = sys.version.partition(" ")[0]
        sys.exit(f"error: Python {version} is too old: make setup PYTHON=python3.11, or newer")
    extras = EXTRAS[sys.argv[1]]
    constraints = ["--constraint", "constraints.txt"]
    if not (BIN / "uv").exists():
        subprocess.run([sys.executable, "-m", "venv", BIN.parent], check=True)
        pip = [BIN / "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *constraints, "uv"], cwd=ROOT, check=True)
    told = subprocess.run(
        [BIN / "pip", "config", "list"], check=True, capture_output=True, text=True
    )
    line = [BIN / "uv", "pip", "install", "--system-certs", *constraints]
    # As pip does: a site's own build of torch counts as newer than that of the index.
    line += ["--index-strategy", "unsafe-best-match", "--editable", f".[{extras}]"]
    variables = os.environ | uv_variables(told.stdout) | {"VIRTUAL_ENV": str(BIN.parent)}
    subprocess.run(line, cwd=ROOT, env=variables, check=True)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
