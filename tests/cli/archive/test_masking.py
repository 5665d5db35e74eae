"""What a masked archive says: no text that a user, a site or a library could have chosen."""

import json
import re
import types
import zipfile
import zlib
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Union, get_args, get_origin

import polars as pl
import pytest
from PIL import Image
from pydantic import BaseModel

from mockruns import carry_out, plan_of
from pyscale.archive.archive import archive
from pyscale.evaluation.runreport import report_run
from pyscale.planning.planentry import Dataset
from pyscale.planning.sites import Request, Site
from pyscale.planning.suite import Suite, SuiteStage
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Event
from pyscale.store.provenance import Provenance
from pyscale.store.records import (
    ExitRecord,
    Jobs,
    LaunchRecord,
    NodeRecord,
    Surroundings,
    TaskOrder,
    TrialCache,
)
from pyscale_stages.contract import TaskResult, TaskSpec
from pyscale_stages.loading import Loading
from pyscale_stages.measure.stamp import Stamp
from pyscale_stages.reconstruction import Reconstruction
from pyscale_stages.timing import Call, Timing

TELL = "zqx"
"""Begins every planted word, and no other."""
MODELS = {
    "provenance.json": Provenance,
    "spec.json": TaskSpec,
    "order.json": TaskOrder,
    "launch.json": LaunchRecord,
    "exit.json": ExitRecord,
    "result.json": TaskResult,
    "windows.jobs.json": Jobs,
    "cache.json": TrialCache,
    "surroundings.json": Surroundings,
    f"node.{TELL}node.json": NodeRecord,
}
TIES = {
    *("run_id", "trial", "token", "stage", "git_commit", "content_sha256", "lock_sha256"),
}
"""Fields by which records name each other, and checksums: pyscale fills them itself."""
REMAIN = {
    *("test", "step", "unit", "code", "measure", "determinism", "device", "backend", "consumer"),
    *("engine", "pyscale_version", "python_version", "versions", "fs_type", "options", "scheduler"),
    *("label", "machine", "kernel", "operating_system", "libc", "python", "clock_source"),
    *("cpu", "memory", "limits", "driver", "cuda", "throttle_reasons"),
}
"""Fields that hold what hardware and software are called, or words of pyscale's own stages."""
KEYS = {"caches", "params", "env", "quality", "details", "parts", "slurm", "threads", "job_ids"}
"""Fields whose keys pyscale gives."""


class Planter:
    """Puts a word of its own into every text of a record that anybody could have chosen."""

    def __init__(self):
        self.planted = {}

    def word(self, where):
        """A new word, which is in no other place."""
        word = f"{TELL}{len(self.planted):04}e"
        self.planted[word] = where
        return word

    def record(self, model, told, where):
        """Fill every field of a record, and replace its texts."""
        return {
            name: told.get(name)
            if name in TIES
            else self.value(field.annotation, told.get(name), f"{where}.{name}", name)
            for name, field in model.model_fields.items()
        }

    def value(self, kind, told, where, name):
        """Fill one value by its annotation; numbers and choices that are there stay."""
        origin, inside = get_origin(kind), get_args(kind)
        if where.endswith("gpus[].name"):
            return "H200"
        if kind is str and (name in REMAIN or where.partition(".")[0] in REMAIN):
            return told or "some words"
        if kind is str:
            return f"{self.word(where)} said"
        if kind is Path:
            return f"/{self.word(where)}/{self.word(where)}.tif"
        if origin is Annotated:
            return self.value(inside[0], told, where, name)
        if origin in {Union, types.UnionType}:
            arms = [arm for arm in inside if arm is not type(None)]
            return self.value(arms[0], told, where, name)
        if origin is Literal:
            return told if told in inside else inside[0]
        if origin is dict:
            return self._mapping(inside[1], told or {"some": None}, where, name)
        if origin is tuple and inside[-1] is Ellipsis:
            items = told or [None]
            return [self.value(inside[0], item, f"{where}[]", name) for item in items]
        if origin is tuple:
            items = told or [None] * len(inside)
            pairs = zip(inside, items, strict=True)
            return [self.value(one, item, f"{where}[]", name) for one, item in pairs]
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return self.record(kind, told or {}, name if name in REMAIN else where)
        if kind is datetime:
            return told or datetime(2026, 3, 17, tzinfo=UTC).isoformat()
        if kind in {int, float, bool}:
            return told if told is not None else kind(1)
        return f"{self.word(where)} value"

    def _mapping(self, kind, told, where, name):
        if name == "stamp":
            return self.record(Stamp, {}, where)
        if name == "samples":
            kinds = (Call, Timing, Loading, Reconstruction)
            return {kind.kept_as: [self.record(kind, {}, where)] for kind in kinds}
        if name == "versions":
            return {"numpy": "2.0"} | {
                key: self.word(key) for key in ("place_device", "cache_options")
            }
        return {
            key if name in KEYS else self.word(where): self.value(kind, item, f"{where}[]", name)
            for key, item in told.items()
        }


def own_suite(planter):
    """A suite of the user's own, with a word wherever it takes any."""
    first, second = planter.word("entry"), planter.word("entry")
    return Suite(
        name=planter.word("suite"),
        summary=f"{planter.word('summary')} measures",
        stages={
            first: SuiteStage(stage="register_denoise", inputs={"frames": "movie"}),
            second: SuiteStage(
                stage="segment", inputs={"frames": first}, params={"model": planter.word("model")}
            ),
        },
    )


def own_site(planter):
    """A cluster of the user's own, with a word wherever it takes any."""
    return Site(
        name=planter.word("site"),
        summary=f"{planter.word('summary')} nodes",
        request=Request(
            account=planter.word("account"),
            partition=planter.word("partition"),
            qos=planter.word("qos"),
            constraint=planter.word("constraint"),
            gpu_type=planter.word("gpu_type"),
        ),
        gpu_option=f"--gres=gpu:{planter.word('gpu_option')}:{{count}}",
        options=(f"--reservation={planter.word('option')}",),
        setup=(f"source {planter.word('setup')}",),
        modules=(planter.word("module"),),
        scratch=f"$TMPDIR/{planter.word('scratch')}",
        binds=(f"/groups/{planter.word('bind')}",),
        prices={"core_hour": 1, "currency": planter.word("currency")},
    )


@pytest.fixture
def planter():
    return Planter()


@pytest.fixture
def planted(planter, tmp_path, movie):
    """A run with a word of its own in every text of every record, and in every log."""
    home = tmp_path / "home" / planter.word("user")
    home.mkdir(parents=True)
    own = movie.rename(home / f"{planter.word('movie')}.ome.tif")
    plan = plan_of(
        *(own_suite(planter), Dataset(own, frames=8), home / "runs", (1, 2)),
        on_site=own_site(planter),
        data=str(own),
        mirror=f"https://{planter.word('mirror')}:secret@mirror.example",
        stages={"segment": {"model": planter.word("model of settings")}},
        site=f"{planter.word('site file')}.toml",
        prices={"core_hour": 1, "currency": planter.word("currency of settings")},
    )
    run = RunFolder.create(home / "runs", plan)
    carry_out(run)
    for trial in plan.trials:
        (run.trial(trial) / f"node.{TELL}node.json").write_text("{}")
        for task in trial.tasks:
            for log in ("stdout", "stderr"):
                (run.task(trial, task) / log).write_text(f"{planter.word(log)} printed\n")
    for file in sorted(run.path.rglob("*.json")):
        if file.name in MODELS:
            model = MODELS[file.name]
            told = planter.record(model, json.loads(file.read_text()), file.name)
            model.model_validate_json(json.dumps(told))
            file.write_text(json.dumps(told))
    lines = run.journal_file.read_text().splitlines()
    events = [planter.record(Event, json.loads(line), "journal") for line in lines]
    torn = '{"torn": "' + planter.word("torn line")
    run.journal_file.write_text("\n".join([*map(json.dumps, events), torn]))
    return RunFolder(run.path)


def everything(zipped):
    """Names and contents of what is in a zip: packed streams and columns unpacked."""
    with zipfile.ZipFile(zipped) as source:
        for name in source.namelist():
            content = source.read(name)
            yield name, name
            yield name, content.decode("utf-8", "replace")
            match PurePosixPath(name).suffix:
                case ".parquet":
                    table = pl.read_parquet(content)
                    yield name, table.write_json()
                case ".pdf":
                    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL)
                    for stream in streams:
                        yield name, zlib.decompressobj().decompress(stream).decode("latin-1")
                case ".png":
                    with source.open(name) as file, Image.open(file) as image:
                        yield name, str(image.info)


@pytest.mark.slow
def test_no_text_that_anybody_could_have_chosen_is_in_a_masked_archive(planted, planter, tmp_path):
    zipped = archive(planted, tmp_path / "out", report_run, masked=True)
    assert len(planter.planted) > 1000
    held = list(everything(zipped))
    found = {
        (name, planter.planted.get(word, word))
        for name, text in held
        for word in re.findall(rf"{TELL}\w*", text)
    }
    assert sorted({place for _, place in found}) == []
    for folder in (str(tmp_path), tmp_path.name, "pyscale-archive-"):
        assert {name for name, text in held if folder in text} == set(), folder
