"""Results of schema 1, as pyscale wrote them before samples had one shape."""

import json

import pytest

from pyscale.store.schema1 import result_of_schema_1
from pyscale_stages.contract import TaskResult
from pyscale_stages.timing import Call, Timing

NOW = "2026-03-17T11:42:24Z"
OLD = {
    "schema_version": 1,
    "spec": {"stage": "segment", "inputs": []},
    "status": "done",
    "start_utc": NOW,
    "end_utc": NOW,
    "wall_s": 1,
    "spans": [],
    "counters": {},
    "calls": [{"frame": 3, "index": 0, "shape_yx": [4, 5], "wall_s": 0.5}],
    "timings": [],
    "loading": None,
    "reconstruction": None,
}


def of_schema_1(**keys):
    return result_of_schema_1(json.dumps(OLD | keys).encode())


def test_what_had_a_field_of_its_own_is_a_sample():
    result = of_schema_1(warned=[{"code": "slow-disk", "text": "the disk is slow"}])
    (call,) = result.of(Call)
    assert (call.frame, call.shape_yx, call.wall_s) == (3, (4, 5), 0.5)
    assert result.samples.keys() == {"calls"}
    assert result.of(Timing) == ()
    assert result.warned[0].code == "slow-disk"
    assert TaskResult.model_validate_json(result.model_dump_json()) == result


def test_what_one_rank_had_is_a_list_of_one():
    result = of_schema_1(loading={"factory": "own"}, calls=[])
    assert result.samples == {"loading": ({"factory": "own"},)}


def test_sentences_without_codes_stay_readable():
    result = of_schema_1(warnings=["the disk is slow"])
    assert result.warnings == ("the disk is slow",)
    assert result.warned[0].code == "other"


@pytest.mark.parametrize(
    "told", [b"", b"[1]", b'{"schema_version": 2}', b'{"schema_version": 3}', b"{}"]
)
def test_nothing_else_is_of_schema_1(told):
    assert result_of_schema_1(told) is None
