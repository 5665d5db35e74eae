"""Pull from a real registry on loopback, to which the container program pushes."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from ports import free_ports
from pyscale.data.progress import SilentReport
from pyscale.errors import UserError
from pyscale.images.lockfile import ImageFolder, sha256_of, verify_image
from pyscale.images.registrycall import parse_reference
from pyscale.images.transfer import PullOptions, pull, with_images_here
from pyscale.planning.suite import Suite
from pyscale_stages.errors import ResourceExhausted
from smallsystem import small_system_in

ARCHITECTURE_AT = 45
PATIENCE_S = 300.0
# Of the user `reader` with the password `secret`, made by htpasswd.
PASSWORDS = "reader:$2y$05$ahNhXi..SQQNfXX39pzyPegJUcu/5aUsJTfkFDiyyDdBGBNHOojCS\n"
PLAIN = PullOptions(no_https=True)


@dataclass(frozen=True)
class Registry:
    """A registry that answers."""

    address: str
    storage: Path

    def place(self, path):
        return parse_reference(f"oras://{self.address}/{path}")


def wait_for_answer(process, host, port, log):
    """Return once the registry takes connections; its own end is what is waited for between."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex((host, port)) == 0:
                return
        try:
            process.wait(0.02)
        except subprocess.TimeoutExpired:
            continue
        pytest.fail(f"docker-registry ended: {log.read_text()}")
    pytest.fail(f"docker-registry does not answer: {log.read_text()}")


@pytest.fixture
def start(missing, tmp_path):
    """Start registries with storage of their own, and end them with the test."""
    program = shutil.which("docker-registry")
    if program is None:
        missing("docker-registry", "run scripts/provide_registry.sh as root")
    running = []

    def begin(more="", *, host="127.0.0.1", http=""):
        (port,) = free_ports(1, host)
        home = tmp_path / f"registry{len(running)}"
        home.mkdir()
        config, log = home / "config.yml", home / "log"
        config.write_text(
            f"version: 0.1\nlog: {{level: warn}}\n"
            f"storage: {{filesystem: {{rootdirectory: '{home}'}}}}\n"
            f"http: {{addr: '{host}:{port}'{http}}}\n{more}"
        )
        with log.open("wb") as said:
            process = subprocess.Popen([str(program), "serve", str(config)], stderr=said)
        running.append(process)
        wait_for_answer(process, host, port, log)
        return Registry(f"{host}:{port}", home)

    yield begin
    for process in running:
        process.terminate()
        process.wait(PATIENCE_S)


@pytest.fixture
def registry(start):
    """A registry that uses plain http and asks nobody who he is."""
    return start()


@pytest.fixture
def ours(make_sif, lock_image, tmp_path):
    """A folder with one locked image."""
    folder = ImageFolder(tmp_path / "ours")
    lock_image(make_sif(folder.sif("contact")))
    return folder


@pytest.fixture
def theirs(tmp_path):
    """The folder of another machine."""
    return ImageFolder(tmp_path / "theirs")


def sent(engine, sif, place):
    """Push any SIF as it is, by the container program alone."""
    command = [engine.program, "push", "--no-https", str(sif), str(place)]
    subprocess.run(command, check=True, capture_output=True)
    return place


def fetched(folder, source, engine, options=PLAIN):
    return pull(folder, source, engine, SilentReport(), options)


def left_in(folder):
    """Files of a folder but for the locks that programs hold while they work."""
    if not folder.path.exists():
        return set()
    return {path.name for path in folder.path.iterdir() if not path.name.endswith(".busy")}


def test_what_was_pushed_is_pulled_byte_for_byte_and_locked(registry, ours, theirs, engine):
    # What a killed pull left goes with the next one.
    left = theirs.path / ".arriving" / "killed"
    left.mkdir(parents=True)
    (left / "image.sif").write_bytes(b"half")
    place = sent(engine, ours.sif("contact"), registry.place("lab/contact:1"))
    name, arrived = fetched(theirs, place, engine)
    assert name == "contact"
    assert theirs.sif("contact").read_bytes() == ours.sif("contact").read_bytes()
    pushed = ours.read_lock().images["contact"]
    assert arrived == pushed.model_copy(update={"origin": str(place)})
    assert verify_image(theirs, "contact") == arrived
    assert left_in(theirs) == {"contact.sif", "images.lock"}
    # And by its digest, under another name.
    (manifest,) = registry.storage.glob("**/_manifests/revisions/sha256/*")
    place = registry.place(f"lab/contact@sha256:{manifest.name}")
    name, _ = fetched(theirs, place, engine, PullOptions(as_name="mine", no_https=True))
    assert name == "mine"
    verify_image(theirs, "mine")


def test_another_file_than_the_locked_one_is_installed_only_when_told_to(
    registry, ours, engine, make_sif, tmp_path
):
    before = ours.sif("contact").read_bytes()
    other = make_sif(tmp_path / "contact.sif", version="0.2.0")
    place = sent(engine, other, registry.place("lab/contact:1"))
    with pytest.raises(UserError, match="nothing was installed; add --replace"):
        fetched(ours, place, engine)
    assert ours.sif("contact").read_bytes() == before
    verify_image(ours, "contact")
    fetched(ours, place, engine, PullOptions(replace=True, no_https=True))
    assert ours.sif("contact").read_bytes() == other.read_bytes()
    assert verify_image(ours, "contact").pyscale_version == "0.2.0"


def test_the_same_file_mends_a_damaged_image(registry, ours, engine):
    place = sent(engine, ours.sif("contact"), registry.place("lab/contact:1"))
    ours.sif("contact").write_bytes(b"damaged")
    fetched(ours, place, engine)
    assert verify_image(ours, "contact").origin == str(place)


def test_a_file_that_nothing_locks_is_not_written_over(registry, ours, theirs, engine, make_sif):
    own = make_sif(theirs.sif("contact"), version="0.2.0").read_bytes()
    place = sent(engine, ours.sif("contact"), registry.place("lab/contact:1"))
    with pytest.raises(UserError, match="the unlocked.*--replace"):
        fetched(theirs, place, engine)
    assert theirs.sif("contact").read_bytes() == own


def test_what_was_not_asked_for_or_does_not_run_here_is_not_installed(
    registry, ours, theirs, engine, make_sif, tmp_path
):
    place = sent(engine, ours.sif("contact"), registry.place("lab/contact:1"))
    foreign = make_sif(tmp_path / "foreign.sif")
    with foreign.open("r+b") as file:
        file.seek(ARCHITECTURE_AT)
        file.write(b"04\0")
    of_others = make_sif(tmp_path / "other.sif", image="", stage="")
    for source, options, said in (
        (place, {"sha256": "a" * 64}, "instead of a{64}: nothing was installed"),
        (place, {"as_name": "track"}, "runs the stage contact, but track is an image of track"),
        (
            sent(engine, of_others, registry.place("lab/other:1")),
            {},
            "lab/other:1 is not an image of pyscale.*nothing was installed",
        ),
        (
            sent(engine, foreign, registry.place("lab/foreign:1")),
            {},
            "lab/foreign:1 is for aarch64.*nothing was installed",
        ),
    ):
        with pytest.raises(UserError, match=said):
            fetched(theirs, source, engine, PullOptions(no_https=True, **options))
        assert left_in(theirs) == set()
    right = PullOptions(sha256=sha256_of(ours.sif("contact")), no_https=True)
    assert fetched(theirs, place, engine, right)[0] == "contact"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (PullOptions(sha256="abc"), "invalid --sha256 'abc'"),
        (PullOptions(as_name="../contact"), "invalid image name --as '../contact'"),
        (PullOptions(as_name=""), "invalid image name --as ''"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_asked(theirs, engine, options, said):
    with pytest.raises(UserError, match=re.escape(said)):
        fetched(theirs, parse_reference("oras://127.0.0.1:1/lab"), engine, options)
    assert not theirs.path.exists()


def test_a_reference_that_the_registry_does_not_know_is_one_sentence(
    registry, ours, theirs, engine
):
    sent(engine, ours.sif("contact"), registry.place("lab/contact:1"))
    for path in ("lab/contact:2", "lab/absent:1", f"lab/contact@sha256:{'a' * 64}"):
        with pytest.raises(UserError, match=f"has no {re.escape(str(registry.place(path)))}"):
            fetched(theirs, registry.place(path), engine)
    assert left_in(theirs) == set()


def step_in(image):
    """A suite of one step of the user's own in an image."""
    return Suite.model_validate(
        {"name": "mine", "summary": "Mine", "stages": {"mine": {"command": "a", "image": image}}}
    )


def test_an_image_of_a_step_is_pulled_once_by_its_digest(registry, theirs, engine, monkeypatch):
    pinned = (
        f"docker://{registry.address}/lab/tool:1@{small_system_in(registry.address, 'lab/tool')}"
    )
    with pytest.raises(UserError, match=f"plain http: set {engine.option_prefix}NOHTTPS=true"):
        with_images_here(step_in(pinned), theirs, SilentReport())
    monkeypatch.setenv(f"{engine.option_prefix}NOHTTPS", "true")
    suite = with_images_here(step_in(pinned), theirs, SilentReport())
    params = suite.stages["mine"].params
    assert params["pulled_from"] == pinned
    said = engine.ask(params["image"], "/bin/sh", "-c", "echo inside")
    assert said.stdout == "inside\n"
    assert [*(theirs.path / "steps").iterdir()] == [Path(params["image"])]
    shutil.rmtree(registry.storage)
    assert with_images_here(step_in(pinned), theirs, SilentReport()) == suite


def test_an_image_of_a_step_that_the_registry_does_not_have_is_one_sentence(
    registry, theirs, engine, monkeypatch
):
    monkeypatch.setenv(f"{engine.option_prefix}NOHTTPS", "true")
    small_system_in(registry.address, "lab/tool")
    absent = f"docker://{registry.address}/lab/tool@sha256:{'a' * 64}"
    with pytest.raises(UserError, match=f"has no {re.escape(absent)}"):
        with_images_here(step_in(absent), theirs, SilentReport())
    elsewhere = f"docker://127.0.0.1:{free_ports(1)[0]}/lab/tool@sha256:{'a' * 64}"
    with pytest.raises(UserError, match="is unreachable .*or copy its SIF, and name that file"):
        with_images_here(step_in(elsewhere), theirs, SilentReport())
    assert left_in(theirs) == set()


def test_a_registry_out_of_reach_is_one_sentence(theirs, engine):
    place = parse_reference(f"oras://127.0.0.1:{free_ports(1)[0]}/lab/contact:1")
    with pytest.raises(UserError, match="is unreachable .connection refused."):
        fetched(theirs, place, engine)
    # No name ends so.
    nowhere = parse_reference("oras://registry.invalid/lab/contact:1")
    with pytest.raises(UserError, match="registry.invalid is unreachable"):
        fetched(theirs, nowhere, engine)


def test_refused_credentials_are_one_sentence_and_the_right_ones_are_taken(
    start, ours, theirs, engine, tmp_path, monkeypatch
):
    passwords = tmp_path / "passwords"
    passwords.write_text(PASSWORDS)
    guarded = start(f"auth: {{htpasswd: {{realm: lab, path: '{passwords}'}}}}\n")
    place = guarded.place("lab/contact:1")
    said = "refuses to let you pull .*registry login --username NAME oras://127.0.0.1"
    with pytest.raises(UserError, match=said):
        fetched(theirs, place, engine)
    monkeypatch.setenv(f"{engine.option_prefix}DOCKER_USERNAME", "reader")
    monkeypatch.setenv(f"{engine.option_prefix}DOCKER_PASSWORD", "wrong")
    with pytest.raises(UserError, match=said):
        fetched(theirs, place, engine)
    monkeypatch.setenv(f"{engine.option_prefix}DOCKER_PASSWORD", "secret")
    sent(engine, ours.sif("contact"), place)
    assert fetched(theirs, place, engine)[0] == "contact"


def test_a_registry_that_speaks_plain_http_names_the_option(start, ours, theirs, engine):
    # Of 127.0.0.1 the container program tries both by itself.
    place = sent(engine, ours.sif("contact"), start(host="127.0.0.2").place("lab/contact:1"))
    with pytest.raises(UserError, match="uses plain http: add --no-https"):
        fetched(theirs, place, engine, PullOptions())
    assert fetched(theirs, place, engine)[0] == "contact"


def test_a_certificate_that_nobody_signed_is_one_sentence(start, theirs, engine, tmp_path, missing):
    openssl = shutil.which("openssl")
    if openssl is None:
        missing("openssl", "install the package 'openssl'")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    request = f"req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=lab -keyout {key}"
    subprocess.run(
        [str(openssl), *request.split(), "-addext", "subjectAltName=IP:127.0.0.1", "-out",
         str(certificate)],
        check=True,
        capture_output=True,
    )  # fmt: skip
    secured = start(http=f", tls: {{certificate: '{certificate}', key: '{key}'}}")
    with pytest.raises(UserError, match="is not trusted here .x509: certificate signed by"):
        fetched(theirs, secured.place("lab/contact:1"), engine, PullOptions())


def test_a_full_disk_is_one_sentence_and_nothing_stays(
    registry, ours, theirs, engine, mount_in_memory
):
    place = sent(engine, ours.sif("contact"), registry.place("lab/contact:1"))
    mount_in_memory(theirs.path, "size=32k")
    with pytest.raises(ResourceExhausted, match=f"disk of {theirs.path} is full: nothing was"):
        fetched(theirs, place, engine)
    assert left_in(theirs) == set()


@pytest.fixture
def silent_registry():
    """An address that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def is_pull(process, engine):
    try:
        return process.cmdline()[:2] == [engine.program, "pull"]
    except psutil.Error:
        return False


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_pull_that_dies_ends_its_program_and_leaves_nothing_under_the_name(
    silent_registry, theirs, engine, number, code
):
    command = [sys.executable, "-m", "pyscale", "image", "pull", "--no-https"]
    process = subprocess.Popen(
        [*command, f"oras://{silent_registry}/lab/contact:1", "--images-folder", str(theirs.path)],
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + PATIENCE_S
    children = []
    # The program is asked for its version before.
    while not any(is_pull(child, engine) for child in children):
        assert process.poll() is None
        assert time.monotonic() < until
        children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    assert process.wait(PATIENCE_S) == code
    _, alive = psutil.wait_procs(children, PATIENCE_S)
    assert alive == []
    assert not theirs.sif("contact").exists()
    assert theirs.read_lock().images == {}
