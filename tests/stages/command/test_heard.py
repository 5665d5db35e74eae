import pytest

from pyscale_stages.command.process import Heard


@pytest.mark.parametrize(
    ("known", "phases"),
    [
        ({}, [("compute", 0, 9)]),
        ({"read": 4}, [("import", 0, 4), ("compute", 4, 9)]),
        (
            {"in_container": 2, "read": 4},
            [("container_start", 0, 2), ("import", 2, 4), ("compute", 4, 9)],
        ),
        ({"in_container": 2}, [("container_start", 0, 2), ("compute", 2, 9)]),
        (
            {"read": 1, "said": [("read", 3), ("write", 5)]},
            [("import", 0, 3), ("read", 3, 5), ("write", 5, 9)],
        ),
        (
            {"said": [("read", 3)], "told": [("write", 7, 8), ("read", 4, 5)]},
            [
                *[("import", 0, 4), ("read", 4, 5), ("compute", 5, 7), ("write", 7, 8)],
                ("compute", 8, 9),
            ],
        ),
        # Two threads, and one that tells more than the time that there was.
        (
            {"told": [("read", -1, 3), ("compute", 2, 5), ("write", 3, 4), ("write", 5, 99)]},
            [("read", 0, 3), ("compute", 3, 5), ("write", 5, 9)],
        ),
    ],
)
def test_phases_follow_each_other_and_fill_the_call(known, phases):
    assert list(Heard(0, end=9, **known).phases) == phases
