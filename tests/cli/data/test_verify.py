import errno
from pathlib import Path

from datamirror import dataset_of, registry_of, row
from pyscale.data.verify import (
    data_errors_explained,
    dataset_path,
    presence,
    record_contents,
)
from pyscale.errors import UserError
from refusals import refused

CELLS = registry_of([row("a.tif", b"aaa"), row("b.tif", b"bbb")], movie="b.tif")


def test_a_dataset_is_absent_partly_or_here(data_root):
    cells = CELLS.get("cells")
    folder = data_root / "cells"
    assert presence("cells", cells, data_root) == "absent"
    folder.mkdir(parents=True)
    (folder / "a.tif").write_bytes(b"aaa")
    assert presence("cells", cells, data_root) == "partly"
    assert dataset_path("cells", CELLS, data_root) is None
    (folder / "b.tif").write_bytes(b"bb")
    assert presence("cells", cells, data_root) == "changed"
    assert dataset_path("cells", CELLS, data_root) is None
    (folder / "b.tif").write_bytes(b"bbb")
    assert presence("cells", cells, data_root) == "here"
    assert dataset_path("cells", CELLS, data_root) == folder / "b.tif"


def test_a_name_of_the_registry_comes_before_a_file_of_that_name(data_root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("cells").mkdir()
    assert dataset_path("cells", CELLS, data_root) is None
    assert dataset_path("./cells", CELLS, data_root) == Path("cells")
    assert dataset_path("nothing", CELLS, data_root) is None


def test_what_the_disk_refuses_is_one_sentence():
    with refused(UserError), data_errors_explained(Path("/data")):
        raise PermissionError(errno.EACCES, "no", "/x/y")


def test_what_has_no_checksum_is_not_called_ok(data_root, verified):
    """A folder was put in the place of an archive."""
    archive = {"name": "cells.zip", "sha256": "0" * 64, "unpack": True}
    assert verified(dataset_of([archive])) == {".": "missing"}
    (data_root / "cells" / "cells").mkdir(parents=True)
    (data_root / "cells" / "cells" / "t000.tif").write_bytes(b"a")
    assert verified(dataset_of([archive])) == {".": "unverified"}
    assert presence("cells", dataset_of([archive]), data_root) == "partly"


def test_each_use_compares_samples_with_what_was_recorded(data_root):
    cells, folder = CELLS.get("cells"), data_root / "cells"
    folder.mkdir(parents=True)
    (folder / "a.tif").write_bytes(b"aaa")
    (folder / "b.tif").write_bytes(b"bbb")
    record_contents(folder, cells)
    assert presence("cells", cells, data_root) == "here"
    (folder / "b.tif").write_bytes(b"bbX")
    assert presence("cells", cells, data_root) == "changed"
    assert dataset_path("cells", CELLS, data_root) is None


def test_a_record_of_what_was_published_before_says_nothing_of_what_is_now(data_root):
    folder = data_root / "cells"
    folder.mkdir(parents=True)
    (folder / "a.tif").write_bytes(b"aaa")
    (folder / "b.tif").write_bytes(b"bbb")
    record_contents(folder, CELLS.get("cells"))
    other = registry_of([row("a.tif", b"aaa"), row("b.tif", b"b, but longer")], movie="b.tif")
    assert presence("cells", other.get("cells"), data_root) == "changed"
