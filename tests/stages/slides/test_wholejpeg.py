import imagecodecs
import pytest

from pyscale_stages.slides.tifffile_reader import is_whole


def test_tiles_of_any_quality_are_whole_also_with_padding_behind_them(picture):
    for quality in (1, 20, 80, 100):
        tile = imagecodecs.jpeg8_encode(picture, level=quality)
        assert is_whole(tile)
        assert is_whole(tile + b"\0\0\xff\0")


def test_a_tile_of_several_scans_is_whole(picture):
    cv2 = pytest.importorskip("cv2")
    _, tile = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_PROGRESSIVE, 1])
    assert tile.tobytes().count(b"\xff\xda") > 1
    assert is_whole(tile.tobytes())
    assert not is_whole(tile.tobytes()[: len(tile) // 2])


def test_a_tile_cut_anywhere_or_that_ends_before_its_data_do_is_not_whole(picture):
    tile = imagecodecs.jpeg8_encode(picture[:64, :64], level=80)
    assert not any(is_whole(tile[:end]) for end in range(len(tile)))
    tile = imagecodecs.jpeg8_encode(picture, level=80)
    half = len(tile) // 2
    assert not is_whole(tile[:half] + b"\xff\xd9" + tile[half:])
    assert not is_whole(tile[:half] + b"\xff\x20" + tile[half:])
    assert not is_whole(b"garbage" * 20)
