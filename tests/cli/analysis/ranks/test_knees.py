"""What limits more ranks is told by what it loses of all that is lost in an iteration."""

import pytest

from madeupreconstruct import Entry, reconstruction
from pyscale.analysis.ranks.components import component_scaling, knees
from pyscale.analysis.ranks.reconstruct import reconstruct_trials


def test_what_limits_is_told_with_its_share_of_all_losses_and_is_never_the_objective():
    entry = Entry("slow", communication_s=2.0, objective_s=90.0)
    table = reconstruction([entry], ranks=(1, 2), repeats=1)
    (answer,) = knees(component_scaling(reconstruct_trials(table)))
    assert (answer.limit["component"], answer.limit["workers"]) == ("communication", 2)
    assert answer.limit["loss_s"] == pytest.approx(2.0)
    gradient_s, denoiser_s, gather_s = 0.05 / 2, 0.8 * (1.5625 - 1) / 2, 0.002
    every_loss_s = 2.0 + gradient_s + denoiser_s + gather_s
    assert answer.limit_share == pytest.approx(2.0 / every_loss_s)
    assert answer.margin_loss_s == pytest.approx(denoiser_s)
