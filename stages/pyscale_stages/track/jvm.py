"""The Java virtual machine that TrackMate runs in, and what tracking needs of this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyscale_stages.contract import Surroundings
from pyscale_stages.declaration import Needs
from pyscale_stages.errors import MissingPart, ResourceExhausted
from pyscale_stages.libraries import how_to_install
from pyscale_stages.measure.cgroups import limits
from pyscale_stages.track.params import TrackParams

if TYPE_CHECKING:
    from pyscale_stages.trying import Trying


MAVEN_COORDINATES = ("net.imagej:imagej:2.16.0", "sc.fiji:TrackMate:7.14.0")
JARS_VARIABLE = "PYSCALE_TRACKMATE_JARS"
KNOWN_TRACKMATE = "TrackMate 7.10 or newer"
OTHER_JARS = f"name another Fiji folder as trackmate_jars or in {JARS_VARIABLE}"
FIJI_FOLDERS = ("jars", "plugins")
"""Folders of a Fiji with jars that it runs; its others belong to its own Java and to tools."""
HEAP_SHARE = 0.75
"""Share of the job's memory for Java's heap; Python and Java's own tables need the rest."""
MIB = 1 << 20

Setting = bool | int | float | Mapping[str, Any]


def configure(*, from_maven: bool, threads: int, heap_mib: int | None) -> None:
    """Import what starts the machine, and set its options."""
    try:
        import jpype
        import scyjava

        if from_maven:
            # Its import asks Maven for jars of its own, which a folder of jars does not need.
            import imagej  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingPart(
            f"the backend trackmate needs the library {error.name!r}, which is not installed "
            f"here: {how_to_install('track_trackmate')}"
        ) from error
    try:
        jpype.getDefaultJVMPath()
    except jpype.JVMNotFoundException as error:
        raise MissingPart(
            "the backend trackmate needs Java 11 or newer, and 21 or newer for TrackMate 8.1.1 "
            "or newer, but no Java was found: install OpenJDK 21 or set JAVA_HOME to it"
        ) from error
    # pyimagej 1.8.0 fails with "never"; Java was found above, so "auto" fetches none either.
    scyjava.config.set_java_constraints(fetch="auto")
    for option in options(threads=threads, heap_mib=heap_mib):
        scyjava.config.add_option(option)


def is_running() -> bool:
    """Whether this process has its machine already: it can have only one."""
    # Another backend never imports what would tell.
    started = sys.modules.get("scyjava")
    return started is not None and bool(started.jvm_started())


def start(jars: Path | None) -> None:
    """Start the machine of this process with TrackMate, of a folder of jars or of Maven."""
    if jars is None:
        _start_from_maven()
        return
    import scyjava

    scyjava.config.add_classpath(*trackmate_jars(jars))
    scyjava.start_jvm()


def options(*, threads: int, heap_mib: int | None) -> list[str]:
    """Command-line options of the machine."""
    # Java counts the node's processors and memory, not the job's, unless it is told.
    heap = [] if heap_mib is None else [f"-Xmx{heap_mib}m"]
    return ["-Djava.awt.headless=true", f"-XX:ActiveProcessorCount={threads}", *heap]


def fitting_heap_mib(wanted: int | None, environment: Mapping[str, str]) -> int | None:
    """Heap that fits into the job's memory; None where nothing is wanted or limits it.

    More than the job has is refused: Java would end the process without a word. Slurm names its
    memory in MiB per node or per CPU (0 is the whole node).
    """
    per_node = int(environment.get("SLURM_MEM_PER_NODE", 0))
    per_cpu = int(environment.get("SLURM_MEM_PER_CPU", 0))
    cpus = int(environment.get("SLURM_CPUS_PER_TASK", 1))
    of_group = limits().memory_bytes
    known = [per_node, per_cpu * cpus, 0 if of_group is None else of_group // MIB]
    job_mib = min((mib for mib in known if mib > 0), default=None)
    if wanted is None:
        return None if job_mib is None else int(HEAP_SHARE * job_mib)
    machine_mib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MIB
    there_mib = min(job_mib or machine_mib, machine_mib)
    if wanted > there_mib:
        raise ResourceExhausted(
            f"trackmate_heap_mib {wanted} is more than the {there_mib} MiB of this job: "
            "lower it, or give the job more memory"
        )
    return wanted


def jars_folder(param: str | None, environment: Mapping[str, str]) -> Path | None:
    """Folder of jars that the parameter or the environment names."""
    named = param or environment.get(JARS_VARIABLE)
    return Path(named) if named else None


def surroundings(params: TrackParams) -> Surroundings:
    """The folder of jars, where one is named; an image has its own."""
    jars = jars_folder(params.trackmate_jars, os.environ)
    if params.backend != "trackmate" or jars is None:
        return Surroundings()
    return Surroundings((jars,), {JARS_VARIABLE: str(jars)})


def trackmate_jars(folder: Path) -> list[str]:
    """All jars below a folder that holds TrackMate; of a Fiji folder those that it runs."""
    own = [place for name in FIJI_FOLDERS if (place := folder / name).is_dir()]
    jars = sorted(jar for place in own or [folder] for jar in place.rglob("*.jar"))
    if not any(jar.name.startswith("TrackMate") for jar in jars):
        raise MissingPart(
            f"{folder} holds no TrackMate jar: name a Fiji folder, or a folder with "
            f"{' and '.join(MAVEN_COORDINATES)} and their dependencies, as trackmate_jars or in "
            f"{JARS_VARIABLE}"
        )
    return [str(jar) for jar in jars]


@contextmanager
def errors_in_words() -> Iterator[None]:
    """Say what jars lack, or that memory ran out, in place of errors of Java."""
    from scyjava import jimport

    out_of_memory = jimport("java.lang.OutOfMemoryError")
    linkage = jimport("java.lang.LinkageError")
    try:
        yield
    except out_of_memory as error:
        raise heap_ran_out() from error
    except linkage as error:
        raise _lack_of_jars(str(error)) from error


def heap_ran_out() -> ResourceExhausted:
    """Say that the heap was too small, and which parameter sets it."""
    from scyjava import jimport

    heap_mib = int(jimport("java.lang.Runtime").getRuntime().maxMemory()) // MIB
    return ResourceExhausted(
        f"Java's heap of {heap_mib} MiB ran out: raise trackmate_heap_mib and the memory of the "
        "job, or give each worker fewer frames"
    )


def _lack_of_jars(said: str) -> MissingPart:
    """What an error says that Java raised when it loaded a class."""
    return MissingPart(
        f"TrackMate cannot be loaded by Java {java_version()} ({said.strip()}): {OTHER_JARS}, with "
        f"{KNOWN_TRACKMATE} and all its dependencies, or set JAVA_HOME to the Java that they need"
    )


def java_version() -> str:
    """Version of the Java that runs."""
    from scyjava import jimport

    return str(jimport("java.lang.System").getProperty("java.version"))


def versions() -> dict[str, str]:
    """Versions of TrackMate and Java, and of pyimagej where it brought them."""
    from scyjava import jimport

    with errors_in_words():
        trackmate = str(jimport("fiji.plugin.trackmate.TrackMate").PLUGIN_NAME_VERSION)
    fetched_by = {"pyimagej": version("pyimagej")} if "imagej" in sys.modules else {}
    return {"TrackMate": trackmate.removeprefix("v"), "Java": java_version(), **fetched_by}


def java_map(settings: Mapping[str, Setting]) -> Any:
    """Settings as `java.util.HashMap` with exactly the Java types that TrackMate asks for."""
    # scyjava makes a Float of a number that fits one, and TrackMate refuses any but Double.
    from scyjava import jimport

    converted = jimport("java.util.HashMap")()
    for key, value in settings.items():
        # bool is an int in Python: it must be asked for first.
        if isinstance(value, bool):
            java_value = jimport("java.lang.Boolean")(value)
        elif isinstance(value, int):
            java_value = jimport("java.lang.Integer")(value)
        elif isinstance(value, float):
            java_value = jimport("java.lang.Double")(value)
        else:
            java_value = java_map(value)
        converted.put(key, java_value)
    return converted


def _start_from_maven() -> None:
    import imagej

    try:
        imagej.init(list(MAVEN_COORDINATES), mode="headless", add_legacy=False)
    except (OSError, RuntimeError, ValueError) as error:
        raise MissingPart(
            f"TrackMate ({' and '.join(MAVEN_COORDINATES)}) could not be fetched from Maven "
            f"({type(error).__name__}): connect to the network once, or name a Fiji folder as "
            f"trackmate_jars or in {JARS_VARIABLE}"
        ) from error


def look(params: TrackParams, _device: str, here: bool) -> None:
    """Look for the jars, and for Java where it will run."""
    if params.backend != "trackmate":
        return
    jars = jars_folder(params.trackmate_jars, os.environ)
    if jars is not None:
        trackmate_jars(jars)
    if here:
        configure(from_maven=False, threads=1, heap_mib=None)


def try_out(trying: Trying) -> None:
    """Track two cells; Maven is not asked, because runs must not need it."""
    jars = jars_folder(trying.params.trackmate_jars, os.environ)
    if trying.params.backend != "trackmate" or jars is not None:
        trying.small(objects=4)
        return
    trying.step("find Java")
    configure(from_maven=False, threads=trying.threads, heap_mib=None)
    trying.warning(
        "jars",
        "no jars of TrackMate are named, so that tasks use those in Maven's cache, or fetch them",
        f"name a Fiji folder in {JARS_VARIABLE}, or run the stage once with network access",
    )


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
