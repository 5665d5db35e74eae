"""What a stage needs is tried in the interpreter that would run it, natively or in its image.

`python -m pyscale_stages.trying REQUEST` answers a line of JSON with the fields of a finding; a
line with the key `step` tells what begins, so that a process that dies is known to have died
there.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from pyscale_stages.commandline import THREAD_VARIABLES, main
from pyscale_stages.errors import StageError
from pyscale_stages.libraries import how_to_install
from pyscale_stages.registry import load_stage
from pyscale_stages.runner import installed_versions
from pyscale_stages.torchdevice import make_torchvision_importable

_NO_NUMBA_CACHE = "no locator available"
"""What numba says where it finds no folder that it may write compiled functions to."""


class Trying:
    """Tries what an entry of a suite needs, and tells what it finds."""

    def __init__(self, request: dict[str, Any], out: TextIO) -> None:
        self.stage = load_stage(request["stage"])
        self.params: Any = self.stage.params.model_validate(request["params"])
        self.device = request["device"]
        self.threads: int = request["threads"]
        self._entry = request["entry"]
        self._out = out

    def step(self, what: str) -> None:
        """Say what begins now."""
        print(json.dumps({"step": what}), file=self._out, flush=True)

    def ok(self, check: str, what: str) -> None:
        """Tell that something is well."""
        self._found(check, "ok", what)

    def warning(self, check: str, what: str, do: str) -> None:
        """Tell of something that is not as one would think."""
        self._found(check, "warning", what, do)

    def problem(self, check: str, what: str, do: str) -> None:
        """Tell of something that would end a task."""
        self._found(check, "problem", what, do)

    def refused(self, check: str, message: str) -> None:
        """Tell what a stage refuses, in its own sentence: what is wrong, then what to do."""
        self._found(check, "problem", message)

    def _found(self, check: str, status: str, what: str, do: str = "") -> None:
        finding = {"code": f"stage.{check}", "status": status, "where": self._entry}
        print(json.dumps(finding | {"what": what, "do": do}), file=self._out, flush=True)

    def everything(self) -> None:
        """Import the libraries; where they can be, try all else."""
        names, extra = self.stage.libraries(self.params.model_dump(mode="json"))
        if not all(self._imports(name, extra) for name in names):
            return
        python = f"Python {'.'.join(map(str, sys.version_info[:3]))}"
        versions = installed_versions(self.stage.packages)
        own = [
            f"{package} {version}"
            for package, version in versions.items()
            if package in self.stage.packages and version != "not installed"
        ]
        self.ok("libraries", ", ".join([python, *own]))
        try:
            self.stage.needs.try_out(self)
        except StageError as error:
            self.refused("works", str(error))

    def _imports(self, name: str, extra: str) -> bool:
        self.step(f"import {name}")
        try:
            # Beside a CPU build of torch it cannot be imported by itself.
            make_torchvision_importable() if name == "torchvision" else import_module(name)
        except ModuleNotFoundError as error:
            do = how_to_install(extra, [error.name or name])
            self.problem("libraries", f"the library {error.name} is not installed here", do)
        except Exception as error:  # whatever a broken library raises
            said = str(error).strip().partition("\n")[0]
            do = how_to_install(extra, [name], again=True)
            if _NO_NUMBA_CACHE in said:
                do = "set NUMBA_CACHE_DIR to a writable folder"
            self.problem(
                "libraries",
                f"{name} is installed but cannot be imported ({type(error).__name__}: {said})",
                do,
            )
        else:
            return True
        return False

    def small(self, objects: int | None = None, **changed: Any) -> None:
        """Run the stage, with some parameters `changed`, on what is small, and tell what comes out.

        A stage of movies is given two frames of two cells that touch, in which it finds so many
        `objects`.
        """
        self.step(f"run on a small input on {self.device}")
        with tempfile.TemporaryDirectory(prefix="pyscale-doctor-") as name:
            folder = Path(name)
            of_movie = [slot for slot in self.stage.inputs if slot.required]
            inputs = ["--input", str(_two_cells(folder))] if of_movie else []
            params = self.params.model_dump(mode="json") | changed
            (folder / "params.json").write_text(json.dumps(params), encoding="utf-8")
            line = [self.stage.name, "run", *inputs]
            line += ["--output", str(folder / "out"), "--params", str(folder / "params.json")]
            line += ["--result", str(folder / "result.json"), "--device", self.device]
            main([*line, "--threads", str(self.threads)], time.monotonic())
            result = json.loads((folder / "result.json").read_bytes())
        found = result["counters"]["objects"]
        if result["error"] is not None:
            self.refused("works", result["error"]["message"])
        elif objects not in {None, found}:
            self.problem(
                "works",
                f"it finds {found} instead of {objects} objects in two frames of two cells",
                how_to_install(self.stage.extra, again=True),
            )
        else:
            self.cuda_architecture()
            self.ok("works", f"it ran on a small input on {self.device}")

    def cuda_architecture(self) -> None:
        """Compare what torch was compiled for with the card: PTX alone compiles at each start."""
        if self.device != "cuda":
            return
        import torch

        name = torch.cuda.get_device_name(0)
        major, minor = torch.cuda.get_device_capability(0)
        built = torch.cuda.get_arch_list()
        card = f"sm_{major}{minor}"
        said = f"torch {torch.__version__} for {', '.join(built)}; the card is {name} ({card})"
        # Binaries of one major version run on its later minor ones.
        of_major = [arch.removeprefix(f"sm_{major}").rstrip("af") for arch in built]
        if any(each.isdigit() and int(each) <= minor for each in of_major):
            self.ok("gpu", said)
        else:
            self.warning(
                "gpu",
                f"{said}: it has no binary for the card and compiles at each start",
                "install a build of torch that lists the card's architecture",
            )


def _two_cells(folder: Path) -> Path:
    """Write two frames of two cells that touch and move on by a pixel."""
    import numpy as np

    from pyscale_stages.moviewriter import write_movie

    cells = np.zeros((2, 64, 64), np.uint16)
    for frame in range(2):
        cells[frame, 4 + frame : 12 + frame, 4:12] = 1
        cells[frame, 4 + frame : 12 + frame, 12:20] = 2
    write_movie(folder / "cells.ome.tif", cells, "TYX")
    return folder / "cells.ome.tif"


def ask(request: dict[str, Any], out: TextIO) -> None:
    """Answer what this interpreter can do for a stage."""
    # As for a task: libraries read them when they are imported.
    for variable in THREAD_VARIABLES:
        os.environ[variable] = str(request["threads"])
    Trying(request, out).everything()


if __name__ == "__main__":
    # Libraries print what they like: the answers keep a channel of their own.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    ask(json.loads(sys.argv[1]), answers)
