"""Versions of stages as axes of a grid: their entries, their trials, and the order of these."""

import pytest

from atleastone import some
from mockruns import PIPELINE, plan_of
from pyscale.errors import UserError
from pyscale.evaluation.runline import interleaved_line, repeat_line
from pyscale.planning.grid import unfolded
from pyscale.planning.suite import load_suite
from refusals import refused


@pytest.fixture
def pythons(tmp_path):
    paths = [tmp_path / name / "bin" / "python" for name in ("old", "new")]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.touch()
    return tuple(map(str, paths))


def in_versions(chosen, suite=PIPELINE, **how):
    return unfolded(suite, chosen, device="cpu", cores=lambda *_: 1, **how)


@pytest.fixture
def plan_versions(dataset, tmp_path, pythons):
    def plan(workers=(1, 2), only=(), **settings):
        chosen = {"python": pythons}
        suite = in_versions(chosen, left_out=PIPELINE.stages.keys() - only if only else set())
        given = {"repeats": 6, "grid": chosen} | settings
        return plan_of(suite, dataset, tmp_path, workers, only, **given)

    return plan


class TestEntries:
    @pytest.mark.parametrize("axis", ["python", "environment"])
    def test_each_stage_has_one_a_version_and_all_read_what_the_first_left(
        self, pythons, axis, tmp_path
    ):
        values = {"python": pythons, "environment": (tmp_path / "old", tmp_path / "new")}[axis]
        found = in_versions({axis: tuple(map(str, values))})
        assert [name for name in found.stages if name.startswith("segment")] == [
            "segment_old",
            "segment_new",
        ]
        for name in ("segment_old", "segment_new"):
            assert found.stages[name].inputs == {"frames": "register_denoise_old"}
            assert found.stages[name].family == "segment"
        assert found.stages["segment_new"].beside == "segment_old"
        assert found.stages["segment_old"].beside is None
        assert found.versus == axis

    def test_one_value_leaves_the_entries_their_names(self, pythons):
        found = in_versions({"python": pythons[:1]})
        assert [*found.stages] == [*PIPELINE.stages]
        found = in_versions({"register_denoise.backend": ("fft",)})
        assert [*found.stages] == [*PIPELINE.stages]
        assert found.stages["register_denoise"].params["backend"] == "fft"

    def test_a_grid_has_them_as_one_more_axis(self, pythons):
        chosen = {"length_px": (2, "full"), "device": ("cpu", "cuda"), "threads": (1,)}
        found = in_versions(chosen | {"python": pythons}, load_suite("device"))
        new = found.stages["segment_2px_cuda_new"]
        assert (new.beside, found.versus) == ("segment_2px_cuda_old", "python")

    def test_what_cannot_be_is_refused(self, pythons, tmp_path):
        absent, alike = str(tmp_path / "absent"), tmp_path / "old" / "python3"
        alike.touch()
        for chosen, suite in (
            ({"python": pythons, "environment": (absent,)}, PIPELINE),
            ({"python": (absent,)}, PIPELINE),
            ({"environment": (absent,)}, PIPELINE),
            ({"python": (pythons[0], str(alike))}, PIPELINE),
            ({"python": pythons}, load_suite("system_brief")),
            ({"registration.backend": ("ants", "fft")}, PIPELINE),
            ({"register_denoise.backnd": ("ants", "fft")}, PIPELINE),
            ({"register_denoise.device": ("cpu", "cuda")}, PIPELINE),
            (BACKENDS | {"python": pythons}, PIPELINE),
        ):
            with refused(UserError):
                in_versions(chosen, suite)


BACKENDS = {"register_denoise.backend": ("ants", "fft")}


class TestOneParameter:
    def test_its_stage_has_an_entry_for_each_value_and_others_read_what_the_first_left(self):
        found = in_versions(BACKENDS)
        ants, fft = (found.stages[f"register_denoise_{name}"] for name in ("ants", "fft"))
        assert (ants.params["backend"], fft.params["backend"]) == ("ants", "fft")
        assert (ants.beside, fft.beside) == (None, "register_denoise_ants")
        assert found.stages["segment"].inputs == {"frames": "register_denoise_ants"}
        assert found.versus == "backend"

    def test_bounds_and_truth_hold_for_each(self):
        found = in_versions(
            {"register_nuclei.backend": ("ants", "fft")}, load_suite("quality")
        ).stages
        ants, fft = found["register_nuclei_ants"], found["register_nuclei_fft"]
        assert ants.at_most == fft.at_most != {}
        assert ants.truth == fft.truth == "camera"
        assert found["segment_registered"].inputs == {"frames": "register_nuclei_ants"}

    def test_its_trials_run_one_after_the_other_and_outputs_are_compared(self, dataset, tmp_path):
        suite = in_versions(BACKENDS)
        plan = plan_of(suite, dataset, tmp_path, (1,), (), repeats=6, grid=BACKENDS)
        entries = [trial.entry for trial in plan.trials]
        for block in range(6):
            at = [entries.index(f"register_denoise_{name}", 5 * block) for name in ("ants", "fft")]
            assert abs(at[0] - at[1]) == 1
        assert plan.compared == {"register_denoise_fft": "register_denoise_ants"}
        assert beside(plan.trials) == {"register_denoise_fft-n1-b2": "register_denoise_ants-n1-b1"}
        assert "--grid register_denoise.backend=ants,fft" in repeat_line(plan)


class TestTrials:
    def test_they_run_in_their_python_and_no_other_reads_the_later_ones(
        self, plan_versions, pythons
    ):
        plan = plan_versions()
        for trial in some(plan.trials):
            assert str(trial.interpreter) == pythons[trial.entry.endswith("_new")]
        read = {item.from_trial for trial in plan.trials for item in trial.inputs}
        assert not {one for one in read if one and "_new" in one}
        assert set(plan.compared) == {f"{entry}_new" for entry in PIPELINE.stages}

    def test_settings_of_a_stage_hold_for_all(self, plan_versions):
        plan = plan_versions(stages={"track": {"gap_frames": 1}})
        for entry in ("track_old", "track_new"):
            assert plan.trial(f"{entry}-n1-b1").params["gap_frames"] == 1

    def test_naming_a_stage_measures_its_versions_and_feeds_them_once(self, plan_versions, pythons):
        plan = plan_versions(only=("contact",))
        assert plan.compared == {"contact_new": "contact_old"}
        fed = {trial.entry for trial in plan.trials} - {"contact_old", "contact_new"}
        assert fed == {"register_denoise", "segment"}
        assert f"--grid python={','.join(pythons)}" in repeat_line(plan)

    @pytest.mark.parametrize(("axis", "runtime"), [("python", "apptainer"), ("image", "native")])
    def test_a_version_of_another_runtime_is_refused(
        self, dataset, tmp_path, pythons, axis, runtime
    ):
        suite = in_versions({axis: pythons[:1]})
        with refused(UserError):
            plan_of(suite, dataset, tmp_path, runtime=runtime)


class TestOrder:
    @pytest.mark.parametrize("seed", range(4))
    def test_versions_run_one_after_the_other(self, plan_versions, seed):
        trials = plan_versions(seed=seed).trials
        pairs = list(zip(trials[::2], trials[1::2], strict=True))
        for one, other in some(pairs):
            assert one.entry.removesuffix("_old").removesuffix("_new") in other.entry
            assert (one.workers, one.block) == (other.workers, other.block)

    @pytest.mark.slow
    def test_none_is_usually_the_first_not_even_in_the_first_block(self, plan_versions):
        first = [
            trial.entry.endswith("_new")
            for seed in range(30)
            for trial in plan_versions(seed=seed, repeats=2).trials[::2]
            if trial.block == 1
        ]
        # 240 throws of a fair coin leave 92 to 148 once in four thousand times.
        assert 92 < sum(first) < 148

    def test_outputs_are_set_beside_each_other_a_block_later_or_after_the_only_one(
        self, plan_versions
    ):
        assert beside(plan_versions(only=("contact",)).trials) == {
            "contact_new-n1-b2": "contact_old-n1-b1",
            "contact_new-n2-b2": "contact_old-n2-b1",
        }
        trials = plan_versions(only=("contact",), repeats=1).trials
        assert beside(trials)["contact_new-n2-b1"] == "contact_old-n2-b1"
        order = [trial.id for trial in trials]
        assert order.index("contact_old-n2-b1") < order.index("contact_new-n2-b1")


def beside(trials):
    return {trial.id: trial.beside_trial for trial in trials if trial.beside_trial}


def test_the_line_that_interleaves_names_both_versions(make):
    line = interleaved_line(make())
    assert line.endswith(" --grid python=OLD/bin/python,NEW/bin/python")
