import numpy as np
import pytest
import torch

from deepinvhere import DRUNet, create_strategy
from pyscale_stages.errors import BadInput
from pyscale_stages.reconstruct.stage import ReconstructParams
from pyscale_stages.reconstruct.tiles import grid_of, interior_mask, receptive_field_px
from pyscale_stages.reconstruction import Tiling
from refusals import refused


def params(**given):
    return ReconstructParams(**({"blocks": 1} | given))


@pytest.mark.parametrize(
    ("size_px", "multiplier"), [(2048, 1.5625), (4096, 1.5625), (8192, 1.41015625)]
)
def test_published_tiles_cost_what_was_published(size_px, multiplier):
    grid = grid_of((1, size_px, size_px), params(tile_px=448, overlap_px=32), ranks=4)
    assert grid.work_multiplier == multiplier


def test_one_rank_leaves_the_image_whole_and_several_have_a_tile_each_at_least():
    whole = grid_of((3, 256, 256), params(tile_px=64, overlap_px=16), ranks=1)
    assert whole.tiling(0).model_dump() == {
        "tile_px": None,
        "overlap_px": 0,
        "tiles": 1,
        "tiles_here": 1,
        "work_multiplier": 1.0,
    }
    # A record that tells nothing of tiles is of such an image.
    assert Tiling() == whole.tiling(0)
    cut = grid_of((3, 256, 256), params(tile_px=64, overlap_px=16, whole_at_one=False), ranks=1)
    assert (cut.tiles, cut.work_multiplier) == (16, 2.25)
    grid = grid_of((1, 96, 96), params(tile_px=32, overlap_px=8), ranks=4)
    assert [grid.tiling(rank).tiles_here for rank in range(4)] == [3, 2, 2, 2]
    assert grid_of((3, 64, 64), params(tile_px=32, overlap_px=8), ranks=4).tiles == 4
    with refused(BadInput):
        grid_of((3, 64, 64), params(tile_px=32, overlap_px=8), ranks=5)
    idling = grid_of((3, 64, 64), params(tile_px=32, overlap_px=8, idle_ranks=True), ranks=5)
    assert [idling.tiling(rank).tiles_here for rank in range(5)] == [1, 1, 1, 1, 0]


@pytest.mark.parametrize("shape", [(3, 96, 96), (1, 104, 120), (1, 40, 40, 56)])
def test_the_engine_cuts_as_it_is_said_to(shape):
    given = params(tile_px=32, overlap_px=8)
    dims = tuple(range(1 - len(shape), 0))
    engine = create_strategy((1, *shape), tiling_dims=dims, patch_size=32, overlap=8)
    grid = grid_of(shape, given, ranks=2)
    assert grid.tiles == engine.get_num_patches()
    image = torch.ones(1, *shape)
    shown = sum(tile.numel() for _, tile in engine.get_local_patches(image, range(grid.tiles)))
    assert grid.work_multiplier == pytest.approx(shown / image.numel())
    for axis, cuts in enumerate(grid.axes):
        targets = {(each[2 + axis].start, each[2 + axis].stop) for each in targets_of(engine)}
        assert {(cut.start, cut.stop) for cut in cuts} == targets


def targets_of(engine):
    return engine._metadata["target_slices"]


@pytest.mark.parametrize("blocks", [1, 2])
def test_the_network_looks_as_far_as_is_said_and_no_farther(blocks):
    network = DRUNet(1, 1, (1, 1, 1, 1), blocks, pretrained=None).double().eval()
    # Nothing cancels and no unit is shut, so that every pixel it looks at counts.
    for weights in network.parameters():
        torch.nn.init.constant_(weights, 0.5)
    length, reach = 320, 0
    for pixel in range(160, 168):
        image = torch.ones(1, 1, 32, length, dtype=torch.double, requires_grad=True)
        network(image, 0.1)[0, 0, 16, pixel].backward()
        assert image.grad is not None
        seen = torch.nonzero(image.grad[0, 0].sum(dim=0)).flatten()
        reach = max(reach, pixel - int(seen[0]), int(seen[-1]) - pixel)
    assert reach == receptive_field_px(blocks)


@pytest.mark.parametrize(
    ("size_px", "tile_px", "overlap_px", "expected"),
    [
        (256, 128, 56, [*range(53, 203)]),
        # The last tile begins at 64 and gives what the first has not.
        (200, 136, 0, [*range(53, 83), *range(136, 147)]),
    ],
)
def test_the_interior_is_all_that_tiles_cannot_change(size_px, tile_px, overlap_px, expected):
    given = params(tile_px=tile_px, overlap_px=overlap_px)
    shape = (1, size_px, size_px)
    inside = interior_mask(shape, given)
    assert inside[np.ix_(expected, expected)].all()
    assert inside.sum() == len(expected) ** 2
    network = DRUNet(1, 1, (4, 4, 8, 8), 1, pretrained=None).eval()
    image = torch.rand(1, *shape, generator=torch.Generator().manual_seed(0))
    engine = create_strategy(
        image.shape, tiling_dims=(-2, -1), patch_size=tile_px, overlap=overlap_px
    )
    cut = torch.zeros_like(image)
    with torch.no_grad():
        whole = network(image, 0.05)
        tiles = engine.get_local_patches(image, range(engine.get_num_patches()))
        engine.reduce_patches(cut, [(index, network(tile, 0.05)) for index, tile in tiles])
    share = ((cut - whole).abs() / whole.abs().max())[0, 0].numpy()
    assert share[inside].max() <= 1e-6
    assert share[~inside].max() > 1e-3


@pytest.mark.parametrize(
    "tile_px", [64, 128], ids=["smaller than the network's view", "as large as the image"]
)
def test_such_tiles_have_no_interior(tile_px):
    assert not interior_mask((1, 128, 128), params(tile_px=tile_px, overlap_px=16)).any()


@pytest.mark.parametrize(("tile_px", "overlap_px"), [(64, 16), (32, 64)])
def test_tiles_that_the_image_cannot_have_are_refused(tile_px, overlap_px):
    with refused(BadInput):
        grid_of((3, 64, 64), params(tile_px=tile_px, overlap_px=overlap_px), ranks=2)
