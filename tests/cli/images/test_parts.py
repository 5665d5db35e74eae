import sys

import pytest

from programs import put_program
from pyscale.errors import UserError
from pyscale.images.catalog import catalog
from pyscale.images.engine import Engine
from pyscale.images.partlocks import JARS_RECORD, jars_text
from pyscale.images.parts import buildable, fetch_debian, fetch_jars
from pyscale_stages.errors import MissingPart
from pyscale_stages.track.jvm import MAVEN_COORDINATES
from refusals import refused

CONTACT = catalog()["contact"]
PACKAGE = "ocl-icd-libopencl1_2.3_amd64.deb"


@pytest.fixture
def engine(tmp_path):
    """A container program that says what the base's dpkg says, and does what its apt would do."""

    def make(dpkg, apt):
        program = put_program(
            tmp_path,
            "engine",
            f'case "$*" in *dpkg-query*) {dpkg}; exit;; esac\n'
            'for word; do case "$word" in *:/fetched) out=${word%:/fetched};; esac; done\n'
            f"{apt}",
        )
        return Engine(str(program), "apptainer", "1.4.5")

    return make


FETCHES = f'mkdir -p "$out/cache/archives"; echo new >"$out/cache/archives/{PACKAGE}"'
FAILS = "echo 'W: odd' | sed s/W/E/ >&2; exit 100"


def test_packages_are_fetched_once_for_a_base_and_where_one_is_damaged_again(tmp_path, engine):
    parts, said = tmp_path / "parts", []
    package = parts / "contact" / "debian" / PACKAGE

    def fetch(base, apt):
        fetch_debian(CONTACT, tmp_path / "b", engine(f"echo {base}", apt), parts, said.append)

    fetch("libc6", FETCHES)
    assert package.read_text() == "new\n"
    said.clear()
    fetch("libc6", FAILS)
    assert said == []
    assert [path.name for path in parts.iterdir()] == ["contact"]
    fetch("newer", FETCHES)
    package.write_text("damaged")
    fetch("newer", FETCHES)
    assert len(said) == 2
    assert package.read_text() == "new\n"


def test_what_apt_refuses_and_a_base_that_is_no_debian_are_one_sentence(tmp_path, engine):
    parts, base = tmp_path / "parts", tmp_path / "alpine.sif"
    with refused(UserError):
        fetch_debian(CONTACT, base, engine("echo libc6", FAILS), parts, print)
    assert list(parts.rglob("*")) == [], "nothing is half made"
    program = engine("echo no dpkg >&2; false", FETCHES)
    with refused(UserError):
        fetch_debian(CONTACT, base, program, parts, print)


TRACKMATE = catalog()["track_trackmate"]


def put(folder, *names):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"jar")


def definition(*maven):
    return TRACKMATE.model_copy(update={"maven": maven})


def local_maven(folder):
    """A Maven cache that holds one artifact and another that it needs."""
    for artifact, needs in (("tool", "part"), ("part", None)):
        place = folder / "org" / "example" / artifact / "1.0"
        put(place, f"{artifact}-1.0.jar")
        needed = (
            f"<dependencies><dependency><groupId>org.example</groupId><artifactId>{needs}"
            "</artifactId><version>1.0</version></dependency></dependencies>"
            if needs
            else ""
        )
        (place / f"{artifact}-1.0.pom").write_text(
            "<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId>"
            f"<artifactId>{artifact}</artifactId><version>1.0</version>{needed}</project>"
        )


def test_without_the_resolver_its_way_is_told_or_jars_put_there_by_hand_are_taken(
    tmp_path, monkeypatch
):
    assert TRACKMATE.maven == MAVEN_COORDINATES, "those that the stage asks for"
    monkeypatch.setitem(sys.modules, "jgo", None)
    with refused(MissingPart):
        fetch_jars(TRACKMATE, tmp_path, print)
    jars = tmp_path / "track_trackmate" / "jars"
    put(jars / "deeper", "imagej-2.16.0.jar")
    put(jars, "TrackMate-7.14.0.jar", "other-1.jar")
    said = []
    fetch_jars(TRACKMATE, tmp_path, said.append)
    assert said == []
    assert len(list(jars.rglob("*.jar"))) == 3


def test_a_folder_that_lacks_a_coordinate_is_refused_and_kept(tmp_path):
    jars = tmp_path / "track_trackmate" / "jars"
    put(jars, "imagej-2.16.0.jar", "TrackMate-7.13.0.jar")
    with refused(UserError):
        fetch_jars(TRACKMATE, tmp_path, print)
    assert len(list(jars.iterdir())) == 2


@pytest.mark.slow
def test_jars_come_with_all_that_they_need(tmp_path, monkeypatch):
    pytest.importorskip("jgo")
    local_maven(tmp_path / "maven")
    monkeypatch.setenv("M2_REPO", str(tmp_path / "maven"))
    fetch_jars(definition("org.example:tool:1.0"), tmp_path, print)
    jars = tmp_path / "track_trackmate" / "jars"
    assert sorted(p.name for p in jars.glob("*.jar")) == ["part-1.0.jar", "tool-1.0.jar"]
    assert (jars / JARS_RECORD).read_text() == jars_text(jars)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["maven", "track_trackmate"]


def test_what_maven_does_not_have_is_one_sentence_and_nothing_half_made(tmp_path):
    wanted = definition("org.example.pyscale:absent:1.0")
    with refused(UserError):
        fetch_jars(wanted, tmp_path, print)
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


@pytest.fixture
def choose(folder, tmp_path):
    """Choose among all images, with parts from a folder of the test's own."""
    return lambda: buildable(folder, tmp_path / "parts", lambda _event: None, force=False)


def test_images_for_cpus_are_built_and_others_only_by_name(choose):
    definitions, left_out = choose()
    assert {definition.device for definition in definitions} == {"cpu"}
    chosen = {definition.name for definition in definitions}
    assert {"register_denoise", "segment", "segment_cellpose3", "contact", "track"} <= chosen
    assert {"storage", "decompress", "kernels"} <= chosen
    assert chosen | set(left_out) == set(catalog())
    assert left_out["segment-cuda"] == "it is for cuda: name it to build it"


def test_an_image_whose_java_libraries_are_incomplete_is_left_out_with_its_sentence(
    choose, tmp_path
):
    jars = tmp_path / "parts" / "track_trackmate" / "jars"
    put(jars, "other-1.0.jar")
    assert "track_trackmate/jars lacks the jars of" in choose()[1]["track_trackmate"]
    for coordinate in TRACKMATE.maven:
        _, artifact, version = coordinate.split(":")
        put(jars, f"{artifact}-{version}.jar")
    assert "track_trackmate" in {definition.name for definition in choose()[0]}
