"""By which interface ranks talk: the named one, or one that is sure to serve."""

import subprocess
import sys

import psutil
import pytest

from atleastone import some
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.ranks.network import this_network

TOWARDS_TWO_NODES = """
from pyscale_stages.errors import BadInput
from pyscale_stages.ranks.network import interface_towards
try:
    with interface_towards(["here", "there"]):
        print("goes on")
except BadInput as error:
    print(error)
"""


def other_interface():
    """An interface beside the loopback that is up, and its addresses."""
    state = psutil.net_if_stats()
    for name, addresses in psutil.net_if_addrs().items():
        ips = {each.address.partition("%")[0] for each in addresses if "." in each.address}
        if state[name].isup and ips and not name.startswith("lo"):
            return name, ips
    return None


def test_ranks_of_one_node_talk_by_its_loopback(ranks):
    for outcome in some(ranks.run("addresses", 2)):
        assert set(outcome.given) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
        assert outcome.given


def test_what_carries_tensors_between_ranks_is_told(ranks):
    for outcome in some(ranks.run("transport", 2)):
        assert outcome.given == {"ranks_backend": "gloo", "ranks_interface": "lo"}


def test_the_interface_that_is_named_is_used(ranks, missing):
    found = other_interface()
    if found is None:
        missing("a second network interface", "add one to this machine")
        return
    name, addresses = found
    for outcome in some(ranks.run("addresses", 2, variables={"GLOO_SOCKET_IFNAME": name})):
        assert addresses & {each.removeprefix("::ffff:") for each in outcome.given}


def test_an_interface_that_is_not_there_is_refused_by_name(ranks):
    wrong = {"GLOO_SOCKET_IFNAME": "nosuch0"}
    processes = [ranks.start("talk", 0, 2), ranks.start("talk", 1, 2, variables=wrong)]
    other, refused = map(ranks.end, processes)
    assert refused.code == 2
    assert "GLOO_SOCKET_IFNAME names 'nosuch0', which is not a network interface" in refused.error
    assert other.code == 1
    assert other.error.startswith(f"rank 1 of 2 on {node_name()} ended (GLOO_SOCKET_IFNAME")


def test_ranks_of_one_node_need_no_host_name_that_leads_anywhere(ranks, other_host):
    outcomes = ranks.run("talk", 2, inside=other_host("nowhere.invalid", False))
    assert [(outcome.code, outcome.err) for outcome in outcomes] == [(0, "")] * 2


@pytest.mark.parametrize(
    ("host", "leads"),
    [
        ("nowhere.invalid", "does not lead to an address of this node"),
        ("localhost", "leads back to itself"),
    ],
)
def test_ranks_of_several_nodes_need_an_address(other_host, host, leads):
    line = [*other_host(host, False), sys.executable, "-c", TOWARDS_TWO_NODES]
    said = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    assert f"because the host name {host} {leads}" in said
    assert "by GLOO_SOCKET_IFNAME (available: lo" in said


def test_ranks_that_no_network_joins_say_so(ranks, other_host):
    """The loopback address would lead each to itself."""
    inside = [other_host("localhost", network) for network in (False, True)]
    first, other = (ranks.start("talk", n, 2, inside=words) for n, words in enumerate(inside))
    outcome = ranks.end(other)
    assert outcome.code in {1, 2}
    assert "name the network interface that joins the nodes" in outcome.error
    first.kill()


def test_processes_of_one_machine_share_a_network():
    line = "from pyscale_stages.ranks.network import this_network; print(this_network())"
    said = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == this_network()
