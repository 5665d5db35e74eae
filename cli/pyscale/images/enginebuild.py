"""One build by the container program: from a definition to a SIF, interruptible, with its log."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from pyscale.errors import UserError
from pyscale.images.buildlog import BuildLog
from pyscale.images.content import FILE_TIME_S
from pyscale.images.engine import Engine
from pyscale.processes import ran
from pyscale_stages.errors import MissingPart, ResourceExhausted

GZIP, ZSTD = (f"-comp {name} -Xcompression-level 1" for name in ("gzip", "zstd"))
"""Why these: `docs/decisions/`, the record on layers of images."""

PATIENCE_S = 30.0
"""How long the program may clean up after it was told to end."""

_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


class Builds:
    """Builds by one container program, in whichever thread, to be ended together."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._ended = False

    def end(self) -> None:
        """End all, and whatever begins from now on; each fails in its own thread."""
        with self._lock:
            self._ended = True
            running = list(self._running)
        for process in running:
            _end(process)

    def build(
        self,
        definition_file: Path,
        variables: Mapping[str, str],
        target: Path,
        scratch: Path,
        *,
        log: BuildLog,
        hear: Callable[[str], None],
        quickly: bool,
    ) -> None:
        """Build one definition into a file beside which its relative paths are.

        What a failure leaves there is the caller's to remove. `quickly`: for this machine alone.
        """
        engine = self.engine
        has_zstd = re.search(r"^\s*zstd\b", _help_of("mksquashfs", "-help"), re.MULTILINE)
        compression = ZSTD if quickly and has_zstd else GZIP
        command = _command(
            engine, definition_file, variables, target, scratch, compression=compression
        )
        log.write(" ".join(command))
        with subprocess.Popen(
            [sys.executable, "-m", "pyscale.interruption", str(os.getpid()), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd=target.parent,
            env=_environment(engine, scratch),
            # Modes of files in the image must not depend on the umask of whoever builds it.
            umask=0o022,
            # Ctrl-C at the terminal reaches this process alone, which then ends the build in order.
            start_new_session=True,
        ) as process:
            assert process.stdout is not None
            try:
                with self._lock:
                    self._running.add(process)
                    ended = self._ended
                if ended:
                    _end(process)
                for raw in process.stdout:
                    line = log.write(raw)
                    if line:
                        hear(line)
                returncode = process.wait()
            except BaseException:
                _end(process)
                raise
        if log.full_disk:
            raise ResourceExhausted(
                f"the disk of {scratch} filled up while {definition_file.name} was built: free "
                f"space there and build again; see {log.path}"
            )
        if returncode != 0:
            raise UserError(
                f"building {definition_file.name} failed: {log.reason()}; the full output is in "
                f"{log.path}"
            )


def _help_of(*command: str) -> str:
    # mksquashfs tells on stderr.
    done = ran(command)
    return done.stdout + done.stderr


def _command(
    engine: Engine,
    definition_file: Path,
    variables: Mapping[str, str],
    target: Path,
    scratch: Path,
    *,
    compression: str,
) -> list[str]:
    offered = _help_of(engine.program, "build", "--help")
    if "--build-arg" not in offered:
        raise MissingPart(
            f"{engine.program} ({engine.name} {engine.version}) is too old to build images (it "
            "has no --build-arg): use Apptainer 1.2 or SingularityCE 4, or pull the images"
        )
    command = [engine.program, "build", "--fakeroot"]
    # The program shows the machine's own folders for temporary files to the definition's steps,
    # which then could read, and remove, what others keep there.
    for inside in ("/tmp", "/var/tmp"):
        own = scratch / "inside" / inside.lstrip("/")
        own.mkdir(parents=True)
        own.chmod(0o1777)
        command += ["--bind", f"{own}:{inside}"]
    if "--mksquashfs-args" in offered:
        command += ["--mksquashfs-args", compression]
    wanted = set(_VARIABLE.findall(definition_file.read_text(encoding="utf-8")))
    for name in sorted(wanted & variables.keys()):
        command += ["--build-arg", f"{name}={variables[name]}"]
    return [*command, str(target), str(definition_file)]


def _environment(engine: Engine, scratch: Path) -> dict[str, str]:
    """The user's environment without what would change the image's content."""
    prefixes = ("APPTAINERENV_", "SINGULARITYENV_")
    binds = {"APPTAINER_BIND", "APPTAINER_BINDPATH", "SINGULARITY_BIND", "SINGULARITY_BINDPATH"}
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(prefixes) and name not in binds
    }
    # For mksquashfs outside, and for what runs inside: file times that do not tell the day.
    for prefix in ("", engine.environment_prefix):
        kept[f"{prefix}SOURCE_DATE_EPOCH"] = str(FILE_TIME_S)
    kept[f"{engine.option_prefix}TMPDIR"] = str(scratch)
    kept[f"{engine.option_prefix}CACHEDIR"] = str(scratch / "cache")
    if os.geteuid() == 0:
        # As for commands in images: root has no need of host privileges, and may lack them.
        kept[f"{engine.option_prefix}USERNS"] = "1"
    return kept


def _end(process: subprocess.Popen[str]) -> None:
    """End a build with all that it started; the program cleans up where it can."""
    # Asked for now: what has lost its parent is not found any more.
    started = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    try:
        with suppress(subprocess.TimeoutExpired):
            process.terminate()
            process.wait(PATIENCE_S)
    finally:
        process.kill()
        for child in started:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(started, PATIENCE_S)
