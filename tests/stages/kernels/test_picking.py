import numpy as np
import pytest
import torch
from scipy import ndimage

from atleastone import some
from pyscale_stages.kernels import picking

CPU = torch.device("cpu")


def scores_of(image, templates):
    size = image.shape[-1]
    mask = picking.disc(templates.shape[-1], CPU)
    there = image - image.mean()
    of_image, of_square = torch.fft.rfft2(there), torch.fft.rfft2(there**2)
    spread = picking.local_spread(
        of_image, of_square, picking.transform(mask[None], size), float(mask.sum()), size
    )
    inside = picking.normalised(templates, mask)
    return picking.correlate(of_image, picking.transform(inside, size), size) / spread


def test_scores_are_correlation_coefficients_inside_the_round_mask():
    rng = np.random.default_rng(3)
    image = 5 + rng.random((64, 64), dtype=np.float32)
    templates = rng.random((3, 13, 13), dtype=np.float32)
    scores = scores_of(torch.from_numpy(image), torch.from_numpy(templates)).numpy()
    mask = picking.disc(13, CPU).numpy().astype(bool)
    for y, x in some(rng.integers(6, 58, (20, 2))):
        patch = image[y - 6 : y + 7, x - 6 : x + 7][mask]
        for template, score in some(zip(templates, scores[:, y, x], strict=True)):
            assert score == pytest.approx(np.corrcoef(patch, template[mask])[0, 1], abs=1e-4)


def test_rotated_templates_are_those_of_scipy():
    rng = np.random.default_rng(4)
    template = ndimage.gaussian_filter(rng.random((25, 25)), 2).astype(np.float32)
    rotated = picking.rotate(torch.from_numpy(template[None]), 12).numpy()
    inside = picking.disc(25, CPU).numpy().astype(bool)
    for number, got in some(enumerate(rotated)):
        expected = ndimage.rotate(template, 30 * number, reshape=False, order=1)
        assert np.abs(got - expected)[inside].max() < 1e-4


def test_particles_are_found_where_they_were_put(done):
    work, found = done(picking.prepare)
    judgement = work.judge(found)
    assert judgement.right
    assert judgement.more["particles"] >= 4
    assert not work.judge([places + 5 for places in found]).right


def test_all_templates_are_correlated_in_batches(make_bench, clock):
    bench = make_bench(template_angles=9, template_batch=4, micrographs=2)
    picking.prepare(bench).once(clock)
    assert clock.steps["correlate"].calls == 2 * 5
    assert clock.steps["put_micrograph_on_device"].amount == 2 * 4 * 160**2


def test_of_two_peaks_too_near_each_other_the_higher_is_taken():
    scores = torch.zeros((40, 40))
    scores[10, 10], scores[12, 11], scores[30, 5] = 0.9, 0.8, 0.5
    assert picking.highest_peaks(scores, 2, apart_px=4).tolist() == [[10, 10], [30, 5]]
