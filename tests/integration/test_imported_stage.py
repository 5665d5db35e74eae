"""A tool that another format describes, from its description to the report."""

import shutil
import sys

import pytest

from pyscale.store.folder import RunFolder

pytestmark = pytest.mark.slow


def test_a_tool_of_cwl_runs_over_the_files_of_a_folder(pyscale, home, shared_data):
    images = home / "my images"
    images.mkdir()
    for path in sorted((shared_data / "drosophila-nuclei").glob("*.tif"))[:4]:
        shutil.copy(path, images)
    (home / "brightest.py").write_text(
        "import sys, tifffile\nimage = tifffile.imread(sys.argv[2])\n"
        "print(image.max() * float(sys.argv[1]))\n"
    )
    (home / "brightest.cwl").write_text(
        "cwlVersion: v1.2\nclass: CommandLineTool\n"
        f"baseCommand: [{sys.executable}, brightest.py]\n"
        "inputs:\n"
        "  image: {type: File, inputBinding: {position: 2}}\n"
        "  times: {type: float, default: 1.0, inputBinding: {position: 1}}\n"
        "outputs:\n  found: stdout\nstdout: found.txt\n"
    )
    told = pyscale("stage", "import", "brightest.cwl", "--output", "brightest.toml")
    assert told.code == 0, told.err
    told = pyscale(
        *("run", "brightest.toml", "--data", images, "--set", "brightest.times=2"),
        *("--workers", "1,2", "--repeats", "1", "--keep-outputs", "all"),
    )
    assert told.code == 0, told.err
    assert "Outputs: same bytes at every N." in told.text
    (path,) = (home / "runs").iterdir()
    run = RunFolder(path)
    output = run.output(run.plan.trial("brightest-n2-b1")) / "output"
    found = {file.name: float(file.read_text()) for file in output.iterdir()}
    assert {*found} == {f"{file.stem}.txt" for file in images.iterdir()}
    assert min(found.values()) > 0
