"""Parameters of the contact stage."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pyscale_stages.contract import StageParams


class ContactParams(StageParams):
    """How contacts are measured."""

    kernel_cache: Literal["none", "user"] = Field(
        "none",
        description=(
            "Where compiled OpenCL kernels come from: 'none' builds them anew in every task, so "
            "that model_load is the same in each; 'user' uses and fills the caches in the home "
            "folder, so that it depends on what ran there before"
        ),
    )
