"""What makes the data set, by name or from a user's own module."""

import sys
from textwrap import dedent

import pytest
from pydantic import ValidationError
from torch.utils.data import Dataset
from wsistream.torch import WsiStreamDataset

from pyscale_stages.errors import BadInput, MissingPart, StageError
from pyscale_stages.loader.factories import dataset_of, factory_of, idle_processes
from pyscale_stages.loader.stage import FOLDER_VARIABLE, LoaderParams, folder_of_factory
from refusals import assert_held, refused


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a user's module, and give its name."""
    monkeypatch.syspath_prepend(tmp_path)
    name = f"patches_of_{abs(hash(tmp_path)):x}"

    def write(source):
        (tmp_path / f"{name}.py").write_text(dedent(source))
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    return write


def said(factory, kind=BadInput):
    with pytest.raises(kind) as raised:
        dataset_of(LoaderParams(factory=factory), ["a.svs", "b.svs"], 3)
    sentence = str(raised.value)
    assert "\n" not in sentence
    return sentence


def test_wsistream_makes_the_shipped_data_set_and_absent_the_line_that_installs_it_is_given(
    tmp_path, monkeypatch
):
    slide = tmp_path / "a.svs"
    slide.touch()
    assert isinstance(dataset_of(LoaderParams(), [str(slide)], 0), WsiStreamDataset)
    monkeypatch.setattr("pyscale_stages.loader.factories.find_spec", lambda _name: None)
    with refused(MissingPart):
        factory_of(LoaderParams())


def test_a_factory_of_ones_own_is_called_with_the_settings(module):
    name = module(
        """
        from torch.utils.data import Dataset

        class Told(Dataset):
            def __init__(self, *told):
                self.told = told

        def make_dataset(slide_paths, pool_size, patches_per_slide, patches_per_visit, seed):
            return Told(slide_paths, pool_size, patches_per_slide, patches_per_visit, seed)
        """
    )
    params = LoaderParams(
        factory=f"{name}:make_dataset", pool_size=5, patches_per_slide=6, patches_per_visit=7
    )
    made = dataset_of(params, ["a.svs"], 8)
    assert isinstance(made, Dataset)
    assert made.told == (["a.svs"], 5, 6, 7, 8)


@pytest.mark.parametrize("name", ["ours", "ours:", ":make", "pyscale2"])
def test_what_names_no_factory_is_refused_with_what_there_is(name):
    with pytest.raises(ValidationError, match="use wsistream, or your own function"):
        LoaderParams(factory=name)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("", BadInput),
        ("make = 3", BadInput),
        ("import no_such_library", BadInput),
        ("1 / 0", BadInput),
        ("def make(*told): raise KeyError('scanner')", StageError),
        ("def make(paths): ...", StageError),
        ("def make(*told): return [1, 2]", BadInput),
        ("def make(*told): ...", BadInput),
    ],
)
def test_a_factory_that_gives_no_data_set_is_refused_with_the_reason(module, source, kind):
    name = module(source)
    assert_held(said(f"{name}:make", kind).replace(name, "<MODULE>"))


@pytest.mark.parametrize(
    ("num_workers", "slides", "factory", "idle"),
    [(0, 1, "wsistream", 0), (2, 2, "wsistream", 0), (4, 1, "wsistream", 3), (4, 1, "a:make", 0)],
)
def test_loader_processes_without_a_slide_are_idle_where_slides_are_shared_out(
    num_workers, slides, factory, idle
):
    assert idle_processes(LoaderParams(num_workers=num_workers, factory=factory), slides) == idle


@pytest.fixture
def folder(tmp_path):
    package = tmp_path / "groups_own" / "patches"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "loading.py").write_text("def make(*given):\n    return given\n")
    return package.parent


def own(factory="patches.loading:make"):
    return LoaderParams(factory=factory)


def test_the_folder_of_an_own_factory_is_given_to_its_image_and_others_need_none(
    folder, monkeypatch, tmp_path
):
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'absent'}::{folder}")
    around = folder_of_factory(own())
    assert around.files == (folder,)
    assert around.variables == {FOLDER_VARIABLE: str(folder)}
    monkeypatch.setenv("PYTHONPATH", str(folder))
    assert folder_of_factory(own("wsistream")).files == ()
    assert folder_of_factory(own("nowhere.to_be:found")).files == ()


def test_a_factory_is_found_in_the_folder_that_is_named(folder, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    assert factory_of(own())(["a"], 1, 2, 3, 4) == (["a"], 1, 2, 3, 4)
