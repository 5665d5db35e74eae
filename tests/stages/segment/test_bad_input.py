import pytest
import torch

from pyscale_stages.segment.models import MODEL_FOLDER_VARIABLE


@pytest.mark.parametrize(
    "params",
    [
        {"channel": 2},
        {"model": "cyto33"},
        {"model": "cpsam"},
        {"diameter_px": 20, "estimate_diameter": True},
        {"length_px": 500},
        *(
            {name: value}
            for name, value in {
                "diameter_px": 0,
                "batch_size": 0,
                "channel": -1,
                "flow_threshold": -0.1,
                "length_px": 0,
                "calls": 0,
                "tile_px": 100,
            }.items()
        ),
    ],
    ids=str,
)
def test_a_wrong_task_is_refused_with_what_to_give(params, frames, bench):
    bench.refused("run", frames, **params)


def test_weights_are_not_downloaded(frames, bench, tmp_path, monkeypatch):
    monkeypatch.setenv(MODEL_FOLDER_VARIABLE, str(tmp_path / "models"))
    bench.refused("run", frames, model="cyto3")
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize(
    "state",
    [
        None,
        {"layer.weight": torch.ones(2)},
        {"W2": torch.ones(2)},
        {"output.2.weight": torch.ones(3, 16, 1, 1)},
    ],
    ids=["damaged", "of another network", "of Cellpose 4", "of two channels"],
)
def test_weights_that_fit_no_network_are_refused(state, frames, bench, tmp_path):
    weights = tmp_path / "weights.pt"
    if state is None:
        weights.write_bytes(b"nothing that torch wrote" * 100)
    else:
        torch.save(state, weights)
    bench.refused("run", frames, model=str(weights))


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_device_that_does_not_work_is_refused(device, frames, bench):
    usable = torch.cuda.is_available() if device == "cuda" else torch.backends.mps.is_available()
    if usable:
        pytest.skip(f"{device} works here: nothing to refuse")
    bench.refused("run", frames, device=device)
