from __future__ import annotations

from datamirror import dataset_of, registry_of, row
from pyscale.data.synthetic import make_synthetic
from pyscale.data.verify import FileState, verify_dataset, verify_synthetic

SMALL = {"frames": 2, "height_px": 64, "width_px": 64, "cells": 3, "radius_px": 5}


def states_of(states: list[FileState]) -> dict[str, str]:
    return {state.file: state.state for state in states}


def test_each_file_is_ok_missing_or_changed(data_root, report):
    folder = data_root / "cells"
    folder.mkdir(parents=True)
    (folder / "a.tif").write_bytes(b"aaa")
    (folder / "c.tif").write_bytes(b"ccX")
    (folder / "d.tif").write_bytes(b"longer than it was")
    dataset = dataset_of([row(f"{name}.tif", name.encode() * 3) for name in "abcd"])
    assert states_of(verify_dataset("cells", dataset, data_root, report)) == {
        "a.tif": "ok",
        "b.tif": "missing",
        "c.tif": "changed",
        "d.tif": "changed",
    }


def test_a_file_without_any_checksum_is_not_called_ok(data_root, report):
    (data_root / "cells").mkdir(parents=True)
    (data_root / "cells" / "a.tif").write_bytes(b"a")
    states = verify_dataset("cells", dataset_of([["a.tif"]]), data_root, report)
    assert states_of(states) == {"a.tif": "unverified"}


def test_a_folder_put_in_place_of_an_archive_is_not_called_ok(data_root, report):
    file = {"name": "cells.zip", "sha256": "0" * 64, "unpack": "zip", "unpacked_limit_bytes": 9}
    dataset = dataset_of([file])
    absent = verify_dataset("cells", dataset, data_root, report)
    assert states_of(absent) == {"cells/": "missing"}
    (data_root / "cells" / "cells").mkdir(parents=True)
    (data_root / "cells" / "cells" / "t000.tif").write_bytes(b"a")
    states = verify_dataset("cells", dataset, data_root, report)
    assert states_of(states) == {"cells/": "unverified"}


def test_a_synthetic_movie_is_held_to_what_was_made(data_root, report):
    registry = registry_of([row("a.tif", b"a")])
    movie = make_synthetic("dense", registry, data_root, SMALL, report)
    states = verify_synthetic("dense", data_root, report)
    assert {state.state for state in states} == {"ok"}
    assert {"movie.ome.tif", "synth.json", "truth/camera/drift.parquet"} <= set(states_of(states))
    content = movie.read_bytes()
    movie.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    (movie.parent / "truth" / "camera" / "drift.parquet").unlink()
    after = states_of(verify_synthetic("dense", data_root, report))
    assert after["movie.ome.tif"] == "changed"
    assert after["truth/camera/drift.parquet"] == "missing"
