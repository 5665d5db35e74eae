import os

import numpy as np
import pytest

from pyscale_stages.errors import BadInput, MissingPart
from pyscale_stages.segment.models import MODEL_FOLDER_VARIABLE, find_size_weights, size_file
from pyscale_stages.segment.sizemodel import load_size_model, read_size_weights
from refusals import refused

OF_CELLPOSE = {
    "A": np.linspace(-1, 1, 256),
    "smean": np.full(256, 0.25, np.float32),
    "diam_mean": 30.0,
    "ymean": np.float32(0.5),
}


class LoadedNetwork:
    """What a size model asks of the network that it is loaded for."""

    device = "cpu"
    diam_mean = 17.0
    pretrained_model = False


def test_the_embedded_model_has_a_size_model_and_one_of_cellpose_4_none():
    path = find_size_weights("pyscale-tiny")
    assert path.name == "pyscale-tiny-size.json"
    assert path.stat().st_size < 8e3
    with refused(BadInput):
        find_size_weights("cpsam")


def test_weights_by_path_have_theirs_beside_them(tmp_path):
    weights = tmp_path / "mine"
    with refused(MissingPart):
        find_size_weights(str(weights))
    published, trained = tmp_path / "size_mine.npy", tmp_path / "mine_size.npy"
    published.touch()
    assert find_size_weights(str(weights)) == published
    trained.touch()
    assert size_file(str(weights)) == trained


@pytest.mark.slow
def test_a_file_of_cellpose_gives_what_cellpose_itself_would_read(tmp_path):
    from cellpose.models import SizeModel

    path = tmp_path / "size_cyto3.npy"
    np.save(path, OF_CELLPOSE)
    style = np.linspace(0, 1, 256)
    ours = load_size_model(path, LoadedNetwork())
    theirs = SizeModel(LoadedNetwork(), pretrained_size=str(path))
    assert ours.diam_mean == theirs.diam_mean == 30.0
    estimate = ours._size_estimation(style)
    assert estimate == pytest.approx(theirs._size_estimation(style))
    # Regression by hand: 30 exp(sum A (style - 0.25) + 0.5).
    slopes = OF_CELLPOSE["A"]
    assert estimate == pytest.approx(30 * np.exp(slopes @ (style - 0.25) + 0.5))


def test_a_file_that_would_execute_something_is_refused_unexecuted(tmp_path):
    proof = tmp_path / "executed"

    class Harmful:
        def __reduce__(self):
            return os.mkdir, (str(proof),)

    path = tmp_path / "size_cyto3.npy"
    np.save(path, {**OF_CELLPOSE, "A": Harmful()})
    with refused(BadInput):
        read_size_weights(path)
    assert not proof.exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("size_cyto3.npy", b"<html>404</html>"),
        ("size_cyto3.npy", b""),
        ("pyscale-tiny-size.json", b'{"slopes": [1.0]}'),
        ("pyscale-tiny-size.json", b"{"),
        ("size_cyto3.npy", {"A": OF_CELLPOSE["A"]}),
        ("size_cyto3.npy", {**OF_CELLPOSE, "smean": np.zeros(3)}),
    ],
    ids=["page", "empty", "JSON of another kind", "cut JSON", "one number", "other sizes"],
)
def test_another_file_or_one_that_lacks_numbers_is_refused_in_a_sentence(name, content, tmp_path):
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content)
    with refused(BadInput):
        read_size_weights(path)


def test_a_published_model_has_its_own_in_the_model_folder(tmp_path, monkeypatch):
    monkeypatch.setenv(MODEL_FOLDER_VARIABLE, str(tmp_path))
    with refused(MissingPart):
        find_size_weights("cyto3")
    (tmp_path / "size_cyto3.npy").touch()
    assert find_size_weights("cyto3") == tmp_path / "size_cyto3.npy"
