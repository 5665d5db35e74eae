"""How pyscale itself is cited."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_citation_is_of_this_version_and_licence():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    fields = dict(
        re.findall(r"^(version|license): (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    )
    assert fields == {"version": project["version"], "license": project["license"]}
