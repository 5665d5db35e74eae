"""Loading patches, from the command line: ranks that meet, and what a run of them leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import psutil
import pytest
from watchfiles import watch

from commandline import Answer
from pyscale.store.folder import RunFolder, find_run
from pyscale.store.records import LAUNCH_FILE
from pyscale.store.taskfiles import read_task
from pyscale_stages.contract import BatchWindow, Loading
from pyscale_stages.slides.synthetic import SlidesParams, slide_name, write_slides

CommandLine = Callable[..., Answer]
Start = Callable[..., subprocess.Popen[str]]

PATIENCE_S = 180.0
"""How long what was disturbed may take to end, on a machine that has other work too."""
SLIDES = 4
SMALL: dict[str, Any] = {
    "num_workers": 1,
    "batch_size": 4,
    "batches": 4,
    "warmup_batches": 1,
    "patch_px": 64,
}
# What a user may write without a thought: it goes well until loader processes are spawned.
UNPICKLABLE = """
from torch.utils.data import IterableDataset
from torchdata import tensor_of

class Scaled(IterableDataset):
    def __init__(self, slide_paths):
        self.scale = lambda image: image / 255

    def __iter__(self):
        while True:
            yield {"image": self.scale(tensor_of())}

def make_dataset(slide_paths, pool_size, patches_per_slide, patches_per_visit, seed):
    return Scaled(slide_paths)
""".replace("from torchdata import tensor_of\n", "import torch\n").replace(
    "tensor_of()", "torch.zeros(3, 8, 8)"
)
# A pipe without a writer is like storage that no longer answers.
HELD = """
import os
from pathlib import Path

from torch.utils.data import IterableDataset

from pyscale_stages.loader.factories import factory_of
from pyscale_stages.loader.params import LoaderParams

HERE = Path(__file__).parent

class Held(IterableDataset):
    def __init__(self, patches):
        self.patches = patches

    def __iter__(self):
        if (HERE / "pipe").exists():
            (HERE / f"held.{os.getpid()}").touch()
            (HERE / "pipe").read_bytes()
        yield from self.patches

def make_dataset(slide_paths, pool_size, patches_per_slide, patches_per_visit, seed):
    make = factory_of(LoaderParams(patch_px=64))
    patches = make(slide_paths, pool_size, patches_per_slide, patches_per_visit, seed)
    return patches if any("000" in path for path in slide_paths) else Held(patches)
"""


def write_suite(path: Path, **entries: dict[str, Any]) -> Path:
    """Write a suite of entries with these parameters, beside small ones."""
    lines = ['name = "tiny"', 'summary = "Some patches, in a moment"', 'data = "slides"']
    for entry, params in entries.items():
        lines += [f"[stages.{entry}]", 'stage = "loader"', 'inputs = { slides = "slides" }']
        lines += ['threads = "all"', f"[stages.{entry}.params]"]
        # Strings and numbers are written in TOML as in JSON.
        lines += [f"{name} = {json.dumps(value)}" for name, value in (SMALL | params).items()]
    path.write_text("\n".join(lines))
    return path
