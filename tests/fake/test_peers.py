"""Each bad peer does what its name says, and ends when it is told to."""

import struct
import threading

import pytest

from kcli.core.errors import ProtocolError
from kcli.core.protocol.messages.api_versions import ApiVersionsRequest
from tests.fake.peers import PEERS, Peer, drip
from tests.fake.raw_client import RawClient

ASK = ApiVersionsRequest(client_software_name="raw", client_software_version="1")
FIRST_BYTES = {
    "http": b"HTTP/1.1",
    "tls": b"\x15\x03",
    "ssh": b"SSH-2.0",
    "smtp": b"220 ",
    "redis": b"-ERR",
    "frame of 2^31-1": b"\x7f\xff\xff\xff",
    "negative frame": b"\xff\xff\xff\xfb",
    "empty frame": b"\0\0\0\0",
    "endless frame": struct.pack(">i", 100 << 20),
}


@pytest.mark.parametrize("name", FIRST_BYTES)
def test_first_bytes(name):
    with Peer(PEERS[name]) as peer, RawClient(peer.address) as client:
        client.send(ASK, 3)
        assert client.read(len(FIRST_BYTES[name])) == FIRST_BYTES[name]


@pytest.mark.parametrize("name", ["close at once", "close after request", "cut in the middle"])
def test_ends(name):
    with Peer(PEERS[name]) as peer, RawClient(peer.address) as client:
        with pytest.raises((EOFError, ConnectionError)):
            client.ask(ASK, 3)
        assert len(peer.connects) == 1


def test_reset():
    with (
        Peer(PEERS["reset at once"]) as peer,
        pytest.raises(ConnectionError),  # while connecting already, or right behind it
        RawClient(peer.address) as client,
    ):
        client.ask(ASK, 3)


def test_silence():
    with Peer(PEERS["silence"]) as peer, RawClient(peer.address) as client:
        client.send(ASK, 3)
        assert client.is_silent()
        assert b"raw" in peer.received


def test_wrong_correlation_id():
    wrong = pytest.raises(AssertionError, match="correlation id 8, expected 1")
    with Peer(PEERS["wrong correlation id"]) as peer, RawClient(peer.address) as client, wrong:
        client.ask(ASK, 3)


@pytest.mark.parametrize("name", ["bytes behind the answer", "null array"])
def test_malformed(name):
    wrong = pytest.raises(ProtocolError, match="malformed response")
    with Peer(PEERS[name]) as peer, RawClient(peer.address) as client, wrong:
        client.ask(ASK, 3)


def test_always_unsupported():
    with Peer(PEERS["always unsupported"]) as peer, RawClient(peer.address) as client:
        answer = client.ask(ASK, 0)
        assert (answer.error_code, answer.api_keys[0].max_version) == (35, 3)


def test_drip():
    with Peer(drip(0.0)) as peer, RawClient(peer.address) as client:
        assert client.ask(ASK, 3).error_code == 0


def test_closing_leaves_no_thread():
    before = threading.active_count()
    with Peer(PEERS["endless frame"]) as peer, RawClient(peer.address) as client:
        client.send(ASK, 3)
        client.read(1 << 20)
    assert threading.active_count() == before
