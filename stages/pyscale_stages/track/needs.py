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
    """Track two cells; Maven is not asked, because runs must not need it."""
    jars = jvm.jars_folder(trying.params.trackmate_jars, os.environ)
    if trying.params.backend == "trackmate" and jars is None:
        trying.step("find Java")
        jvm.configure(from_maven=False, threads=trying.threads, heap_mib=None)
        _maven_cache(trying)
        return
    trying.small(objects=4)


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
