"""Bounds of a record's numbers are those that its fields state."""

import pkgutil
from importlib import import_module

import pytest
from annotated_types import Ge
from pydantic import TypeAdapter, ValidationError

import pyscale_stages
from pyscale_stages.reconstruction import Tiling
from pyscale_stages.record import Bytes, Count, Record


def records(kind=Record):
    """Every record of the contract's own modules."""
    for module in pkgutil.iter_modules(pyscale_stages.__path__):
        if not module.ispkg and module.name != "__main__":
            import_module(f"pyscale_stages.{module.name}")
    for record in kind.__subclasses__():
        yield record
        yield from records(record)


def test_no_field_has_a_second_lower_bound_of_which_only_one_would_count():
    found = list(records())
    assert Tiling in found
    twice = {
        f"{record.__name__}.{name}"
        for record in found
        for name, field in record.model_fields.items()
        if sum(isinstance(bound, Ge) for bound in field.metadata) > 1
    }
    assert twice == set()


def test_tiles_cannot_take_less_work_than_the_image():
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        Tiling(work_multiplier=0.5)


@pytest.mark.parametrize("kind", [Bytes, Count])
def test_a_count_that_no_table_can_hold_is_damage(kind):
    adapter = TypeAdapter(kind)
    assert adapter.validate_python(2**63 - 1) == 2**63 - 1
    with pytest.raises(ValidationError):
        adapter.validate_python(10**30)
