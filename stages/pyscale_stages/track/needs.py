"""What tracking needs: Java and TrackMate's jars, where TrackMate links."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pyscale_stages.declaration import Needs
from pyscale_stages.track import jvm
from pyscale_stages.track.params import TrackParams

if TYPE_CHECKING:
    from pyscale_stages.trying import Trying


def look(params: TrackParams, _device: str, here: bool) -> None:
    """Look for the jars, and for Java where it will run."""
    if params.backend != "trackmate":
        return
    jars = jvm.jars_folder(params.trackmate_jars, os.environ)
    if jars is not None:
        jvm.trackmate_jars(jars)
    if here:
        jvm.configure(from_maven=False, threads=1, heap_mib=None)


def try_out(trying: Trying) -> None:
    """Track two cells."""
    backend = trying.params.backend
    if backend == "trackmate":
        _trackmate(trying)
        return
    _two_cells(trying, backend)


def _two_cells(trying: Trying, tracker: str) -> None:
    trying.step("track two cells")
    if trying.two_cells(objects=4) is not None:
        trying.ok("works", f"{tracker} tracked two cells through two frames")


def _trackmate(trying: Trying) -> None:
    """Start Java as a task would, and ask it; Maven is not asked, because runs must not need it."""
    params = trying.params
    jars = jvm.jars_folder(params.trackmate_jars, os.environ)
    heap_mib = jvm.fitting_heap_mib(params.trackmate_heap_mib, os.environ)
    trying.step("find Java")
    jvm.configure(from_maven=False, threads=trying.threads, heap_mib=heap_mib)
    if jars is None:
        _maven_cache(trying)
        return
    trying.step(f"start Java with the jars of {jars}")
    jvm.start(jars)
    from scyjava import jimport

    runtime = jimport("java.lang.Runtime")
    version = jvm.java_version()
    heap = int(runtime.getRuntime().maxMemory()) // 2**20
    # Java 8 calls itself 1.8.
    feature = int(version.removeprefix("1.").partition(".")[0].partition("-")[0])
    if feature < 11:
        trying.problem("java", f"Java {version} is too old for TrackMate", "install OpenJDK 21")
        return
    headless = bool(jimport("java.awt.GraphicsEnvironment").isHeadless())
    said = f"Java {version}, heap {heap} MiB, {'headless' if headless else 'with a display'}"
    if heap_mib is None:
        trying.warning(
            "java",
            f"{said}: the heap is Java's default, a quarter of the machine's memory, because no "
            "limit is set",
            "set trackmate_heap_mib under [stages.track] in pyscale.toml, or run in a job",
        )
    else:
        trying.ok("java", said)
    _preferences(trying)
    _two_cells(trying, f"TrackMate of {jars}")


def _preferences(trying: Trying) -> None:
    """Lock Java's preferences as ImageJ does, which needs a home folder that locks files."""
    from scyjava import jimport

    trying.step("lock Java's preferences")
    store = jimport("java.util.prefs.BackingStoreException")
    try:
        jimport("java.util.prefs.Preferences").userRoot().flush()
    except store as error:
        trying.warning(
            "preferences",
            f"Java cannot lock its preferences in the home folder ({error})",
            "make ~/.java writable, on a filesystem with locks",
        )


def _maven_cache(trying: Trying) -> None:
    artefacts = [coordinate.split(":") for coordinate in jvm.MAVEN_COORDINATES]
    cache = Path.home() / ".m2" / "repository"
    absent = [
        ":".join((group, name, version))
        for group, name, version in artefacts
        if not (cache / group.replace(".", "/") / name / version).is_dir()
    ]
    if absent:
        trying.problem(
            "jars",
            "TrackMate's jars are neither configured nor in Maven's cache "
            f"({', '.join(absent)}), so a measured task would fetch them",
            f"name a Fiji folder in {jvm.JARS_VARIABLE}, or run the stage once with network access",
        )
    else:
        trying.ok("jars", f"Maven's cache has {' and '.join(jvm.MAVEN_COORDINATES)}")


NEEDS = Needs(
    of_choice={
        ("backend", "trackmate"): (("jpype", "scyjava"), "track_trackmate"),
        ("backend", "overlap"): (("polars",), "track"),
        ("backend", "sparse"): (("scipy.sparse.csgraph", "polars"), "track"),
    },
    deciding=("backend", "trackmate_jars", "trackmate_heap_mib"),
    look=look,
    try_out=try_out,
)
