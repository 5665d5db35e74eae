"""The RO-Crate of a run: what the specification and the profiles ask, and that it is true."""

import json

import pytest

from mockexecutor import MockEnd, MockExecutor
from mockruns import carry_out, ending
from pyscale.evaluation.results import results_of
from pyscale.store.crate import write_crate
from pyscale.store.folder import RunFolder
from pyscale.store.manifest import MANIFEST_FILE
from pyscale_stages.contract import TaskError

CONTEXTS = [
    "https://w3id.org/ro/crate/1.1/context",
    "https://w3id.org/ro/terms/workflow-run/context",
]
TERMS = set(
    "@id @type about actionStatus additionalType agent conformsTo containerImage "  # noqa: SIM905
    "contentSize datePublished description encodingFormat endTime error hasPart instrument "
    "license mainEntity mentions name object programmingLanguage result sha256 size "
    "softwareVersion startTime version".split()
)
"""Terms that the two contexts define, as far as a crate of ours has any use for them."""
SIF = "https://w3id.org/ro/terms/workflow-run#SIFImage"
DONE, FAILED = (f"http://schema.org/{word}ActionStatus" for word in ("Completed", "Failed"))


@pytest.fixture
def measured(make, tmp_path):
    """A run of two stages, one trial of which failed, in a folder with a name that is not plain."""
    run = RunFolder.create(tmp_path / "a, [c] 'd' #e", make(only=("register_denoise", "segment")))
    error = TaskError(kind="BadInput", message="the frames are empty", exit_code=2)
    failed = MockEnd(returncode=2, error=error)
    carry_out(run, MockExecutor(ending("segment-n2-b2", "w1", failed)))
    return run


def crate_of(run):
    """Entities by their id, from the file that was written."""
    results_of(run)
    document = json.loads(write_crate(run).read_text())
    assert document.keys() == {"@context", "@graph"}
    assert document["@context"] == CONTEXTS
    found = {entity["@id"]: entity for entity in document["@graph"]}
    assert len(found) == len(document["@graph"]), "an id stands for one entity"
    return found


def references(value):
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            assert item.keys() == {"@id"}, "entities do not nest"
            yield item["@id"]


def types(entity):
    return {entity["@type"]} if isinstance(entity["@type"], str) else set(entity["@type"])


def actions(entities):
    return [entity for entity in entities.values() if types(entity) == {"CreateAction"}]


@pytest.mark.slow
def test_every_reference_is_resolved_every_term_defined_and_every_file_a_part(measured):
    measured.report.mkdir(exist_ok=True)
    entities = crate_of(measured)
    known = entities.keys() | {"https://w3id.org/ro/crate/1.1", SIF, DONE, FAILED}
    parts = set(references(entities["./"]["hasPart"]))
    for identity, entity in entities.items():
        assert entity.keys() <= TERMS
        assert entity["@type"]
        for value in entity.values():
            assert value != []
            assert value is not None
            assert set(references(value)) <= known
        if types(entity) & {"File", "Dataset"} and identity != "./":
            assert identity in parts
            path = measured.path / identity
            assert path.is_dir() if entity["@type"] == "Dataset" else path.is_file()
            if "contentSize" in entity:
                assert int(entity["contentSize"]) == path.stat().st_size
    assert {"plan.json", "journal.jsonl", MANIFEST_FILE, "tasks.parquet", "spans.parquet"} <= parts
    assert {"report/", "tasks/"} <= parts
    assert entities["tasks.parquet"]["encodingFormat"] == "application/vnd.apache.parquet"


def test_a_run_is_one_action_that_failed_where_trials_are_not_complete(measured, make, tmp_path):
    (run,) = actions(crate_of(measured))
    assert run["@id"] == f"#run-{measured.plan.run_id}"
    assert (run["actionStatus"], run["error"]) == (FAILED, "1 of 8 planned trials are not complete")
    assert list(references(run["instrument"])) == ["plan.json"]
    assert list(references(run["object"])) == ["#input"]
    assert "tasks.parquet" in set(references(run["result"]))
    done = RunFolder.create(tmp_path / "runs", make(only=("register_denoise",)))
    carry_out(done, MockExecutor(lambda _trial, _task, _spec: MockEnd(wall_s=2.0)))
    (whole,) = actions(crate_of(done))
    assert whole["actionStatus"] == DONE
    assert "error" not in whole


def test_images_are_named_with_their_checksums(measured):
    results_of(measured)
    file = measured.path / MANIFEST_FILE
    image = {"name": "segment", "path": "/images/segment.sif", "sha256": "5" * 64}
    containers = {"engine": "apptainer 1.3", "images": [image]}
    file.write_text(json.dumps(json.loads(file.read_text()) | {"containers": containers}))
    document = json.loads(write_crate(measured).read_text())
    found = {entity["@id"]: entity for entity in document["@graph"]}["#image-segment"]
    assert (found["@type"], found["sha256"]) == ("ContainerImage", "5" * 64)
    assert found["additionalType"] == {"@id": SIF}
