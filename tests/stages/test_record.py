"""Bounds of a record's numbers are those that its fields state."""

import pytest
from pydantic import TypeAdapter, ValidationError

from pyscale_stages.record import Bytes, Count


@pytest.mark.parametrize("kind", [Bytes, Count])
def test_a_count_that_no_table_can_hold_is_damage(kind):
    adapter = TypeAdapter(kind)
    assert adapter.validate_python(2**63 - 1) == 2**63 - 1
    with pytest.raises(ValidationError):
        adapter.validate_python(10**30)
