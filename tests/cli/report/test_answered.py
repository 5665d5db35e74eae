"""Answers are worded by templates, and their numbers stay tied to the CSV that holds them."""

import pytest

import madeupmachine
from pyscale.report.answered import answers
from pyscale.report.kinds import sections_of
from pyscale.report.page.values import Value


@pytest.fixture(scope="module")
def machine():
    (section,) = sections_of(madeupmachine.made_up(1, gpus=False))
    return section


def test_every_number_of_an_answer_is_that_of_a_table_beside_it(machine):
    (storage, *_) = machine.answered[0].answers
    assert (storage.question, storage.answers) == ("Storage", "storage")
    tied = [part for part in (*storage.head, *storage.rest) if isinstance(part, Value)]
    assert len(storage.head) == 1
    assert storage.head[0] == tied[0]
    cells = [
        part
        for table in machine.blocks[1].tables
        for group in table.groups
        for line in group.lines
        for cell in line.cells
        for part in cell
        if isinstance(part, Value)
    ]
    shown = {(one.table, one.key, one.column, one.raw) for one in cells}
    assert {(one.table, one.key, one.column, one.raw) for one in tied} <= shown


def test_lines_of_a_template_are_joined_but_before_punctuation():
    none = {"nodes": (), "in_order": (), "decoded": ()}
    able = [("picking", ("2.00",), "maps/s"), ("shell correlation", ("1.00",), "maps/s")]
    (compute,) = answers("machine", **none, devices=[("GPU", 1, able)])
    assert compute.text == (
        "Compute: 2.00 maps/s (picking); 1.00 maps/s (shell correlation) on GPU, and 1 more below."
    )
