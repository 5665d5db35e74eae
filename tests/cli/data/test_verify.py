from datamirror import dataset_of, row
from pyscale.data.verify import verify_dataset


def states_of(states):
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


def test_what_has_no_checksum_is_not_called_ok(data_root, report):
    def states(file):
        return states_of(verify_dataset("cells", dataset_of([file]), data_root, report))

    # A folder that was put in the place of an archive has none either.
    archive = {"name": "cells.zip", "sha256": "0" * 64, "unpack": "zip", "unpacked_limit_bytes": 9}
    assert states(archive) == {"cells/": "missing"}
    (data_root / "cells" / "cells").mkdir(parents=True)
    for name in ("a.tif", "cells/t000.tif"):
        (data_root / "cells" / name).write_bytes(b"a")
    assert states(archive) == {"cells/": "unverified"}
    assert states(["a.tif"]) == {"a.tif": "unverified"}
