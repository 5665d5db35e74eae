"""Cone beams, against lines through a ball whose lengths are known."""

import pytest
import torch

from atleastone import some
from pyscale_stages.reconstruct import conebeam
from pyscale_stages.reconstruct.conebeam import ConeBeam

SIZE = 32
ANGLES = (0.0, 37.0, 90.0, 200.0)


def ball(size, centre_xyz, radius):
    """A ball of ones whose border is one voxel wide."""
    axis = torch.arange(size, dtype=torch.float64) - (size - 1) / 2
    z, y, x = torch.meshgrid(axis, axis, axis, indexing="ij")
    off = zip((x, y, z), centre_xyz, strict=True)
    distance = torch.stack([axis - centre for axis, centre in off]).norm(dim=0)
    voxels = (radius - distance + 0.5).clamp(0, 1)
    return voxels[None, None].float()


@pytest.mark.parametrize(("centre", "radius"), [((0, 0, 0), 20), ((9, -5, 6), 12)])
def test_rays_through_a_ball_are_as_long_as_geometry_says(centre, radius):
    beams = ConeBeam(64, ANGLES)
    seen = beams.project(ball(64, centre, radius))[0, 0]
    cells = (torch.arange(64) - 31.5)[:, None]
    for number, vector in some(zip(range(len(ANGLES)), beams.vectors(), strict=True)):
        source, detector, column, row = vector.split(3)
        ends = detector + cells * column + cells[:, None] * row
        directions = torch.nn.functional.normalize(ends - source, dim=-1)
        to_centre = torch.tensor(centre, dtype=torch.float64) - source
        from_centre = (to_centre @ to_centre - (directions @ to_centre) ** 2).sqrt()
        chords = 2 * (radius**2 - from_centre**2).clamp(min=0).sqrt()
        wrong = (seen[:, number] - chords).abs()
        # Half a voxel; grazing rays, where voxels are no ball, count by their sum.
        assert wrong[from_centre < 0.8 * radius].max() < 0.5
        assert wrong[from_centre > radius + 2].max() == 0
        assert seen[:, number].sum().item() == pytest.approx(chords.sum().item(), rel=0.01)


def test_samples_lie_evenly_about_the_middle_and_in_portions_are_as_good(monkeypatch):
    beams = ConeBeam(SIZE, ANGLES)
    volume = ball(SIZE, (2, 1, -3), 9)
    (places,) = beams._places(0, volume)
    depths = places[0, :, 0, 0, 1]
    torch.testing.assert_close(depths, -depths.flip(0))
    seen = beams.project(volume)
    back = beams.back_project(seen)
    monkeypatch.setattr(conebeam, "FEWEST_SAMPLES", 1)
    assert len(list(beams._places(0, volume))) > 1
    torch.testing.assert_close(beams.project(volume), seen)
    torch.testing.assert_close(beams.back_project(seen), back)
