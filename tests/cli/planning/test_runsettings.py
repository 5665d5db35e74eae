"""The settings of a run: what suits the suite lies below what the user says."""

import json
from pathlib import Path

import pytest

from pyscale.errors import UserError
from pyscale.evaluation.origin import method_of
from pyscale.measuring.trialrunner import TaskWriter
from pyscale.planning.runsettings import (
    axes_asked_for,
    settings_for,
    step_asked_for,
    what_is_set,
    words_for,
)
from pyscale.planning.suite import Suite, load_suite
from pyscale.runtimes.starting import NativeRuntime
from pyscale.store.folder import RunFolder
from pyscale.store.records import SPEC_FILE
from refusals import refused


@pytest.fixture(autouse=True)
def _nothing_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def suite_with(tmp_path, settings):
    file = tmp_path / "mine.toml"
    file.write_text(
        f'name = "mine"\nsummary = ""\n[settings]\n{settings}\n'
        '[stages.segment]\ninputs = { frames = "movie" }\n'
    )
    return str(file)


def test_what_suits_a_suite_replaces_the_defaults():
    settings = settings_for("device", {})
    assert (settings.data, settings.workers, settings.cache) == ("synthetic-cells", (1,), "warm")
    assert settings_for("pipeline", {}).cache == "cold"


def test_the_users_file_variables_and_flags_replace_it(tmp_path, monkeypatch):
    (tmp_path / "pyscale.toml").write_text('data = "mine"\nworkers = [2]\ncache = "asis"\n')
    monkeypatch.setenv("PYSCALE_WORKERS", "3")
    settings = settings_for("device", {"cache": "cold", "repeats": None})
    assert (settings.data, settings.workers, settings.cache) == ("mine", (3,), "cold")
    assert settings.repeats == 6


@pytest.mark.parametrize(
    ("own", "given"),
    [
        ("reapets = 3", {}),
        ("repeats = 0", {}),
        ("repeats = 0", {"repeats": -1}),
    ],
    ids=str,
)
def test_a_wrong_setting_is_blamed_on_the_suite_or_flag_that_gives_it(tmp_path, own, given):
    with refused(UserError):
        settings_for(suite_with(tmp_path, own), given)


ON_CUDA = 'device = "cuda"'
SIZES = "[grid]\nlength_px = [96, 160]\nbatch_size = 4"
# Values are numbers where they look like them.
TEXTS = {"length_px": "224, 448,full", "flow_threshold": "0,0.4", "normalise": "true,false"}
VALUES = {"length_px": (224, 448, "full"), "flow_threshold": (0, 0.4), "normalise": (True, False)}


@pytest.mark.parametrize(
    ("suite", "own", "given", "grid"),
    [
        ("device", "", {}, {}),
        ("device", "", {"device": "cpu,cuda"}, {"device": ("cpu", "cuda")}),
        ("device", "", {"grid": {"device": "cpu,cuda"}}, {"device": ("cpu", "cuda")}),
        ("device", ON_CUDA, {}, {"device": ("cuda",)}),
        ("device", ON_CUDA, {"device": "cpu"}, {"device": ("cpu",)}),
        ("pipeline", ON_CUDA, {}, {}),
        # Cores of each worker replace all threads of a machine.
        ("device", "", {"cpus_per_worker": 4}, {"threads": (4,)}),
        ("system", "", {"cpus_per_worker": 1}, {"threads": (1,)}),
        ("system", "", {}, {}),
        ("device", "", {"grid": TEXTS}, VALUES),
        # A flag chooses one axis and the file another.
        (
            "device",
            SIZES,
            {"grid": {"length_px": "224"}},
            {"length_px": (224,), "batch_size": (4,)},
        ),
    ],
)
def test_what_is_asked_for_chooses_values_of_a_grid(tmp_path, suite, own, given, grid):
    (tmp_path / "pyscale.toml").write_text(f"{own}\n")
    settings = settings_for(suite, given)
    assert settings.grid == grid
    assert settings.cpus_per_worker == given.get("cpus_per_worker", 1)


def test_a_variable_chooses_an_axis_too_where_it_is_a_table(monkeypatch):
    monkeypatch.setenv("PYSCALE_GRID", '{"batch_size": [1, 2]}')
    assert settings_for("device", {}).grid["batch_size"] == (1, 2)
    monkeypatch.setenv("PYSCALE_GRID", "length_px=224")
    with refused(UserError):
        settings_for("device", {})


def test_axes_of_the_grid_are_read_by_their_names():
    asked = axes_asked_for(["length_px=224,full", "threads=1,2"])
    assert asked == {"length_px": "224,full", "threads": "1,2"}
    assert axes_asked_for([]) is None


@pytest.mark.parametrize("axes", [["threads"], ["=1"], ["threads=1", "threads=2"]], ids=str)
def test_an_axis_is_given_once_with_its_values(axes):
    with refused(UserError):
        axes_asked_for(axes)


def test_a_folder_is_refused_where_none_is_measured():
    folder = Path("disk")
    with refused(UserError):
        settings_for("pipeline", {"path": folder})
    assert settings_for("pipeline", {"path": folder, "with_system": True}).path == folder
    assert settings_for("system", {"path": folder}).path == folder


def test_what_ones_own_file_says_of_movies_and_folders_is_for_other_suites(tmp_path):
    (tmp_path / "pyscale.toml").write_text('data = "cells"\npath = "disk"\nwith_system = true\n')
    assert settings_for("system", {}).path == Path("disk")
    assert settings_for("pipeline", {}).with_system


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("30", 30),
        ("0.5", 0.5),
        ("true", True),
        ("null", None),
        ("cyto3", "cyto3"),
        ('"30"', "30"),
        ("'30'", "30"),
        ("[1, 2]", [1, 2]),
        ("{ a = 1 }", {"a": 1}),
        ("inf", "inf"),
        ("2026-01-01", "2026-01-01"),
        ("", ""),
    ],
)
def test_a_parameter_that_is_set_is_read_as_toml(text, value):
    assert what_is_set([f"segment.model={text}"]) == {"stages": {"segment": {"model": value}}}


def test_what_is_set_joins_what_a_file_says_and_is_above_it(tmp_path):
    (tmp_path / "pyscale.toml").write_text("[stages.segment]\ndiameter_px = 9\nmin_size_px = 5\n")
    given = what_is_set(["segment.diameter_px=30", "track.max_distance_px=4"])
    assert settings_for("pipeline", given).stages == {
        "segment": {"diameter_px": 30, "min_size_px": 5},
        "track": {"max_distance_px": 4},
    }


@pytest.mark.parametrize(
    "pairs",
    [
        *("segment=3", "diameter_px", "segment.=3", ".diameter_px=3"),
        "segment.diameter_px=3 segment.diameter_px=4",
    ],
)
def test_a_parameter_is_set_once_with_its_stage_and_value(pairs):
    with refused(UserError):
        what_is_set(pairs.split())


def test_a_tolerance_is_set_for_a_stage_of_the_suite_and_is_a_share():
    given = what_is_set(["tolerance.segment=0.9", "segment.diameter_px=30"])
    assert settings_for("pipeline", given).tolerance == {"segment": 0.9}
    for wrong in ("tolerance.segmnt=0.9", "tolerance.segment=2", "tolerance.segment=much"):
        with refused(UserError):
            settings_for("pipeline", what_is_set([wrong]))


def test_a_setting_without_a_flag_is_set_by_its_name_and_said_so_where_it_is_wrong():
    assert settings_for("pipeline", what_is_set(["seed=3", "retries=0"])).seed == 3
    with pytest.raises(UserError, match="the setting from --set retries is wrong"):
        settings_for("pipeline", what_is_set(["retries=many"]))
    with refused(UserError):
        what_is_set(["seed=3", "seed=4"])
    with refused(UserError):
        what_is_set(["workers=3"])


@pytest.mark.parametrize(
    ("suite", "given"),
    [
        ("pipeline", {"stages": {"segmnt": {}}}),
        ("labels", {"stages": {"segment": {}}}),
        # One axis is chosen once, and so is each of its values.
        ("device", {"cpus_per_worker": 4, "grid": {"threads": "1,2"}}),
        *(("device", {"grid": {"length_px": values}}) for values in ("", "224,,448", "224,224")),
        ("pipeline", {"device": "cpu,cuda"}),
        # What tells of a movie, where none is read.
        ("system", {"data": "cells"}),
        ("system", {"axes": "TYX"}),
        ("system", {"scaling": "weak"}),
        ("system", {"cache": "warm"}),
        ("system", {"with_system": True}),
    ],
    ids=str,
)
def test_what_does_not_suit_a_suite_is_refused(suite, given):
    with refused(UserError):
        settings_for(suite, given)


def test_an_entry_may_be_named_or_its_stage_or_what_stands_beside_it():
    assert settings_for("pipeline_two_channels", {"stages": {"segment": {}}}).stages
    assert settings_for("device", {"stages": {"segment_2px_cpu": {}}}).stages
    assert settings_for("labels", {"stages": {"storage": {}}, "with_system": True}).stages


def test_a_step_of_ones_own_needs_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    step = step_asked_for(None, "cp {input} {output}", {})
    with refused(UserError):
        settings_for(step, {})
    assert settings_for(step, {"data": "mine.tif"}).data == "mine.tif"
    # Said in a file, it is said.
    Path("pyscale.toml").write_text('data = "theirs.tif"\n')
    assert settings_for(step, {}).data == "theirs.tif"


def test_checks_of_a_stage_are_told_its_tolerance(make, tmp_path):
    run = RunFolder.create(tmp_path / "run", make(tolerance={"segment": 0.5}))
    writer = TaskWriter(run, NativeRuntime())
    told = {}
    for trial in run.plan.trials:
        if "check" in trial.tasks:
            run.trial(trial).mkdir(parents=True)
            writer.write_spec(trial, "check")
            spec = json.loads((run.task(trial, "check") / SPEC_FILE).read_text())
            told[trial.stage] = spec["tolerance"]
    assert told["segment"] == 0.5
    assert {*told.values()} == {0.5, None}


STEP = "python 'my segment.py' {input} {output} --frames {first}:{stop}"
NOTHING = dict.fromkeys(("output", "split", "merge", "check", "environment", "image", "shell"))


def asked(step, **keys):
    found = step_asked_for(None, step, NOTHING | keys)
    assert isinstance(found, Suite)
    return found


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, []),
        ({"output": "cells.csv", "check": "none"}, ["--output", "cells.csv", "--check", "none"]),
        ({"split": "threads", "shell": True}, ["--split", "threads", "--shell"]),
    ],
)
def test_a_step_is_asked_for_again_by_the_same_words(keys, words):
    suite = asked(STEP, **keys)
    assert words_for(suite) == ["--step", STEP, *words]
    assert asked(STEP, **keys) == suite


def test_files_are_found_from_the_folder_of_the_caller(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    params = asked(STEP, environment=Path("env"), image="mine.sif").stages["step"].params
    assert params["folder"] == str(tmp_path)
    assert params["environment"] == str(tmp_path / "env")
    assert params["image"] == str(tmp_path / "mine.sif")


def test_steps_of_a_suite_run_in_the_folder_of_its_file(tmp_path):
    (tmp_path / "mine.toml").write_text(
        'name = "mine"\nsummary = "Mine"\n'
        '[stages.one]\ncommand = "a {input} {output} {params.n}"\nparams = { n = 2 }\n'
        '[stages.two]\ncommand = ["b", "{input}", "{output}"]\ninputs = { input = "one" }\n'
        'folder = "scripts"\nenvironment = "~no-such-user/env"\n'
    )
    suite = load_suite(str(tmp_path / "mine.toml"))
    assert suite.stage_name("one") == suite.stage_name("two") == "command"
    assert suite.stages["one"].inputs == {"input": "movie"}
    assert suite.stages["one"].params["folder"] == str(tmp_path)
    assert suite.stages["two"].params["folder"] == str(tmp_path / "scripts")
    assert suite.stages["two"].params["environment"] == str(tmp_path / "~no-such-user" / "env")
    assert words_for(suite) is None


def test_the_method_is_named_after_the_script_or_the_workflow():
    step = "snakemake --cores {threads} --snakefile a/Snakefile --config images={input} {output}"
    params = asked(step, split="threads", output="out").stages["step"].params
    assert method_of("command", params, "cpu").name == "own step, Snakefile"


def test_files_of_a_folder_are_the_data_of_a_step_that_shares_them():
    assert asked("a {file} {output}", split="files").unit == "files"
    assert asked(STEP).unit == "frames"


@pytest.mark.parametrize(
    ("suite", "step", "keys"),
    [
        ("pipeline", STEP, {}),
        (None, None, {"check": "none"}),
        (None, STEP, {"split": "frame"}),
    ],
    ids=["leave out the suite pipeline", "--check: that is said of a step", "split"],
)
def test_what_cannot_be_is_refused(suite, step, keys):
    with refused(UserError):
        step_asked_for(suite, step, NOTHING | keys)


A_STEP = '[stages.one]\ncommand = "a {input} {output}"\n'


OF_FRAMES = '[stages.segment]\ninputs = { frames = "movie" }'
OF_FILES = '[stages.one]\ncommand = "a {file} {output}"\nsplit = "files"'
OF_TILES = f'{A_STEP}split = "tiles"\nwindow = "file"'


@pytest.mark.parametrize(
    "text",
    [
        f'{A_STEP}outptu = "b"',
        f"{A_STEP}params = {{ output = 1 }}",
        # Data must fit what workers share.
        f'data = "files"\n{OF_FRAMES}',
        f'data = "movie"\n{OF_FILES}',
        f'data = "files"\n{OF_TILES}',
    ],
)
def test_a_wrong_step_of_a_suite_is_refused(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(f'name = "mine"\nsummary = "Mine"\n{text}\n')
    with refused(UserError):
        load_suite(str(path))
