"""What can be known of the backend trackmate without TrackMate's own jars.

A real Java machine runs here. Where TrackMate itself would be needed, classes with the
signatures of TrackMate 7.14 stand in for it: they refuse what it refuses, link each spot to the
nearest one, close gaps and find divisions, so that the whole way from labels through Java to tables
is walked.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import polars as pl
import pytest

from pyscale_stages.contract import TaskResult
from pyscale_stages.errors import MissingPart, ResourceExhausted
from pyscale_stages.measure.cgroups import Limits
from pyscale_stages.track import jvm
from refusals import refused

PATIENCE_S = 480.0
SOON_S = 240.0
"""Less than a network takes that is asked for each jar in vain; a busy machine takes long, too."""
JAVA_SOURCES = Path(__file__).with_name("trackmate_standin")


@pytest.fixture
def jdk(missing):
    if shutil.which("javac") is None or shutil.which("jar") is None:
        missing("a Java development kit", "apt-get install openjdk-17-jdk-headless")


@pytest.fixture
def standin_jars(jdk, tmp_path):
    folder, classes = tmp_path / "jars", tmp_path / "classes"
    folder.mkdir()
    sources = [str(path) for path in sorted(JAVA_SOURCES.rglob("*.java"))]
    subprocess.run(["javac", "-d", str(classes), *sources], check=True)
    jar = folder / "TrackMate-standin.jar"
    subprocess.run(["jar", "--create", "--file", str(jar), "-C", str(classes), "."], check=True)
    return folder


def in_new_process(*arguments, environment=None):
    """Run Python apart: a Java machine starts once in a process and stays."""
    return subprocess.run(
        [sys.executable, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **(environment or {})},
    )


def stage_arguments(labels, tmp_path, **params):
    params_file = tmp_path / "params.json"
    params_file.write_text(json.dumps({"backend": "trackmate", **params}))
    options = {"input": labels, "output": tmp_path / "out", "params": params_file}
    options["result"] = tmp_path / "result.json"
    line = ["-m", "pyscale_stages", "track", "run"]
    return line + [text for name, path in options.items() for text in (f"--{name}", str(path))]


@pytest.mark.slow
def test_gaps_and_divisions_come_back_from_java_and_lone_cells_are_warned_of(
    standin_jars, label_movie, tmp_path
):
    moving = [[(20, 20 + 2 * t), (70, 60)] for t in range(6)]
    moving[2] = [(70, 60)]  # lost for a frame
    for t in range(3, 6):
        moving[t].append((70, 68 + t))  # the daughter of the second cell
    for t in range(6):
        moving[t].append((8 + 16 * t, 110 - 60 * (t % 2)))  # never twice in a place
    params = {"trackmate_jars": str(standin_jars), "splitting_distance_px": 12.0}
    done = in_new_process(*stage_arguments(label_movie([*moving, []]), tmp_path, **params))
    assert done.returncode == 0, done.stderr
    tracks = pl.read_parquet(tmp_path / "out" / "tracks.parquet")
    assert tracks["x_px"].to_list()[:3] == [20.0, 60.0, 110.0]
    by_track = {name: set(rows["frame"]) for (name,), rows in tracks.group_by("track_id")}
    whole = [frames for frames in by_track.values() if len(frames) > 1]
    assert sorted(map(sorted, whole)) == [[0, 1, 2], [0, 1, 3, 4, 5], [3, 4, 5], [3, 4, 5]]
    assert "6 of 20 cells have no link: TrackMate leaves out" in done.stderr

    result = TaskResult.model_validate_json((tmp_path / "result.json").read_bytes())
    assert result.versions["TrackMate"] == "7.14.0"
    assert re.match(r"\d+\.", result.versions["Java"])
    assert "pyimagej" not in result.versions
    spent = {span.phase: span.wall_s for span in result.spans}
    assert spent["model_load"] > 0
    unattributed = result.wall_s - sum(span.wall_s for span in result.spans)
    assert unattributed < 0.02 * result.wall_s, (unattributed, spent)


def patched(jars, name, change):
    """Change a class of the stand-in, or take it out (None)."""
    (jar,) = jars.glob("*.jar")
    with zipfile.ZipFile(jar) as before:
        members = {one: before.read(one) for one in before.namelist()}
    content = members.pop(f"fiji/plugin/trackmate/{name}.class")
    if change is not None:
        members[f"fiji/plugin/trackmate/{name}.class"] = change(content)
    with zipfile.ZipFile(jar, "w") as after:
        for one, data in members.items():
            after.writestr(one, data)


def for_java_21(content):
    return content[:6] + (65).to_bytes(2, "big") + content[8:]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("Model", for_java_21, "cannot be loaded by Java 17"),
        ("SpotCollection", None, "fiji/plugin/trackmate/SpotCollection"),
    ],
)
def test_jars_that_java_cannot_load_are_a_missing_part(
    standin_jars, label_movie, tmp_path, name, change, said
):
    patched(standin_jars, name, change)
    labels = label_movie([[(20, 20)]] * 3)
    done = in_new_process(*stage_arguments(labels, tmp_path, trackmate_jars=str(standin_jars)))
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert f"name another Fiji folder as trackmate_jars or in {jvm.JARS_VARIABLE}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_heap_that_runs_out_is_no_bad_input(standin_jars, label_movie, tmp_path):
    params = {"trackmate_jars": str(standin_jars), "trackmate_heap_mib": 64}
    # The stand-in takes more than it has for so large a distance.
    labels = label_movie([[(20, 20)]] * 3)
    done = in_new_process(*stage_arguments(labels, tmp_path, max_distance_px=2e6, **params))
    assert done.returncode == 3, done.stderr
    assert "MiB ran out: raise trackmate_heap_mib" in done.stderr


@pytest.mark.slow
def test_without_jars_and_network_the_way_to_get_them_is_said_soon(label_movie, tmp_path):
    nowhere = "http://127.0.0.1:9"
    offline = {"HOME": str(tmp_path), "HTTPS_PROXY": nowhere, "HTTP_PROXY": nowhere}
    offline |= {"https_proxy": nowhere, "http_proxy": nowhere, jvm.JARS_VARIABLE: ""}
    start = time.monotonic()
    labels = label_movie([[(20, 20)]] * 3)
    done = in_new_process(*stage_arguments(labels, tmp_path), environment=offline)
    assert time.monotonic() - start < SOON_S
    assert done.returncode == 2
    sentence = done.stderr.strip().splitlines()[-1]
    assert "sc.fiji:TrackMate:7.14.0" in sentence
    assert f"name a Fiji folder as trackmate_jars or in {jvm.JARS_VARIABLE}" in sentence
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_jars_are_those_of_the_parameter_or_the_environment_and_hold_trackmate(tmp_path):
    (tmp_path / "ij-1.54.jar").touch()
    with refused(MissingPart):
        jvm.trackmate_jars(tmp_path)
    (tmp_path / "TrackMate-7.14.0.jar").touch()
    assert [Path(jar).name for jar in jvm.trackmate_jars(tmp_path)] == [
        "TrackMate-7.14.0.jar",
        "ij-1.54.jar",
    ]
    for part in ("jars/ij-1.54.jar", "plugins/TrackMate-8.1.6.jar", "java/lib/rt.jar"):
        jar = tmp_path / "Fiji.app" / part
        jar.parent.mkdir(parents=True)
        jar.touch()
    of_fiji = [Path(jar).name for jar in jvm.trackmate_jars(tmp_path / "Fiji.app")]
    assert of_fiji == ["ij-1.54.jar", "TrackMate-8.1.6.jar"]
    environment = {jvm.JARS_VARIABLE: "/opt/fiji"}
    assert jvm.jars_folder("/data/jars", environment) == Path("/data/jars")
    assert jvm.jars_folder(None, environment) == Path("/opt/fiji")
    assert jvm.jars_folder(None, {}) is None


@pytest.mark.parametrize(
    ("group_bytes", "environment", "heap_mib"),
    [
        (None, {}, None),
        (None, {"SLURM_MEM_PER_NODE": "0"}, None),
        (None, {"SLURM_MEM_PER_NODE": "4000"}, 3000),
        (None, {"SLURM_MEM_PER_CPU": "1000", "SLURM_CPUS_PER_TASK": "4"}, 3000),
        (2000 << 20, {"SLURM_MEM_PER_NODE": "4000"}, 1500),
    ],
)
def test_the_heap_follows_the_job_or_its_control_group_and_not_the_node(
    group_bytes, environment, heap_mib, monkeypatch
):
    group = Limits(version="2", memory_bytes=group_bytes, cpus=None)
    monkeypatch.setattr(jvm, "limits", lambda: group)
    assert jvm.fitting_heap_mib(None, environment) == heap_mib
    assert jvm.fitting_heap_mib(64, environment) == 64


@pytest.fixture
def unlimited(monkeypatch):
    nothing = Limits(version="none", memory_bytes=None, cpus=None)
    monkeypatch.setattr(jvm, "limits", lambda: nothing)


@pytest.mark.slow
def test_java_has_the_heap_and_the_threads_that_it_is_given_and_no_screen():
    program = """
import json
from pyscale_stages.track import jvm
jvm.configure(from_maven=False, threads=1, heap_mib=128)
jvm.java_map({})
from scyjava import jimport
runtime = jimport("java.lang.Runtime").getRuntime()
headless = str(jimport("java.lang.System").getProperty("java.awt.headless"))
print(json.dumps([int(runtime.maxMemory()) >> 20, int(runtime.availableProcessors()), headless]))
"""
    done = in_new_process("-c", program)
    assert done.returncode == 0, done.stderr
    heap_mib, *others = json.loads(done.stdout)
    # A collector may keep a survivor space of the heap to itself.
    assert 96 <= heap_mib <= 128
    assert others == [1, "true"]


def test_a_heap_larger_than_the_job_is_refused(unlimited):
    with refused(ResourceExhausted):
        jvm.fitting_heap_mib(5000, {"SLURM_MEM_PER_NODE": "4000"})
    with pytest.raises(ResourceExhausted, match="lower it"):
        jvm.fitting_heap_mib(1 << 40, {})
