from pyscale_stages.measure.mounts import filesystem_of


def test_tmpfs_is_named_also_behind_a_link(in_memory_folder, disk):
    found = filesystem_of(in_memory_folder)
    assert found.fs_type == "tmpfs"
    assert found.device == "none"
    assert found.size_bytes > 0
    link = disk / "link"
    link.symlink_to(in_memory_folder)
    assert filesystem_of(link).fs_type == "tmpfs"


def test_a_disk_has_its_device_and_its_read_ahead_also_for_a_path_to_be(frames, disk):
    found = filesystem_of(frames)
    assert found.fs_type not in {"tmpfs", "unknown"}
    assert "rw" in found.options
    assert found.read_ahead_bytes is not None
    found = filesystem_of(disk / "not" / "yet")
    assert found.fs_type == filesystem_of(disk).fs_type
    assert found.path == disk / "not" / "yet"


def test_a_mount_on_top_hides_what_is_below_and_its_source_names_no_host_and_no_person(mounted):
    folder = mounted("-t", "tmpfs", "-o", "size=1m,noatime", "alice@server.example:/home/alice")
    found = filesystem_of(folder / "frames.tif")
    assert (found.fs_type, found.size_bytes) == ("tmpfs", 1 << 20)
    assert {"noatime", "size=1024k"} <= set(found.options)
    assert found.device == "remote"
    assert "alice" not in found.model_dump_json()
    assert "server.example" not in found.model_dump_json()


def test_options_that_hold_paths_are_left_out(disk, mounted):
    for name in ("lower", "upper", "work"):
        (disk / name).mkdir()
    layers = f"lowerdir={disk}/lower,upperdir={disk}/upper,workdir={disk}/work"
    found = filesystem_of(mounted("-t", "overlay", "overlay", "-o", layers))
    assert found.fs_type == "overlay"
    assert not [option for option in found.options if "dir=" in option]
