"""Checks inside the interpreter that runs a stage, natively or in an image.

The source of this module is sent there as a program, because an image holds `pyscale_stages`
and nothing of the application. Each answer is a line of JSON with the fields of a `Finding`;
a line with the key `step` tells what begins, so that a process that dies is known to have died
there.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

_NO_NUMBA_CACHE = "no locator available"
"""What numba says where it finds no folder that it may write compiled functions to."""


class Teller:
    """Tells what is found of an entry of the suite, a line each."""

    def __init__(self, entry: str, out: TextIO) -> None:
        self._entry = entry
        self._out = out

    def step(self, what: str) -> None:
        """Say what begins now."""
        self._line(step=what)

    def ok(self, check: str, sentence: str, value: str = "") -> None:
        """Tell that something is well."""
        self._found(check, "ok", sentence, value=value)

    def warning(self, check: str, sentence: str, remedy: str, **more: str) -> None:
        """Tell of something that is not as one would think."""
        self._found(check, "warning", sentence, remedy=remedy, **more)

    def problem(self, check: str, sentence: str, remedy: str) -> None:
        """Tell of something that would end a task."""
        self._found(check, "problem", sentence, remedy=remedy)

    def refused(self, check: str, message: str) -> None:
        """Tell what a stage refuses, in its own sentence: what is wrong, then what to do."""
        sentence, _, remedy = message.rpartition(": ")
        self.problem(check, sentence or remedy, remedy if sentence else "")

    def _found(self, check: str, status: str, sentence: str, **more: str) -> None:
        said = f"{self._entry}: {sentence}"
        self._line(check=f"stage.{self._entry}.{check}", status=status, sentence=said, **more)

    def _line(self, **fields: str) -> None:
        print(json.dumps(fields), file=self._out, flush=True)


def ask(request: dict[str, Any], out: TextIO) -> None:
    """Answer what this interpreter can do for a stage."""
    from pyscale_stages.commandline import THREAD_VARIABLES
    from pyscale_stages.errors import StageError
    from pyscale_stages.registry import load_stage

    # As for a task: libraries read them when they are imported.
    for variable in THREAD_VARIABLES:
        os.environ[variable] = str(request["threads"])
    stage = load_stage(request["stage"])
    params = stage.params.model_validate(request["params"])
    tell = Teller(request["entry"], out)
    if not _libraries(tell, stage, request["modules"], params):
        return
    try:
        _CHECKS.get(stage.name, _loaded)(tell, params, request)
    except StageError as error:
        tell.refused("works", str(error))


def _libraries(tell: Teller, stage: Any, names: Iterable[str], params: Any) -> bool:
    """Import what the stage imports; tell the versions, or what is broken."""
    from pyscale_stages.runner import installed_versions

    if getattr(params, "backend", "laptrack") != "laptrack":
        names = tuple(name for name in names if name != "laptrack")
    for name in names:
        tell.step(f"import {name}")
        if not _imported(tell, name, stage.extra):
            return False
    python = f"Python {'.'.join(map(str, sys.version_info[:3]))}"
    versions = {
        package: f"{package} {version}"
        for package, version in installed_versions(stage.packages).items()
        if version != "not installed"
    }
    own = [said for package, said in versions.items() if package in stage.packages]
    tell.ok("libraries", ", ".join([python, *own]), ", ".join([python, *versions.values()]))
    return True


def _imported(tell: Teller, name: str, extra: str) -> bool:
    try:
        _import(name)
    except ModuleNotFoundError as error:
        remedy = _install(extra, error.name or name)
        tell.problem("libraries", f"the library {error.name} is not installed here", remedy)
        return False
    except Exception as error:  # whatever a broken library raises
        said = str(error).strip().partition("\n")[0]
        if _NO_NUMBA_CACHE in said:
            tell.problem(
                "libraries",
                f"{name} cannot be imported, because numba finds no writable cache folder ({said})",
                "set NUMBA_CACHE_DIR to a writable folder",
            )
        else:
            tell.problem(
                "libraries",
                f"{name} is installed but cannot be imported ({type(error).__name__}: {said})",
                _install(extra, name, again=True),
            )
        return False
    return True


def _install(extra: str, *missing: str, again: bool = False) -> str:
    # An image of an earlier version has no such module: only what fails asks for it.
    from pyscale_stages.libraries import how_to_install

    return how_to_install(extra, missing, again=again)


def _import(name: str) -> None:
    if name == "torchvision":
        # Beside a CPU build of torch it cannot be imported by itself.
        from pyscale_stages.torchvision_cpu import make_importable

        make_importable()
        return
    import_module(name)


def _register_denoise(tell: Teller, params: Any, request: dict[str, Any]) -> None:  # noqa: ARG001
    import ants
    import numpy as np

    tell.step("denoise a small image with ANTs")
    before = _threads_of_this_process()
    noise = np.random.default_rng(0).random((64, 64), dtype=np.float32)
    ants.denoise_image(ants.from_numpy(noise))
    if before is None:
        tell.ok("works", "ANTs denoised a small image")
        return
    # ITK starts its pool of threads with the first filter, and never makes it smaller.
    pool = (_threads_of_this_process() or before) - before
    if pool > request["threads"]:
        tell.warning(
            "works",
            f"ITK runs {pool} threads instead of {request['threads']} "
            "(ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS)",
            "look for a library that is imported earlier and sets them, as in a sitecustomize",
            value="other threads",
        )
    else:
        tell.ok(
            "works",
            f"ANTs denoised a small image with {pool} ITK threads",
            value="threads as asked for",
        )


def _segment(tell: Teller, params: Any, request: dict[str, Any]) -> None:
    from pyscale_stages.segment import models

    tell.step("find the weights")
    cellpose = models.installed_cellpose()
    needed = models.CELLPOSE_OF_MODEL.get(params.model, cellpose)
    models.refuse_other_version(params.model, needed, cellpose)
    _weights(tell, models.find_weights(params.model))
    tell.step(f"segment two small frames on {request['device']}")
    # No square of a real frame fits into those; that is the movie's affair.
    whole = {name: value for name, value in request["params"].items() if name != "length_px"}
    result = _task(tell, request | {"params": whole})
    if result is None:
        return
    if request["device"] == "cuda":
        _cuda_architecture(tell)
    tell.ok("works", f"Cellpose {cellpose} segmented two small frames on {request['device']}")


def _weights(tell: Teller, path: Path) -> None:
    """Hash the weights and hold them to what was recorded when they were trained."""
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    said = f"{path.name} ({path.stat().st_size / 2**20:.1f} MiB), sha256 {sha256[:12]}…"
    record = path.with_suffix(".json")
    expected = (
        json.loads(record.read_text(encoding="utf-8")).get("weights_sha256")
        if record.is_file()
        else None
    )
    if expected is not None and expected != sha256:
        tell.problem(
            "weights",
            f"the weights {path} differ from those that {record.name} records: sha256 is "
            f"{sha256[:12]}…, expected {expected[:12]}…",
            "install pyscale again",
        )
        return
    held = ", as recorded" if expected else ""
    tell.ok("weights", f"{said}{held}; nothing is fetched", sha256)


def _cuda_architecture(tell: Teller) -> None:
    """Compare what torch was compiled for with the card: PTX alone is compiled at each start."""
    import torch

    name = torch.cuda.get_device_name(0)
    major, minor = torch.cuda.get_device_capability(0)
    built = torch.cuda.get_arch_list()
    card = f"sm_{major}{minor}"
    said = f"torch {torch.__version__} for {', '.join(built)}; the card is {name} ({card})"
    # Binaries of one major version run on its later minor ones.
    fitting = [
        arch
        for arch in built
        if arch.startswith(f"sm_{major}")
        and arch[len(f"sm_{major}") :].rstrip("af").isdigit()
        and int(arch[len(f"sm_{major}") :].rstrip("af")) <= minor
    ]
    if fitting:
        tell.ok("gpu", said, value=f"{name}, torch {torch.__version__}")
    else:
        tell.warning(
            "gpu",
            f"{said}: it has no binary for the card and compiles at each start",
            "install a build of torch that lists the card's architecture",
            value=f"{name}, torch {torch.__version__}",
        )


def _of_machine(tell: Teller, params: Any, request: dict[str, Any]) -> None:  # noqa: ARG001
    if request["device"] == "cuda":
        _cuda_architecture(tell)
    tell.ok("works", "it needs only its libraries")


def _loader(tell: Teller, params: Any, request: dict[str, Any]) -> None:
    from pyscale_stages.loader.factories import factory_of

    tell.step(f"find the factory {params.factory}")
    factory_of(params)
    if request["device"] == "cuda":
        _cuda_architecture(tell)
    tell.ok("works", f"datasets are made by {params.factory}", params.factory)


def _reconstruct(tell: Teller, params: Any, request: dict[str, Any]) -> None:
    if params.projector == "astra":
        tell.step("import astra")
        if not _imported(tell, "astra", "reconstruct_astra"):
            return
    if request["device"] == "cuda":
        _cuda_architecture(tell)
    size_px = 32 if params.problem == "tomography_3d" else 64
    small = {"size_px": size_px, "whole_at_one": True, "gate": False}
    small |= {"iterations": 1, "warmup_iterations": 1}
    tell.step(f"reconstruct an image of {size_px} px on {request['device']}")
    with tempfile.TemporaryDirectory(prefix="pyscale-doctor-") as name:
        result = _ran(tell, request | {"params": request["params"] | small}, Path(name))
    if result is not None:
        version = result["versions"]["deepinv"]
        tell.ok("works", f"DeepInverse {version} reconstructed an image on {request['device']}")


def _contact(tell: Teller, params: Any, request: dict[str, Any]) -> None:
    tell.step("find the contacts of two cells")
    result = _task(tell, request, objects=2)
    if result is None:
        return
    versions = result["versions"]
    if not params.uses_opencl(request["device"]):
        tell.ok("works", "contacts were measured by NumPy", f"NumPy {versions['numpy']}")
        return
    device = f"{versions['opencl_device']} ({versions['opencl_driver']})"
    tell.ok("works", f"the kernels ran on the OpenCL device {device}", device)


def _track(tell: Teller, params: Any, request: dict[str, Any]) -> None:
    if params.backend == "trackmate":
        _trackmate(tell, params, request)
        return
    tell.step("track two cells")
    if _task(tell, request, objects=4) is not None:
        tell.ok("works", f"{params.backend} tracked two cells through two frames")


def _task(
    tell: Teller, request: dict[str, Any], objects: int | None = None
) -> dict[str, Any] | None:
    """Run the stage itself on two frames of two cells that touch; None where that fails.

    What the contract names is all that is used: an image may hold another version of the stage.

    `objects`: what the stage must find, where that is known.
    """
    import numpy as np

    from pyscale_stages.moviewriter import write_movie
    from pyscale_stages.registry import load_stage

    cells = np.zeros((2, 32, 32), np.uint16)
    for frame in range(2):
        # One pixel on in each frame.
        cells[frame, 4 + frame : 12 + frame, 4:12] = 1
        cells[frame, 4 + frame : 12 + frame, 12:20] = 2
    with tempfile.TemporaryDirectory(prefix="pyscale-doctor-") as name:
        folder = Path(name)
        write_movie(folder / "cells.ome.tif", cells, "TYX")
        result = _ran(tell, request, folder, "--input", str(folder / "cells.ome.tif"))
    if result is None:
        return None
    found = result["counters"]["objects"]
    if objects is not None and found != objects:
        tell.problem(
            "works",
            f"it finds {found} instead of {objects} objects in two frames of two cells",
            _install(load_stage(request["stage"]).extra, again=True),
        )
        return None
    return result


def _ran(
    tell: Teller, request: dict[str, Any], folder: Path, *inputs: str
) -> dict[str, Any] | None:
    """Run the stage in a folder, and return its record; None where it fails, and why is told."""
    from pyscale_stages.commandline import main

    (folder / "params.json").write_text(json.dumps(request["params"]), encoding="utf-8")
    line = [request["stage"], "run", *inputs]
    line += ["--output", str(folder / "out"), "--params", str(folder / "params.json")]
    line += ["--result", str(folder / "result.json"), "--device", request["device"]]
    main([*line, "--threads", str(request["threads"])], time.monotonic())
    result: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    if result["error"] is not None:
        tell.refused("works", result["error"]["message"])
        return None
    return result


def _trackmate(tell: Teller, params: Any, request: dict[str, Any]) -> None:
    """Start Java as a task would, and ask it; Maven is not asked, because runs must not need it."""
    from pyscale_stages.track import jvm

    jars = jvm.jars_folder(params.trackmate_jars, os.environ)
    heap_mib = jvm.fitting_heap_mib(params.trackmate_heap_mib, os.environ)
    tell.step("find Java")
    jvm.configure(from_maven=False, threads=request["threads"], heap_mib=heap_mib)
    if jars is None:
        _maven_cache(tell)
        return
    tell.step(f"start Java with the jars of {jars}")
    jvm.start(jars)
    from scyjava import jimport

    runtime = jimport("java.lang.Runtime")
    version = str(jimport("java.lang.System").getProperty("java.version"))
    heap = int(runtime.getRuntime().maxMemory()) // 2**20
    feature = int(version.removeprefix("1.").partition(".")[0].partition("-")[0])
    if feature < 11:
        tell.problem("java", f"Java {version} is too old for TrackMate", "install OpenJDK 17")
        return
    headless = bool(jimport("java.awt.GraphicsEnvironment").isHeadless())
    said = f"Java {version}, heap {heap} MiB, {'headless' if headless else 'with a display'}"
    if heap_mib is None:
        tell.warning(
            "java",
            f"{said}: the heap is Java's default, a quarter of the machine's memory, because no "
            "limit is set",
            "set trackmate_heap_mib under [stages.track] in pyscale.toml, or run in a job",
            value=version,
            source="java: MaxRAMPercentage is 25 where nothing else is said",
        )
    else:
        tell.ok("java", said, value=version)
    _preferences(tell)
    tell.step("load TrackMate's classes")
    jimport("fiji.plugin.trackmate.TrackMate")
    tell.ok("works", f"TrackMate loads from {jars}")


def _preferences(tell: Teller) -> None:
    """Lock Java's preferences as ImageJ does, which needs a home folder that locks files."""
    from scyjava import jimport

    tell.step("lock Java's preferences")
    store = jimport("java.util.prefs.BackingStoreException")
    try:
        jimport("java.util.prefs.Preferences").userRoot().flush()
    except store as error:
        tell.warning(
            "preferences",
            f"Java cannot lock its preferences in the home folder ({error})",
            "make ~/.java writable, on a filesystem with locks",
        )


def _maven_cache(tell: Teller) -> None:
    from pyscale_stages.track import jvm

    artefacts = [coordinate.split(":") for coordinate in jvm.MAVEN_COORDINATES]
    cache = Path.home() / ".m2" / "repository"
    absent = [
        ":".join((group, name, version))
        for group, name, version in artefacts
        if not (cache / group.replace(".", "/") / name / version).is_dir()
    ]
    if absent:
        tell.problem(
            "jars",
            "TrackMate's jars are neither configured nor in Maven's cache "
            f"({', '.join(absent)}), so a measured task would fetch them",
            f"name a Fiji folder in {jvm.JARS_VARIABLE}, or run the stage once with network access",
        )
    else:
        tell.ok("jars", f"Maven's cache has {' and '.join(jvm.MAVEN_COORDINATES)}")


def _threads_of_this_process() -> int | None:
    try:
        return len(list(Path("/proc/self/task").iterdir()))
    except OSError:
        return None


def _loaded(tell: Teller, params: Any, request: dict[str, Any]) -> None:  # noqa: ARG001
    """Tell of a stage of another package what is known without running it."""
    tell.ok("works", "its package is there, and can be loaded")


def _own_step(tell: Teller, params: Any, request: dict[str, Any]) -> None:  # noqa: ARG001
    """Find the user's program."""
    from pyscale_stages.command.environment import found_program

    tell.step("find the program")
    where = found_program(params)
    tell.ok("works", f"the program of the step is there: {where}", where)


_CHECKS: dict[str, Callable[[Teller, Any, dict[str, Any]], None]] = {
    "register_denoise": _register_denoise,
    "segment": _segment,
    "contact": _contact,
    "track": _track,
    "storage": _of_machine,
    "decompress": _of_machine,
    "kernels": _of_machine,
    "loader": _loader,
    "reconstruct": _reconstruct,
    "command": _own_step,
}


if __name__ == "__main__":
    # Libraries print what they like: the answers keep a channel of their own.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    ask(json.loads(sys.argv[1]), answers)
