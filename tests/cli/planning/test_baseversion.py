"""`run --against BASE`: what a base is, and the entries and trials that it adds."""

from pathlib import Path

import pytest

from atleastone import some
from mockruns import PIPELINE, plan_of
from pyscale.errors import UserError
from pyscale.evaluation.runline import repeat_line
from pyscale.planning.baseversion import BaseVersion, read_base, with_base, without_base
from pyscale.planning.grid import unfolded
from pyscale.planning.suite import Suite, SuiteStage, load_suite
from refusals import refused

ENVIRONMENT = BaseVersion(kind="environment", path=Path("/env"))


def parameters(**stages):
    return BaseVersion(kind="parameters", path=Path("base.toml"), params=stages)


@pytest.fixture
def plan_against(dataset, tmp_path):
    """Plan two versions of the pipeline, or of another suite, on the small movie."""

    def plan(base=ENVIRONMENT, suite=PIPELINE, workers=(1, 2), only=(), **settings):
        given = {"repeats": 6, "against": base.path} | settings
        both = with_base(suite, base)
        return plan_of(both, dataset, tmp_path, workers, only, base=base, **given)

    return plan


def refusal(function, *arguments):
    with refused(UserError) as caught:
        function(*arguments)
    return str(caught.value)


class TestWhatABaseIs:
    def test_a_folder_with_an_interpreter_is_an_environment(self, tmp_path):
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "python").touch()
        base = read_base(tmp_path, "native")
        assert (base.kind, base.python) == ("environment", tmp_path / "bin" / "python")
        refusal(read_base, tmp_path, "apptainer")

    def test_a_folder_with_a_lock_or_a_sif_holds_images(self, tmp_path):
        (tmp_path / "images.lock").touch()
        sif = tmp_path / "other.sif"
        sif.touch()
        folder, alone = read_base(tmp_path, "apptainer"), read_base(sif, "apptainer")
        assert (folder.kind, folder.sif("track@base")) == ("images", tmp_path / "track.sif")
        assert (alone.kind, alone.sif("track@base")) == ("images", sif)
        refusal(read_base, sif, "native")

    def test_a_toml_file_holds_parameters(self, tmp_path):
        file = tmp_path / "base.toml"
        refusal(read_base, file, "native")
        file.write_text("[stages.track]\nmax_distance_px = 30\n")
        assert read_base(file, "native").params == {"track": {"max_distance_px": 30}}
        file.write_text("[stage.track]\nmax_distance_px = 30\n")
        refusal(read_base, file, "native")

    @pytest.mark.parametrize("name", ["absent", "."])
    def test_all_else_is_refused_with_the_three_ways(self, tmp_path, name):
        said = refusal(read_base, tmp_path / name, "native")
        for way in ("bin/python", "images.lock", ".sif", "[stages.NAME]"):
            assert way in said


class TestEntries:
    def test_each_stage_gets_a_base_version_that_reads_the_same(self):
        found = with_base(PIPELINE, ENVIRONMENT).stages
        assert [name for name in found if name.startswith("segment")] == [
            "segment",
            "segment_base",
        ]
        assert found["track_base"].inputs == found["track"].inputs
        assert found["track_base"].version_of == found["track_base"].family == "track"
        assert without_base(with_base(PIPELINE, ENVIRONMENT)) == PIPELINE

    def test_parameters_give_one_only_to_the_stages_that_they_name(self):
        found = with_base(PIPELINE, parameters(track={"max_distance_px": 30}))
        assert [name for name in found.stages if name.endswith("_base")] == ["track_base"]
        refusal(with_base, PIPELINE, parameters(trakc={"max_distance_px": 30}))

    @pytest.mark.parametrize("name", ["system", "loader", "reconstruct"])
    def test_a_suite_without_work_that_workers_share_is_refused(self, name):
        suite = load_suite(name).model_copy(update={"versus": None, "against": None})
        refusal(with_base, suite, ENVIRONMENT)

    def test_points_of_a_grid_are_measured_in_both_versions(self):
        chosen = {"length_px": (2, "full"), "device": ("cpu", "cuda"), "threads": (1,)}
        grid = unfolded(load_suite("device"), chosen, device="cpu", cores=lambda *_: 1)
        found = with_base(grid, ENVIRONMENT).stages
        assert found["segment_2px_cuda"].point["version"] == "new"
        base = found["segment_2px_cuda_base"]
        assert (base.point["version"], base.beside) == ("base", "segment_2px_cpu_base")
        assert without_base(with_base(grid, ENVIRONMENT)) == grid
        refusal(with_base, grid, parameters(segment={"length_px": 4}))


class TestTrials:
    def test_base_trials_run_in_the_base_and_nothing_reads_them(self, plan_against):
        plan = plan_against()
        bases = {trial.entry for trial in plan.trials if trial.interpreter is not None}
        assert bases == {f"{entry}_base" for entry in PIPELINE.stages} == {*plan.versions.values()}
        read = {item.from_trial for trial in plan.trials for item in trial.inputs}
        assert not {one for one in read if one and "_base" in one}

    def test_settings_of_a_stage_hold_for_both_and_the_bases_go_on_top(self, plan_against):
        plan = plan_against(
            parameters(track={"max_distance_px": 30}),
            stages={"track": {"max_distance_px": 20, "gap_frames": 1}},
        )
        new, base = (plan.trial(f"{entry}-n1-b1").params for entry in ("track", "track_base"))
        assert (new["max_distance_px"], base["max_distance_px"]) == (20, 30)
        assert new["gap_frames"] == base["gap_frames"] == 1
        refusal(plan_against, parameters(track={"max_distance": 30}))

    def test_naming_a_stage_measures_both_versions_of_it(self, plan_against):
        plan = plan_against(only=("contact",))
        assert plan.versions == {"contact": "contact_base"}
        fed = {trial.entry for trial in plan.trials} - {"contact", "contact_base"}
        assert fed == {"register_denoise", "segment"}
        refusal(lambda: plan_against(only=("contact_base",)))
        line = repeat_line(plan)
        assert "--only contact --workers" in line
        assert line.count("--against /env") == 1

    def test_images_of_the_base_have_names_of_their_own(self, plan_against):
        base = BaseVersion(kind="images", path=Path("/images"))
        plan = plan_against(base, runtime="apptainer", only=("contact",))
        images = {trial.entry: trial.image for trial in plan.trials}
        assert (images["contact"], images["contact_base"]) == ("contact", "contact@base")


class TestOrder:
    @pytest.mark.parametrize("seed", range(10))
    def test_both_versions_run_one_after_the_other(self, plan_against, seed):
        trials = plan_against(seed=seed).trials
        pairs = list(zip(trials[::2], trials[1::2], strict=True))
        for one, other in some(pairs):
            assert one.entry.removesuffix("_base") == other.entry.removesuffix("_base")
            assert (one.workers, one.block) == (other.workers, other.block)

    @pytest.mark.slow
    def test_neither_version_is_usually_the_first_not_even_in_the_first_block(self, plan_against):
        first = [
            trial.entry.endswith("_base")
            for seed in range(30)
            for trial in plan_against(seed=seed, repeats=2).trials[::2]
            if trial.block == 1
        ]
        # 240 throws of a fair coin leave 92 to 148 once in four thousand times.
        assert 92 < sum(first) < 148

    def test_outputs_are_set_beside_each_other_a_block_later_or_after_the_only_one(
        self, plan_against
    ):
        assert beside(plan_against(only=("contact",)).trials) == {
            "contact-n1-b2": "contact_base-n1-b1",
            "contact-n2-b2": "contact_base-n2-b1",
        }
        trials = plan_against(only=("contact",), repeats=1).trials
        assert beside(trials)["contact-n2-b1"] == "contact_base-n2-b1"
        order = [trial.id for trial in trials]
        assert order.index("contact_base-n2-b1") < order.index("contact-n2-b1")

    def test_a_run_without_a_base_keeps_the_order_of_its_seed(self, make):
        order = [trial.id for trial in make(repeats=2, seed=3).trials if trial.block == 2]
        assert order == [
            *("register_denoise-n2-b2", "track-n2-b2", "segment-n1-b2", "contact-n2-b2"),
            *("register_denoise-n1-b2", "segment-n2-b2", "contact-n1-b2", "track-n1-b2"),
        ]


def beside(trials):
    return {trial.id: trial.beside_trial for trial in trials if trial.beside_trial}


def test_an_entry_that_has_the_name_of_a_base_version_is_refused():
    frames = {"frames": "movie"}
    suite = Suite(
        name="own",
        summary="",
        stages={
            "segment": SuiteStage(inputs=frames),
            "segment_base": SuiteStage(stage="segment", inputs=frames),
        },
    )
    refusal(with_base, suite, ENVIRONMENT)
