"""The jobs of one configuration of a plan: the texts of its files, for a site."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pyscale.images.engine import PROGRAM
from pyscale.planning.joboptions import Allocation, allocation, as_words, slurm_options
from pyscale.planning.plan import Plan, Trial, TrialInput
from pyscale.planning.sites import Site
from pyscale.planning.traits import has_own_work, stands_apart
from pyscale.resources import shipped
from pyscale.store.provenance import ImageFile
from pyscale_stages.binds import OPTIONS, VARIABLE_PREFIX, task_binds
from pyscale_stages.contract import Device, Stage, Surroundings, TaskSpec
from pyscale_stages.registry import load_stage
from pyscale_stages.validarea import VALID_FILE

LOGS_FOLDER = "logs"


class _Input(NamedTuple):
    """One input of a task: a variable of the script."""

    variable: str
    text: str
    is_place: bool
    """Whether it is a folder to measure: written into, and never copied."""


def script_templates() -> Environment:
    """The templates of scripts, in which a name that nobody gives is an error."""
    templates = Environment(
        loader=FileSystemLoader(shipped("sbatch_templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Bash counts with `${#`, which begins a comment otherwise.
        comment_start_string="<#",
        comment_end_string="#>",
    )
    templates.filters["quoted"] = shlex.quote
    return templates


class Job:
    """The jobs of one configuration: windows or ranks, and the merge of several."""

    def __init__(
        self, plan: Plan, site: Site, trial: Trial, images: Mapping[str, ImageFile]
    ) -> None:
        self.trial = trial
        self.name = folder_name(trial)
        self.stage: Stage = load_stage(trial.stage)
        self.merges = trial.joins
        # One job starts all its tasks, which meet.
        self.are_ranks = trial.meets and trial.workers > 1
        # Its times are what it is for, so that no other job is to slow it.
        self.measures = stands_apart(trial.stage)
        self.image = None if trial.image is None else images[trial.image]
        self.at_once = trial.processes
        self.ending = "sbatch" if site.scheduler is None else "sh"
        self._plan = plan
        self._site = site

    @property
    def each(self) -> str:
        """What each task of its windows does, in words."""
        if self.are_ranks and not has_own_work(self.trial.stage):
            return "rank of this job shares one piece of work with the others"
        if self.are_ranks:
            return "rank of this job has work of its own, at the same time as the others"
        by_itself = "measures by itself" if self.measures else "processes one window of the frames"
        return f"task of this {'array' if self._site.scheduler is None else 'job'} {by_itself}"

    @property
    def after(self) -> list[str]:
        """Configurations whose outputs this one reads."""
        sources = [item.from_trial for item in self.trial.inputs if item.from_trial]
        return list(dict.fromkeys(folder_name(self._plan.trial(source)) for source in sources))

    @property
    def output(self) -> str:
        """File that later stages read, from the folder of all."""
        params = self.stage.params.model_validate(self.trial.params)
        return f"{_output_folder(self.trial)}/{self.stage.output_with(params)}"

    def texts(self, templates: Environment) -> dict[str, str]:
        """Files of this configuration."""
        common = {
            "job": self,
            "image": self.image,
            "python": sys.executable,
            "container": shlex.join([PROGRAM, "run", *OPTIONS]),
            "prefix": VARIABLE_PREFIX,
            "submits": "sbatch" if self._site.scheduler is None else self._site.scheduler.submit,
        }
        files = {
            "params.json": json.dumps(self.trial.params, indent=1) + "\n",
            f"{LOGS_FOLDER}/.keep": "",
        }
        scripts = {"windows": self._windows}
        if self.merges:
            scripts["merge"] = self._merge
        for name, told in scripts.items():
            text = templates.get_template(f"{name}.j2").render(common | told())
            files[f"{name}.{self.ending}"] = text
        return {f"{self.name}/{name}": text for name, text in files.items()}

    def _windows(self) -> dict[str, Any]:
        trial = self.trial
        inputs = [
            _Input(f"input_{item.slot}", self._source(item), item.is_place) for item in trial.inputs
        ]
        slots = [item.slot for item in trial.inputs]
        spec = self._spec(trial.device).model_copy(
            update={
                "inputs": tuple((slot, Path(f"$input_{slot}")) for slot in slots),
                "output": Path("$output"),
                "movie_frames": None if self.stage.meets else trial.movie_frames,
                # Ranks of a step have all of the work, of data whose length nobody could read.
                "frames": trial.windows[0] if trial.meets and not self.stage.meets else None,
                "reading": self._plan.reading_of(trial),
            }
        )
        around = self.stage.surroundings(self.stage.params.model_validate(trial.params))
        last = len(trial.windows) - 1
        at_once = f"%{trial.workers}" if len(trial.windows) > trial.workers else ""
        array = None if self.are_ranks else f"0-{last}{at_once}" if last else "0"
        windows = () if trial.meets else trial.windows
        return {
            "directives": self._directives(self.name, trial.device, array, len(trial.windows)),
            "inputs": inputs,
            "reads_frames": any(i.slot == "frames" and not i.is_place for i in trial.inputs),
            "valid_file": VALID_FILE,
            "frames": [f"{start}:{stop}" for start, stop in windows],
            "arguments": _arguments(spec, Path("$result")),
            "around": around,
            "links": self._links(around),
            "gpu": trial.device == "cuda",
        }

    def _merge(self) -> dict[str, Any]:
        # Joining windows needs no GPU and no weights, wherever they were computed.
        spec = self._spec("cpu").model_copy(update={"verb": "merge", "output": Path("$task/out")})
        return {
            "directives": self._directives(f"{self.name}-merge", "cpu"),
            "arguments": _arguments(spec, Path("$task/result.json")),
            "last": len(self.trial.windows) - 1,
            "around": Surroundings(),
            "links": [],
            "gpu": False,
        }

    def _spec(self, device: Device) -> TaskSpec:
        return TaskSpec(
            stage=self.stage.name,
            inputs=(),
            seed=self._plan.settings["seed"],
            threads=self._plan.threads_of(self.trial),
            workers=self.trial.workers if self.stage.runs_outside else None,
            device=device,
        )

    @property
    def asks(self) -> Allocation:
        """What one of its tasks asks for."""
        return self._allocation(self.trial.device)

    def _allocation(self, device: Device) -> Allocation:
        threads = self._plan.threads_of(self.trial)
        return allocation(self._site, self.stage, device, threads, self.trial.gpus)

    def _directives(
        self, name: str, device: Device, array: str | None = None, tasks: int = 1
    ) -> list[str]:
        wanted = self._allocation(device)
        if self._site.scheduler is not None:
            at_once = min(tasks, self.at_once)
            return self._site.scheduler.head(
                name,
                at_once * wanted.cpus,
                at_once * wanted.gpus,
                at_once * wanted.memory_mib,
                math.ceil(tasks / at_once) * wanted.time_min,
            )
        log = f"{self.name}/{LOGS_FOLDER}/%x-{'%A_%a' if array else '%j'}.log"
        named = {"job-name": name, **({"array": array} if array else {}), "output": log}
        ranks = tasks if self.are_ranks else 1
        words = as_words(named | slurm_options(self._site, wanted, ranks))
        return [f"#SBATCH {word}" for word in words]

    def _source(self, item: TrialInput) -> str:
        if item.from_trial is None:
            return shlex.quote(str(item.path))
        source = self._plan.trial(item.from_trial)
        return f'"$PWD/{_output_folder(source)}/{item.file}"'

    def _links(self, around: Surroundings) -> list[str]:
        read = (item.path for item in self.trial.inputs if item.path and not item.is_place)
        given = [*read, *around.files]
        # A task's own folder is known on the node alone; a name that is none stands for it.
        own = Path("/nonexistent")
        known = {own, *given}
        return [bind.option()[1] for bind in task_binds(own, given) if bind.seen_at not in known]


def folder_name(trial: Trial) -> str:
    """Folder of a configuration."""
    return f"{trial.entry}-n{trial.workers}"


def _output_folder(trial: Trial) -> str:
    """Folder of a configuration's whole output, from the folder of all."""
    return f"{folder_name(trial)}/{trial.output_task}/out"


def _arguments(spec: TaskSpec, result: Path) -> str:
    """Arguments of a task after its verb, one option a line; the script expands the paths."""
    _, _, *words = spec.command_line(Path("$params"), result)
    quoted = [f'"{word}"' if "$" in word else shlex.quote(word) for word in words]
    pairs = zip(quoted[::2], quoted[1::2], strict=True)
    return " \\\n    ".join(" ".join(pair) for pair in pairs)
