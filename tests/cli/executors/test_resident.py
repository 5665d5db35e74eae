"""The resident launcher, told its tasks line by line as an executor or a pilot does."""

import json
import subprocess
import sys

import pytest

from pyscale.store.records import LAUNCH_FILE, TaskOrder
from pyscale.store.taskfiles import write_order
from trials import ended, launched

pytestmark = pytest.mark.slow

ECHO = """
import json, sys
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"returncode": len(asked["arguments"])}), flush=True)
"""
"""A worker whose tasks end with as many as they have arguments."""


class Resident:
    def __init__(self, home):
        home.mkdir()
        write_order(home, TaskOrder(argv=(sys.executable, "-c", ECHO)))
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pyscale.executors.resident", str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, folder, token):
        self.process.stdin.write(json.dumps({"folder": str(folder), "token": token}) + "\n")
        self.process.stdin.flush()
        return self.hear()


@pytest.fixture
def resident(tmp_path):
    made = Resident(tmp_path / "worker")
    assert made.hear() == {"ready": True, "alive": True}
    yield made
    made.process.communicate()


def ordered(folder):
    folder.mkdir()
    return write_order(folder, TaskOrder(argv=("cold",), arguments=("contact", "run")))


def test_each_order_that_stands_is_answered_and_leaves_the_records_of_a_launch(resident, tmp_path):
    for name in ("w0", "w1"):
        token = ordered(tmp_path / name)
        answer = resident.ask(tmp_path / name, token)
        assert answer == {"folder": str(tmp_path / name), "returncode": 2, "alive": True}
        end = ended(tmp_path / name)
        assert (launched(tmp_path / name).token, end.token, end.returncode) == (token, token, 2)
    ordered(tmp_path / "another")
    for name in ("another", "gone"):
        assert resident.ask(tmp_path / name, "of another try")["returncode"] is None
        assert not (tmp_path / name / LAUNCH_FILE).exists()
    # It ends with its stdin, and records how.
    resident.process.communicate()
    assert resident.process.returncode == 0
    assert ended(resident.home).returncode == 0


def test_a_folder_without_an_order_has_no_worker(tmp_path):
    command = [sys.executable, "-m", "pyscale.executors.resident", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    assert (done.returncode, done.stdout) == (0, b"")
