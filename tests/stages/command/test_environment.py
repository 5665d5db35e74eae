import json
import os
import sys
from pathlib import Path

import pytest

from pyscale_stages.command import environment as environments
from pyscale_stages.command.environment import environment_of, found_program, look, versions_of
from pyscale_stages.command.params import CommandParams
from pyscale_stages.errors import BadInput, MissingPart
from pyscale_stages.telling import TOLD_VARIABLE
from refusals import refused


@pytest.fixture
def environment(tmp_path):
    prefix = tmp_path / "environment"
    package = prefix / "lib/python3.12/site-packages/scikit_image-0.25.2.dist-info"
    for folder in (prefix / "bin", prefix / "conda-meta", package):
        folder.mkdir(parents=True)
    (package / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: scikit-image\nVersion: 0.25.2\n"
    )
    program = prefix / "bin/segment"
    program.write_text("")
    program.chmod(0o755)
    for name, version in (("fftw", "3.3.10"), ("fftw-static", "9.9")):
        told = {"name": name, "version": version}
        (prefix / f"conda-meta/{name}-{version}-0.json").write_text(json.dumps(told))
    return prefix


def step_of(prefix, *packages, named=True):
    program = "segment" if named else str(prefix / "bin/segment")
    return CommandParams(
        command=(program, "{input}", "{output}"),
        environment=prefix if named else None,
        packages=packages,
    )


@pytest.mark.parametrize("named", [True, False])
def test_versions_of_packages_are_recorded(environment, named):
    step = step_of(environment, "scikit-image", "fftw", named=named)
    found = {name: told for name, told in versions_of(step).items() if name != "segment"}
    assert found == {"scikit-image": "0.25.2", "fftw": "3.3.10"}


@pytest.mark.parametrize(
    ("command", "here"),
    [
        ("python there.py {input} {output}", True),
        ("python {folder}/absent.py {input} {output}", True),
        ("python -m absent.py {input} {output}", True),
        ("python /opt/absent.py {input} {output}", False),
        ("copy {input} {output} absent.py", False),
    ],
)
def test_a_script_that_is_there_or_may_be_elsewhere_is_taken(tmp_path, command, here):
    (tmp_path / "there.py").touch()
    assert look(CommandParams(command=command, folder=tmp_path), "cpu", here) is None


@pytest.mark.parametrize("here", [True, False])
def test_a_script_that_is_not_there_is_named_before_anything_runs(tmp_path, here):
    with refused(BadInput):
        look(
            CommandParams(command="python nosuch.py {input} {output}", folder=tmp_path), "cpu", here
        )


@pytest.fixture
def modules(tmp_path, monkeypatch, missing):
    """Environment modules of a site, of which one has a program and loads another."""
    if not Path("/etc/profile.d/modules.sh").is_file():
        missing("environment modules", "run scripts/provide_modules.sh as root")
    program = tmp_path / "tool" / "segment"
    program.parent.mkdir()
    program.write_text("")
    program.chmod(0o755)
    for module, told in (
        ("tool/1.2", f"module load library\nprepend-path PATH {program.parent}\n"),
        ("library/7", "setenv LIBRARY {a = b; c}\n"),
    ):
        file = tmp_path / "modulefiles" / module
        file.parent.mkdir(parents=True)
        file.write_text(f"#%Module\n{told}")
    monkeypatch.setenv("MODULEPATH", str(tmp_path / "modulefiles"))
    environments._loaded.cache_clear()


def loading(*names):
    return CommandParams(command=("segment", "{input}", "{output}"), modules=names)


@pytest.mark.usefixtures("modules")
def test_modules_are_loaded_with_their_versions_recorded_and_one_that_is_not_there_is_named(
    tmp_path,
):
    assert found_program(loading("tool")) == str(tmp_path / "tool" / "segment")
    assert environment_of(loading("tool"))["LIBRARY"] == "a = b; c"
    assert versions_of(loading("tool/1.2")) == {"module tool": "1.2", "module library": "7"}
    with pytest.raises(BadInput, match=r"modules tool none cannot be loaded \(.*'none'.*avail"):
        environment_of(loading("tool", "none"))


APPTAINER = """\
import json, os, sys
from pathlib import Path
seen = {name: value for name, value in os.environ.items() if name.startswith("APPTAINERENV_")}
Path(sys.argv[-1]).write_text(json.dumps({"words": sys.argv[1:], "seen": seen}))
"""


def test_a_container_gets_a_home_folder_that_can_be_written_and_variables_as_they_are(
    tmp_path, monkeypatch, step
):
    program, image = tmp_path / "bin" / "apptainer", tmp_path / "my.sif"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n{APPTAINER}")
    program.chmod(0o755)
    image.write_text("an image")
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    step.done("", "{input} {output}", image=str(image), split="none", output="told.json")
    told = json.loads((tmp_path / "out" / "told.json").read_text())
    assert told["words"][told["words"].index("--home") + 1] == "/tmp"
    assert "--env" not in told["words"]
    assert told["seen"]["APPTAINERENV_CUDA_VISIBLE_DEVICES"] == "0,1"
    assert f"APPTAINERENV_{TOLD_VARIABLE}" in told["seen"]


def test_a_package_that_is_not_there_is_named(environment):
    with refused(BadInput):
        versions_of(step_of(environment, "stardist"))


def test_a_machine_without_modules_is_named(monkeypatch):
    monkeypatch.setattr(environments, "LOAD", 'no-such-command "$@"')
    environments._loaded.cache_clear()
    with refused(MissingPart):
        environment_of(loading("tool"))
