"""What loading needs: the factory that makes the data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale_stages.declaration import Needs

if TYPE_CHECKING:
    from pyscale_stages.trying import Trying


def try_out(trying: Trying) -> None:
    """Find the factory."""
    from pyscale_stages.loader.factories import factory_of

    factory = trying.params.factory
    trying.step(f"find the factory {factory}")
    factory_of(trying.params)
    trying.cuda_architecture()
    trying.ok("works", f"datasets are made by {factory}")


NEEDS = Needs(
    deciding=("factory",),
    try_out=try_out,
)
