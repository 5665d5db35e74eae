"""Who is to compute on GPUs that a site's file does not speak of is told so in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyscale.plan import Plan
from pyscale.sbatch.gpus import warn_of_no_gpus
from pyscale.sites import Site, load_site

PlanMaker = Callable[..., Plan]


def site(**changes: Any) -> Site:
    return Site.model_validate({"name": "mine", "summary": "ours", **changes})


def test_what_computes_on_cuda_is_named_once_where_the_site_has_no_gpu_for_it(
    make: PlanMaker, sweep: PlanMaker
) -> None:
    (told,) = warn_of_no_gpus(make(device="cuda"), load_site("plain"))
    assert told.startswith(
        "segment and contact compute on cuda, but the file of the site plain asks for no GPU"
    )
    points = sweep({"device": ["cpu", "cuda"]})
    (told,) = warn_of_no_gpus(points, site(request={"gpus": 0}))
    assert told.startswith("segment computes on cuda, but the file of the site mine")
    assert list(warn_of_no_gpus(make(device="cpu"), load_site("plain"))) == []


@pytest.mark.parametrize(
    "other",
    [
        load_site("modules"),
        load_site("amd"),
        site(request={"gpus": 4}),
        # GPUs may come with the partition, without being asked for.
        site(request={"gpus": 0}, override=[{"device": "cuda", "partition": "gpu"}]),
    ],
)
def test_a_site_that_speaks_of_gpus_is_not_doubted(make: PlanMaker, other: Site) -> None:
    assert list(warn_of_no_gpus(make(device="cuda"), other)) == []
