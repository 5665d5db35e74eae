"""The RO-Crate of a run: what the specification and the profiles ask, and that it is true."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rocrate.rocrate import ROCrate

from mockruns import PlanMaker, carry_out, ending
from pyscale.executors.mock import MockEnd, MockExecutor
from pyscale.results import results_of
from pyscale.store.crate import write_crate
from pyscale.store.folder import RunFolder
from pyscale.store.manifest import MANIFEST_FILE
from pyscale_stages.contract import Call, TaskError

Entity = dict[str, Any]

CONTEXTS = [
    "https://w3id.org/ro/crate/1.1/context",
    "https://w3id.org/ro/terms/workflow-run/context",
]
TERMS = set(
    "@id @type about actionStatus additionalType agent citation conformsTo containerImage "  # noqa: SIM905
    "contentSize datePublished description encodingFormat endTime error hasPart instrument "
    "license mainEntity mentions name object programmingLanguage result sha256 size "
    "softwareRequirements softwareVersion startTime url version".split()
)
"""Terms that the two contexts define, as far as a crate of ours has any use for them."""
DONE, FAILED = (f"http://schema.org/{word}ActionStatus" for word in ("Completed", "Failed"))


@pytest.fixture
def measured(make: PlanMaker, tmp_path: Path) -> RunFolder:
    """A run of two stages, one trial of which failed, in a folder with a name that is not plain."""
    run = RunFolder.create(tmp_path / "a, [c] 'd' #e", make(only=("register_denoise", "segment")))
    error = TaskError(kind="BadInput", message="the frames are empty", exit_code=2)
    failed = MockEnd(returncode=2, error=error)
    carry_out(run, MockExecutor(ending("segment-n2-b2", "w1", failed)))
    return run


def crate_of(run: RunFolder) -> dict[str, Entity]:
    """Entities by their id, from the file that was written."""
    results_of(run)
    document = json.loads(write_crate(run).read_text())
    assert document.keys() == {"@context", "@graph"}
    assert document["@context"] == CONTEXTS
    found = {entity["@id"]: entity for entity in document["@graph"]}
    assert len(found) == len(document["@graph"]), "an id stands for one entity"
    return found


def references(value: Any) -> Iterator[str]:
    """Ids that a property refers to."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            assert item.keys() == {"@id"}, "entities do not nest"
            yield item["@id"]


def types(entity: Entity) -> set[str]:
    """Types of an entity."""
    return {entity["@type"]} if isinstance(entity["@type"], str) else set(entity["@type"])


def actions(entities: dict[str, Entity]) -> list[Entity]:
    """Every CreateAction."""
    return [entity for entity in entities.values() if types(entity) == {"CreateAction"}]


def test_the_root_says_what_it_is_and_what_it_conforms_to(measured):
    entities = crate_of(measured)
    descriptor, root = entities["ro-crate-metadata.json"], entities["./"]
    assert descriptor["@type"] == "CreativeWork"
    assert descriptor["about"] == {"@id": "./"}
    assert "https://w3id.org/ro/crate/1.1" in set(references(descriptor["conformsTo"]))
    assert root["@type"] == "Dataset"
    assert measured.plan.run_id in root["name"]
    assert root["description"]
    stamp = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00")
    assert stamp.fullmatch(root["datePublished"])
    (licence,) = references(root["license"])
    assert entities[licence]["name"] == "No licence is stated"
    assert entities[licence]["description"]
    profiles = set(references(root["conformsTo"]))
    assert profiles == {
        "https://w3id.org/ro/wfrun/process/0.5",
        "https://w3id.org/ro/wfrun/workflow/0.5",
        "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
    }
    assert all(types(entities[profile]) == {"CreativeWork"} for profile in profiles)


@pytest.mark.slow
def test_every_reference_is_resolved_and_every_term_is_defined(measured):
    entities = crate_of(measured)
    known = entities.keys() | {
        "https://w3id.org/ro/crate/1.1",
        "https://w3id.org/ro/terms/workflow-run#SIFImage",
        DONE,
        FAILED,
    }
    for entity in entities.values():
        assert entity.keys() <= TERMS
        assert entity["@type"]
        for value in entity.values():
            assert value != []
            assert value is not None
            assert set(references(value)) <= known


def test_every_file_and_folder_that_it_names_is_there_and_is_a_part(measured):
    (measured.report / "figures").mkdir(parents=True)
    (measured.report / "figures" / "speedup.pdf").write_bytes(b"%PDF")
    (measured.report / "run.zip").write_bytes(b"PK")
    entities = crate_of(measured)
    parts = set(references(entities["./"]["hasPart"]))
    for identity, entity in entities.items():
        if types(entity) & {"File", "Dataset"} and identity != "./":
            assert identity in parts
            path = measured.path / identity
            assert path.is_dir() if entity["@type"] == "Dataset" else path.is_file()
            if "contentSize" in entity:
                assert int(entity["contentSize"]) == path.stat().st_size
    assert {"plan.json", "journal.jsonl", MANIFEST_FILE, "tasks.parquet", "spans.parquet"} <= parts
    assert "report/figures/speedup.pdf" in parts
    assert "report/run.zip" not in parts
    output = "tasks/register_denoise-n1-b1/w0/out/frames.ome.tif"
    assert entities[output]["encodingFormat"] == "image/tiff"
    assert entities[output]["sha256"]


@pytest.mark.slow
def test_the_plan_is_the_workflow_and_the_run_and_each_trial_its_executions(measured):
    entities = crate_of(measured)
    root = entities["./"]
    (plan,) = references(root["mainEntity"])
    assert plan == "plan.json"
    assert types(entities[plan]) == {"File", "SoftwareSourceCode", "ComputationalWorkflow"}
    (language,) = references(entities[plan]["programmingLanguage"])
    assert types(entities[language]) == {"ComputerLanguage"}
    found = {a["@id"]: a for a in actions(entities)}
    assert found.keys() <= set(references(root["mentions"]))
    run = found.pop(f"#run-{measured.plan.run_id}")
    assert run["instrument"] == {"@id": plan}
    assert run["actionStatus"] == FAILED
    assert run["error"] == "1 of 8 planned trials are not complete"
    assert "tasks.parquet" in set(references(run["result"]))
    # Each trial has software, input and a result.
    assert found.keys() == {f"#trial-{trial.id}" for trial in measured.plan.trials}
    for name, action in found.items():
        (tool,) = references(action["instrument"])
        assert types(entities[tool]) == {"SoftwareApplication"}
        assert entities[tool]["softwareVersion"]
        assert list(references(action["agent"])) == ["#pyscale"]
        assert action["startTime"] <= action["endTime"]
        assert f"tasks/{name.removeprefix('#trial-')}/" in set(references(action["result"]))
    assert list(references(found["#trial-register_denoise-n2-b1"]["object"])) == ["#input"]
    (licence,) = references(entities["#input"]["license"])
    assert entities[licence]["name"] == "CC-BY-4.0"
    read = set(references(found["#trial-segment-n2-b1"]["object"]))
    assert "tasks/register_denoise-n1-b1/w0/out/frames.ome.tif" in read
    assert not [entity for entity in entities.values() if "Person" in types(entity)]
    # One that failed says why, and no other has an error.
    failed = found.pop("#trial-segment-n2-b2")
    assert (failed["actionStatus"], failed["error"]) == (FAILED, "the frames are empty")
    assert all(a["actionStatus"] == DONE and "error" not in a for a in found.values())


@pytest.mark.slow
def test_outputs_that_are_gone_are_known_by_their_checksums(measured):
    trial = measured.plan.trials[0]
    before = crate_of(measured)["tasks/register_denoise-n1-b1/w0/out/frames.ome.tif"]
    measured.drop_outputs(trial)
    entities = crate_of(measured)
    gone = entities[f"#output-{trial.id}-frames.ome.tif"]
    assert (gone["@type"], gone["sha256"]) == ("CreativeWork", before["sha256"])
    assert gone["@id"] not in set(references(entities["./"]["hasPart"]))


def test_a_trial_that_never_ran_is_no_action(make, tmp_path):
    run = RunFolder.create(tmp_path / "runs", make(only=("register_denoise",)))
    (whole,) = actions(crate_of(run))
    assert whole["error"] == "4 of 4 planned trials are not complete"


def test_images_are_named_with_their_checksums(measured):
    results_of(measured)
    file = measured.path / MANIFEST_FILE
    manifest = json.loads(file.read_text())
    image = {"name": "segment", "path": "/images/segment.sif", "sha256": "5" * 64}
    manifest["containers"] = {"engine": "apptainer 1.3", "images": [image]}
    file.write_text(json.dumps(manifest))
    document = json.loads(write_crate(measured).read_text())
    found = {entity["@id"]: entity for entity in document["@graph"]}["#image-segment"]
    assert found["@type"] == "ContainerImage"
    assert found["sha256"] == "5" * 64
    sif = "https://w3id.org/ro/terms/workflow-run#SIFImage"
    assert found["additionalType"] == {"@id": sif}


def test_it_is_read_back_by_the_library_of_its_makers(measured):
    crate_of(measured)
    crate = ROCrate(str(measured.path))
    assert crate.mainEntity.id == "plan.json"
    assert len(crate.get_by_type("CreateAction")) == len(measured.plan.trials) + 1
    assert crate.name.startswith("pyscale run ")


@pytest.mark.slow
def test_the_table_of_calls_is_a_part_and_a_result_where_there_is_one(measured):
    assert "calls.parquet" not in crate_of(measured)
    file = measured.task(measured.plan.trials[0], "w0") / "result.json"
    call = Call(frame=0, index=0, shape_yx=(8, 8), wall_s=1.0).model_dump(mode="json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"calls": [call]}))
    entities = crate_of(measured)
    assert {"@id": "calls.parquet"} in entities["./"]["hasPart"]
    whole = entities[f"#run-{measured.plan.run_id}"]
    assert {"@id": "calls.parquet"} in whole["result"]
