import os

import pytest

from programs import put_program
from pyscale.images.buildlog import BuildLog
from pyscale.images.engine import Engine
from pyscale.images.enginebuild import Builds


@pytest.mark.parametrize(
    ("compressors", "quickly", "taken"),
    [("gzip\n zstd", True, "zstd"), ("gzip\n zstd", False, "gzip"), ("gzip", True, "gzip")],
)
def test_what_this_machine_alone_reads_is_compressed_by_zstd_where_there_is_one(
    tmp_path, monkeypatch, compressors, quickly, taken
):
    answers = 'case "$*" in *--help*) echo --build-arg --mksquashfs-args;; *) echo "$@";; esac'
    for name, body in (("apptainer", answers), ("mksquashfs", f"echo ' {compressors}' >&2")):
        put_program(tmp_path, name, body)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    definition, said = tmp_path / "tool.def", []
    definition.write_text("Bootstrap: scratch\n")
    builds = Builds(Engine(str(tmp_path / "apptainer"), "apptainer", "1.4.5"))
    with BuildLog(tmp_path / "logs", "tool") as log:
        target, scratch = tmp_path / "made.sif", tmp_path / "scratch"
        builds.build(definition, {}, target, scratch, log=log, hear=said.append, quickly=quickly)
    assert f"--mksquashfs-args -comp {taken} -Xcompression-level 1" in said[-1]
