"""Collections that a test goes through, which must hold something for it to say anything."""


def some(items):
    """List what is there, and fail where it is nothing: a loop over nothing asserts nothing."""
    found = list(items)
    assert found, "nothing to go through: what the test asserts would hold of no item"
    return found
