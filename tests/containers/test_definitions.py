import re
import subprocess
from pathlib import Path

import pytest

from pyscale.images.catalog import catalog
from pyscale.resources import shipped
from pyscale_stages.registry import STAGE_NAMES, load_stage

CONTAINERS = shipped("containers")
SCRIPTS = sorted((CONTAINERS / "scripts").iterdir())


def test_every_stage_has_an_image_with_its_lock_and_no_lock_is_left_over():
    inside = {name for name in STAGE_NAMES if not load_stage(name).runs_outside}
    of_stages = {d.name: d for d in catalog().values() if d.stage in STAGE_NAMES}
    assert {definition.stage for definition in of_stages.values()} == inside
    locks = {definition.lock_file for definition in of_stages.values()}
    assert set((CONTAINERS / "locks").iterdir()) == locks


def test_bases_hold_the_same_packages():
    included = re.search(r"^Include: (.*)$", (CONTAINERS / "base.def").read_text(), re.MULTILINE)
    installed = re.search(r"recommends (.*)$", (CONTAINERS / "base_docker.def").read_text(), re.M)
    assert included is not None
    assert installed is not None
    assert included[1] == installed[1]


@pytest.mark.parametrize(
    "file", [*sorted(CONTAINERS.glob("*.def")), *SCRIPTS], ids=lambda p: p.name
)
def test_no_step_names_a_host_or_deletes_what_a_build_shares_with_the_machine(file):
    text = file.read_text()
    assert "://" not in text
    steps = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    deleting = [line for line in steps if re.search(r"\brm\b|-delete|\bmv\b|>\s*/", line)]
    shared = re.compile(r"/tmp|/var/tmp|/root|/home|\$HOME|~")
    assert [line for line in deleting if shared.search(line)] == []
    if file in SCRIPTS:
        # Images have no other shell.
        subprocess.run(["sh", "-n", str(file)], check=True)
        assert text.startswith("#!/bin/sh\n")


def test_emptying_a_folder_spares_all_that_is_bound_into_it_or_over_it(tmp_path, missing):
    """A build sees folders of the machine; deleting there would delete the user's files."""
    host = tmp_path / "host"
    for folder in (host, tmp_path / "own" / "deep", tmp_path / "over", tmp_path / "above" / "in"):
        folder.mkdir(parents=True)
    for file in (host / "keep", tmp_path / "own" / "deep" / "a", tmp_path / "above" / "keep"):
        file.write_text("here")
    (host / "below").mkdir()
    given = [tmp_path / "own", tmp_path / "over", tmp_path / "over" / "below", tmp_path / "above"]
    steps = (
        'mount --bind "$1/host" "$1/over" && mount --bind "$1/host" "$1/above/in" && '
        'script=$2 && shift 2 && sh "$script" "$@"'
    )
    namespace = ["unshare", "--map-root-user", "--mount"]
    if subprocess.run([*namespace, "true"], check=False, capture_output=True).returncode:
        missing("a mount namespace", "allow user namespaces on this machine")
    empty = str(CONTAINERS / "scripts" / "empty.sh")
    answer = subprocess.run(
        [*namespace, "sh", "-c", steps, "sh", str(tmp_path), empty, *map(str, given)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert sorted(p.name for p in host.iterdir()) == ["below", "keep"]
    assert (tmp_path / "above" / "keep").is_file()
    for folder in given[1:]:
        assert f"{folder} is not the image's own folder: left as it is" in answer.stderr
    # In a build the image's folders lie on its root.
    if tmp_path.stat().st_dev == Path("/").stat().st_dev:
        assert list((tmp_path / "own").iterdir()) == []


@pytest.mark.parametrize("excepted", [(), ("--except", "copyright")])
def test_emptying_a_folder_may_leave_licences_and_what_leads_to_them(excepted, tmp_path, missing):
    if tmp_path.stat().st_dev != Path("/").stat().st_dev:
        missing("a folder on the root file system", "let --basetemp name one")
    docs = tmp_path / "doc"
    for folder in ("libfoo", "examples/deep"):
        (docs / folder).mkdir(parents=True)
    for name in ("libfoo/copyright", "libfoo/changelog.gz", "examples/deep/readme"):
        (docs / name).write_text("text")
    (docs / "libfoo-dev").symlink_to("libfoo")
    (docs / "libfoo" / "NEWS").symlink_to("changelog.gz")
    (docs / "manual").symlink_to("examples")
    script = CONTAINERS / "scripts" / "empty.sh"
    subprocess.run(["sh", str(script), *excepted, str(docs)], check=True)
    left = sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*"))
    assert left == (["libfoo", "libfoo-dev", "libfoo/copyright"] if excepted else [])
