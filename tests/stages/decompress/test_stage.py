"""The stage from end to end."""

from dataclasses import replace

import pytest

from pyscale_stages.decompress import run as decompressing
from pyscale_stages.decompress.run import packed_movie
from pyscale_stages.decompress.stage import DecompressParams
from pyscale_stages.movieformats.codecs import CODECS, Camera
from pyscale_stages.timing import Timing
from smallstages import SMALL
from stagetasks import Bench


def reasons(result):
    """Why each decoding has no time."""
    of_decoding = [timing for timing in result.of(Timing) if timing.step == "decode"]
    assert {timing.wall_s for timing in of_decoding} == {None}
    return [timing.why_not for timing in of_decoding]


def change_decoders(monkeypatch, changed):
    monkeypatch.setattr(decompressing, "packed_movie", lambda *given: changed(packed_movie(*given)))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Output and record of two repeats of all codecs, on one thread and on two."""
    bench = Bench("decompress", tmp_path_factory.mktemp("measured"), **SMALL["decompress"])
    result = bench.run("run")
    assert result.error is None
    return bench.folder / "out", result


def test_each_codec_is_read_once_and_decoded_on_each_number_of_threads_in_each_repeat(measured):
    timings = measured[1].of(Timing)
    found = {(t.test, t.step, t.repeat, t.workers) for t in timings}
    steps = (("read", 1), ("decode", 1), ("decode", 2))
    assert found == {
        (codec, s, repeat, n) for codec in CODECS for repeat in (0, 1) for s, n in steps
    }
    assert len(timings) == len(found)
    assert all(timing.wall_s for timing in timings)


def test_each_of_several_movies_is_another_one_and_is_compared_with_itself(tmp_path):
    few = {"codecs": ["tiff_zlib"], "threads": [1], "repeats": 2, "movies": 3}
    bench = Bench("decompress", tmp_path, **SMALL["decompress"] | few)
    result = bench.run("run")
    checksums = {}
    for timing in result.of(Timing):
        if timing.step == "decode":
            checksums.setdefault(timing.details["movie"], set()).add(timing.details["checksum"])
    assert [len(found) for found in checksums.values()] == [1, 1, 1]
    assert len(set.union(*checksums.values())) == 3
    agreement = bench.checked(tmp_path / "out").agreement
    assert agreement.same
    assert agreement.details["compared_tests"] == 3


def test_amounts_are_bytes_of_decoded_pixels_and_of_the_file(measured):
    timings = measured[1].of(Timing)
    pixels = 3 * 64 * 96
    read = {t.test: t.amount for t in timings if t.step == "read"}
    for timing in timings:
        assert timing.unit == "B"
        if timing.step == "decode":
            assert timing.amount == pixels * (2 if timing.test == "mrc" else 1)
            assert timing.details["compressed_bytes"] == read[timing.test]
    assert read["mrc"] == pixels * 2 + 1024
    assert read["tiff_lzw"] < pixels < read["tiff_none"]


def test_lossless_codecs_give_the_same_pixels_and_tags_tell_the_control_from_what_computes(
    measured,
):
    tags = {(t.test, t.step): t.bottleneck for t in measured[1].of(Timing)}
    assert {tags[codec, "read"] for codec in CODECS} == {"storage"}
    memory = {codec for codec in CODECS if tags[codec, "decode"] == "memory"}
    assert memory == {"mrc", "tiff_none"}
    assert {tags[codec, "decode"] for codec in CODECS.keys() - memory} == {"cpu"}


def test_all_codecs_of_tiff_give_the_same_pixels(measured):
    found = {
        t.test: t.details["checksum"]
        for t in measured[1].of(Timing)
        if t.step == "decode" and t.test.startswith("tiff")
    }
    assert len(found) == 5
    assert len(set(found.values())) == 1


def test_wrong_pixels_have_no_time(bench, monkeypatch):
    def with_one_wrong_pixel(packed):
        def wrong(frame):
            packed.decoders[1](frame)
            frame[5, 7] += 1

        return replace(packed, decoders=[packed.decoders[0], wrong, packed.decoders[2]])

    change_decoders(monkeypatch, with_one_wrong_pixel)
    result = bench.run("run", codecs=["tiff_lzw"])
    assert set(reasons(result)) == {"frame 1 came back with other pixels than were written"}
    assert any("tiff_lzw is decoded wrongly here" in warning for warning in result.warnings)


def test_frames_of_an_earlier_decoding_do_not_pass_for_those_of_a_later_one(bench, monkeypatch):
    def only_once(packed):
        # One call more for the first frame, whose first decoding is not timed.
        calls_left = [2, 1, 1]

        def lazy(number):
            def decode(frame):
                if calls_left[number]:
                    calls_left[number] -= 1
                    packed.decoders[number](frame)

            return decode

        return replace(packed, decoders=[lazy(number) for number in range(3)])

    change_decoders(monkeypatch, only_once)
    result = bench.run("run", codecs=["eer"], repeats=1, params={"threads": [1, 2]})
    told = [timing.why_not for timing in result.of(Timing) if timing.step == "decode"]
    assert sorted(told) == ["", "frame 0 came back with other pixels than were written"]


@pytest.mark.parametrize("broken", [0, 2])
def test_a_library_that_fails_is_told_by_its_own_words(bench, monkeypatch, broken):
    def fail(_frame):
        raise RuntimeError("imcd_lzw_decode returned IMCD_LZW_CORRUPT")

    def with_one_broken_strip(packed):
        decoders = list(packed.decoders)
        decoders[broken] = fail
        return replace(packed, decoders=decoders)

    change_decoders(monkeypatch, with_one_broken_strip)
    result = bench.run("run", codecs=["tiff_lzw"])
    assert result.error is None
    assert all("IMCD_LZW_CORRUPT" in reason for reason in reasons(result))


def test_more_threads_than_frames_are_told_and_not_timed(bench):
    result = bench.run("run", codecs=["tiff_lzw"], params={"threads": [1, 4]})
    (idle,) = (timing for timing in result.of(Timing) if timing.workers == 4)
    assert idle.wall_s is None
    assert "3 frames keep no more threads busy" in idle.why_not


def test_codecs_come_in_another_order_in_each_round_and_the_same_for_a_seed(bench):
    def order(seed):
        result = bench.run("run", repeats=3, seed=seed)
        return [(t.repeat, t.test) for t in result.of(Timing) if t.step == "read"]

    first = order(0)
    rounds = [[test for number, test in first if number == repeat] for repeat in range(3)]
    assert [sorted(tests) for tests in rounds] == [sorted(CODECS)] * 3
    assert len({tuple(tests) for tests in rounds}) > 1
    assert order(0) == first


def test_parameters_choose_powers_of_two_threads_and_the_camera_of_each_format():
    assert DecompressParams().thread_counts(8) == (1, 2, 4, 8)
    assert DecompressParams().thread_counts(6) == (1, 2, 4, 6)
    assert DecompressParams(threads=(4, 1, 4)).thread_counts(2) == (1, 4)
    k2 = Camera(frames=44, height_px=3838, width_px=3710, dose_per_px=1.0)
    params = DecompressParams(frames=3, cameras={"mrc": k2})
    assert params.camera("mrc") == k2
    assert params.camera("tiff_lzw").frames == params.camera("eer").frames == 3


@pytest.mark.parametrize(
    "wrong", [{"codecs": []}, {"codecs": ["bzip2"]}, {"params": {"threads": [0]}}, {"repeats": 0}]
)
def test_parameters_that_mean_nothing_are_refused(bench, wrong):
    bench.refused("run", **wrong)


def test_a_movie_that_does_not_fit_into_memory_is_refused_before_it_is_written(bench):
    error = bench.run("run", height_px=10**6, width_px=10**6).error
    assert error.exit_code == 3
    assert "GiB of memory" in error.message
    assert not (bench.folder / "out").exists()


def test_outputs_agree_whatever_the_numbers_of_threads(bench):
    one = bench.done("run", output="one")
    assert bench.agreement(one, bench.done("run", output="four", params={"threads": [3, 8]})).same
