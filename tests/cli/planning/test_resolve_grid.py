import pytest

from pyscale.errors import UserError
from pyscale.planning import resolve_grid
from pyscale.planning.resolve_grid import measured_suite, with_system, without_system
from pyscale.planning.sites import load_site
from pyscale.planning.suite import load_suite
from pyscale.settings import Settings
from refusals import refused

SIZES = {"length_px": (224,)}


@pytest.fixture(autouse=True)
def _without_a_gpu(monkeypatch):
    monkeypatch.setattr(resolve_grid, "visible_gpus", list)


def devices(suite):
    return [str(step.device) for step in suite.stages.values()]


def settings(grid=None, **changes):
    return Settings(grid={**SIZES, **(grid or {})}, **changes)


def test_devices_that_are_absent_are_left_out_with_a_sentence_unless_they_were_asked_for(
    capsys, monkeypatch
):
    suite = measured_suite(load_suite("device"), settings(), None)
    assert list(suite.stages) == ["segment_224px_cpu"]
    said = "left out of the suite device, as this machine has none: cuda and mps"
    assert said in capsys.readouterr().err
    asked_for = settings({"device": ["cpu", "cuda"]})
    assert devices(measured_suite(load_suite("device"), asked_for, None)) == ["cpu", "cuda"]
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(resolve_grid, "visible_gpus", lambda: ["GPU-1"])
    assert devices(measured_suite(load_suite("device"), settings(), None)) == ["cpu", "cuda"]


def test_a_mac_with_apple_silicon_has_mps(monkeypatch):
    monkeypatch.setattr(resolve_grid, "is_apple_silicon", lambda: True)
    assert devices(measured_suite(load_suite("device"), settings(), None)) == ["cpu", "mps"]


@pytest.mark.parametrize(
    ("site", "expected"),
    [("modules", ["cpu", "cuda"]), ("amd", ["cpu", "cuda"]), ("plain", ["cpu"])],
)
def test_a_cluster_has_gpus_where_its_site_speaks_of_them(site, expected):
    chosen = settings({"threads": [4]})
    assert devices(measured_suite(load_suite("device"), chosen, load_site(site))) == expected


def test_a_suite_of_which_nothing_is_here_and_what_is_no_device_are_refused():
    of_file = load_suite("device")
    grid = {"length_px": (224,), "device": ("cuda",)}
    segment = of_file.stages["segment"].model_copy(update={"grid": grid})
    only_cuda = of_file.model_copy(update={"stages": {"segment": segment}})
    with refused(UserError):
        measured_suite(only_cuda, settings(), None)
    with refused(UserError):
        measured_suite(of_file, settings({"device": ["gpu"]}), None)


def chosen_of(only, **grid):
    """Values of one axis of the suite reconstruct, by entries of its file."""
    (axis,) = grid
    suite = measured_suite(load_suite("reconstruct"), Settings(grid=grid), None, only)
    found = {}
    for entry, step in suite.stages.items():
        values = found.setdefault(step.family or entry, [])
        values += [step.params.get(axis)] if step.params.get(axis) not in values else []
    return found


@pytest.mark.parametrize("name", ["colour_deblur", "colour_deblur_256px_operators_64"])
def test_values_are_chosen_for_what_is_measured_and_not_for_what_would_refuse_them(name):
    # 48 angles cannot be put into 64 groups.
    assert chosen_of((), operators=(8, 64))["tomography_2d"] == [8, 64]
    found = chosen_of((name,), operators=(8, 64))
    assert found == {"colour_deblur": [8, 64], "tomography_2d": [8], "tomography_3d": [8]}


def test_values_that_nothing_takes_of_what_is_measured_are_refused():
    with refused(UserError):
        chosen_of(("tomography_3d",), size_px=(32, 48))
    # A misspelt name is left to the planning.
    assert len(chosen_of(("colour_debulr",), size_px=(256,))) == 3


def test_what_is_left_out_asks_for_no_device_and_is_told_of_in_no_sentence(capsys):
    suite = measured_suite(load_suite("system"), Settings(), None, ("storage",))
    assert "kernels_cpu" in suite.stages
    assert capsys.readouterr().err == ""
    only_cuda = suite.stages["storage"].model_copy(update={"grid": {"device": ("cuda",)}})
    stages = {"storage": suite.stages["storage"], "kernels": only_cuda}
    both = load_suite("system").model_copy(update={"stages": stages})
    assert "storage" in measured_suite(both, Settings(), None, ("storage",)).stages


def test_numbers_of_threads_are_chosen_for_what_is_left_out_too():
    # The site says no number of cores, so that nobody knows how many all are.
    chosen = Settings(grid={"threads": (4,)})
    suite = measured_suite(load_suite("system"), chosen, load_site("plain"), ("storage",))
    assert {step.cores for step in suite.stages.values()} == {4}


def test_all_threads_are_the_physical_cores_here(monkeypatch):
    monkeypatch.setattr(resolve_grid, "usable_cpus", lambda: [0, 1, 2, 3])
    monkeypatch.setattr(resolve_grid, "first_threads", lambda cpus: cpus[:2])
    (step,) = measured_suite(load_suite("device"), settings(), None).stages.values()
    assert (step.threads, step.point["threads"]) == (2, "all")
    system = load_suite("system")
    suite = measured_suite(system, Settings(), None)
    cores = {entry: step.cores for entry, step in suite.stages.items()}
    assert cores == {"storage": 2, "decompress": 2, "kernels_cpu": 2}


def test_all_threads_of_a_cluster_are_what_its_site_says(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\nsummary = "ours"\n[request]\ncpus = 12\n')
    suite = measured_suite(load_suite("device"), settings(), load_site(str(file)))
    assert [step.threads for step in suite.stages.values()] == [12]
    with refused(UserError):
        measured_suite(load_suite("device"), settings(), load_site("plain"))


def test_a_parameter_that_the_user_gives_a_stage_is_the_only_value_of_its_axis():
    stages = {"segment": {"batch_size": 2, "model": "mine.pt"}}
    suite = measured_suite(load_suite("device"), settings(stages=stages), None)
    (step,) = suite.stages.values()
    assert (step.params["batch_size"], step.params["model"]) == (2, "mine.pt")
    suite = measured_suite(load_suite("device"), settings({"batch_size": [4]}, stages=stages), None)
    assert [step.params["batch_size"] for step in suite.stages.values()] == [4]


def test_numbers_of_threads_are_chosen_where_all_would_be_taken():
    system = load_suite("system")
    suite = measured_suite(system, Settings(grid={"threads": (1, 2)}), None)
    assert list(suite.stages)[:2] == ["storage_1threads", "storage_2threads"]
    assert {step.cores for step in suite.stages.values()} == {1, 2}
    one = measured_suite(system, Settings(grid={"threads": (1,)}), None)
    assert list(one.stages) == ["storage", "decompress", "kernels_cpu"]


def test_the_brief_suite_comes_first_with_all_cores_counted_and_can_be_taken_away():
    labels, system = load_suite("labels"), load_suite("system")
    suite = with_system(labels, Settings(), None)
    assert [*suite.stages][:2] == ["storage", "decompress"]
    assert all(isinstance(suite.stages[entry].cores, int) for entry in suite.measured_once)
    assert without_system(suite) == labels
    # Values chosen for the suite's own grid are not those of the brief one.
    suite = with_system(load_suite("device"), Settings(grid={"length_px": (224,)}), None)
    assert "storage" in suite.stages
    # A suite of the machine gains nothing.
    assert with_system(system, Settings(), None) is system


def test_two_entries_of_one_name_are_refused(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(
        "name = 'own'\nsummary = ''\n[stages.storage]\nstage = 'track'\n"
        "inputs = {labels = 'movie'}\n"
    )
    with refused(UserError):
        with_system(load_suite(str(path)), Settings(), None)
