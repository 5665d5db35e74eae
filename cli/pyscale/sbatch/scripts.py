"""From a plan and a site to the texts of a folder of batch scripts; writes nothing."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pyscale.images.engine import Engine
from pyscale.plan import Plan, Trial, TrialInput
from pyscale.report.wording import listing
from pyscale.runtimes.apptainer import OPTIONS
from pyscale.runtimes.binds import task_binds
from pyscale.sbatch.options import allocation, slurm_options
from pyscale.shipped import shipped
from pyscale.sites import Site
from pyscale.store.provenance import ImageFile
from pyscale_stages.contract import Device, Stage, Surroundings, TaskSpec
from pyscale_stages.registry import load_stage

PARAMS_FILE = "params.json"
IMAGES_FILE = "images.sha256"
SUBMIT_FILE = "submit.sh"
WINDOWS_FILE = "windows.sbatch"
MERGE_FILE = "merge.sbatch"
LOGS_FOLDER = "logs"


def render(plan: Plan, site: Site, images: Sequence[ImageFile]) -> dict[str, str]:
    """Texts of all files of a folder of batch scripts, by their path in it.

    Each configuration of the plan runs once. The script that submits all comes last.

    Parameters
    ----------
    plan : Plan
    site : Site
    images : sequence of ImageFile
        Every image that the plan names.

    Raises
    ------
    UserError
        If the site cannot ask for what a stage needs.
    """
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
    templates.globals["version"] = version("pyscale")
    templates.globals["site"] = site
    by_name = {image.name: image for image in images}
    jobs = [_Job(plan, site, trial, by_name) for trial in configurations(plan)]
    texts: dict[str, str] = {}
    for job in jobs:
        texts |= job.texts(templates)
    if images:
        texts[IMAGES_FILE] = "".join(f"{image.sha256}  {image.path}\n" for image in images)
    needs = ["the movie"] if plan.movie else []
    needs += ["the folder to be measured"] if plan.place else []
    about = {
        "plan": plan,
        "jobs": jobs,
        "images": images,
        "needed": listing(needs),
        "listing": listing,
    }
    texts["README.md"] = templates.get_template("README.md.j2").render(about)
    texts[SUBMIT_FILE] = templates.get_template("submit.sh.j2").render(about)
    return texts


def configurations(plan: Plan) -> list[Trial]:
    """One trial for each entry and N, in the order of the pipeline."""
    once = [trial for trial in plan.trials if trial.block == 1]
    return sorted(once, key=plan.place_in_pipeline)


def folder_name(trial: Trial) -> str:
    """Folder of a configuration."""
    return f"{trial.entry}-n{trial.workers}"


@dataclass(frozen=True)
class _Input:
    """One input of a task: a variable of the script."""

    slot: str
    text: str
    """What the script assigns to the variable."""
    is_place: bool
    """Whether it is a folder to measure: written into, and never copied."""

    @property
    def variable(self) -> str:
        return f"input_{self.slot}"


class _Job:
    """The jobs of one configuration: its windows, and the merge where there are several."""

    def __init__(
        self, plan: Plan, site: Site, trial: Trial, images: Mapping[str, ImageFile]
    ) -> None:
        self.trial = trial
        self.name = folder_name(trial)
        self.stage: Stage = load_stage(trial.stage)
        self.merges = len(trial.windows) > 1
        self.image = None if trial.image is None else images[trial.image]
        self._plan = plan
        self._site = site

    @property
    def after(self) -> list[str]:
        """Configurations whose outputs this one reads."""
        sources = [item.from_trial for item in self.trial.inputs if item.from_trial]
        return list(dict.fromkeys(folder_name(self._plan.trial(source)) for source in sources))

    @property
    def output(self) -> str:
        """File that later stages read, from the folder of all."""
        return f"{_output_folder(self.trial)}/{self.stage.output}"

    def texts(self, templates: Environment) -> dict[str, str]:
        """Files of this configuration."""
        common = self._common()
        files = {
            PARAMS_FILE: json.dumps(self.trial.params, indent=1) + "\n",
            f"{LOGS_FOLDER}/.keep": "",
            WINDOWS_FILE: templates.get_template("windows.sbatch.j2").render(
                common | self._windows()
            ),
        }
        if self.merges:
            files[MERGE_FILE] = templates.get_template("merge.sbatch.j2").render(
                common | self._merge()
            )
        return {f"{self.name}/{name}": text for name, text in files.items()}

    def _common(self) -> dict[str, Any]:
        engine = Engine(
            self._site.container_program,
            "apptainer" if self._site.container_program == "apptainer" else "singularity-ce",
            version="",
        )
        return {
            "job": self,
            "image": self.image,
            "python": sys.executable,
            "container": shlex.join(engine.command("run", *OPTIONS)),
            "prefix": engine.environment_prefix,
        }

    def _windows(self) -> dict[str, Any]:
        trial = self.trial
        inputs = [_Input(item.slot, self._source(item), item.is_place) for item in trial.inputs]
        spec = self._spec(trial.device).model_copy(
            update={
                "inputs": tuple((item.slot, Path(f"${item.variable}")) for item in inputs),
                "output": Path("$output"),
                "movie_frames": trial.movie_frames,
                "axes": self._plan.axes if trial.reads_movie else None,
            }
        )
        around = self.stage.surroundings(self.stage.params.model_validate(trial.params))
        last = len(trial.windows) - 1
        at_once = f"%{trial.workers}" if len(trial.windows) > trial.workers else ""
        extra = {
            "job-name": self.name,
            "array": f"0-{last}{at_once}" if last else "0",
            "output": f"{self.name}/{LOGS_FOLDER}/%x-%A_%a.log",
        }
        return {
            "directives": self._directives(extra, trial.device),
            "inputs": inputs,
            "frames": [f"{start}:{stop}" for start, stop in trial.windows],
            "arguments": _arguments(spec, Path("$result")),
            "around": around,
            "links": self._links(around),
            "gpu": trial.device == "cuda",
        }

    def _merge(self) -> dict[str, Any]:
        # Joining windows needs no GPU and no weights, wherever they were computed.
        spec = self._spec("cpu").model_copy(update={"verb": "merge", "output": Path("$task/out")})
        extra = {
            "job-name": f"{self.name}-merge",
            "output": f"{self.name}/{LOGS_FOLDER}/%x-%j.log",
        }
        return {
            "directives": self._directives(extra, "cpu"),
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
            device=device,
        )

    def _directives(self, extra: Mapping[str, str], device: Device) -> list[str]:
        threads = self._plan.threads_of(self.trial)
        wanted = allocation(self._site, self.stage, device, threads, self.trial.gpus)
        options = {**extra, **slurm_options(self._site, wanted)}
        return [
            f"--{name}" if value is None else f"--{name}={value}" for name, value in options.items()
        ]

    def _source(self, item: TrialInput) -> str:
        if item.from_trial is None:
            return shlex.quote(str(item.path))
        source = self._plan.trial(item.from_trial)
        return f'"$PWD/{_output_folder(source)}/{item.file}"'

    def _links(self, around: Surroundings) -> list[str]:
        """Mounts of what symbolic links in the inputs lead to."""
        read = (item.path for item in self.trial.inputs if item.path and not item.is_place)
        given = [*read, *around.files]
        # A task's own folder is known on the node alone; a name that is none stands for it.
        own = Path("/nonexistent")
        known = {own, *given}
        return [bind.option()[1] for bind in task_binds(own, given) if bind.seen_at not in known]


def _output_folder(trial: Trial) -> str:
    """Folder of a configuration's whole output, from the folder of all."""
    return f"{folder_name(trial)}/{trial.output_task}/out"


def _arguments(spec: TaskSpec, result: Path) -> str:
    """Arguments of a task after its verb, an option with its value on each line.

    Paths in the spec are variables of the script: in double quotes they are expanded there.
    """
    _, _, *words = spec.command_line(Path("$params"), result)
    quoted = [f'"{word}"' if "$" in word else shlex.quote(word) for word in words]
    pairs = zip(quoted[::2], quoted[1::2], strict=True)
    return " \\\n    ".join(" ".join(pair) for pair in pairs)
