"""Asks a cluster for its brokers, over a plain blocking socket: what the proxy has to know before it can stand."""

import socket
import struct

from kcli.core.protocol.api import encode_request
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.proxy.addresses import Address
from tests.proxy.messages import read_answer

_VERSION = 5  # every broker since 1.0
_SIZE = struct.Struct(">i")


def learn(bootstrap: str, timeout: float = 10.0) -> MetadataResponse:
    """What the first of these addresses that answers says of the cluster."""
    failures = []
    for text in bootstrap.split(","):
        host, _, port = text.rpartition(":")
        try:
            return _ask((host.strip("[]"), int(port)), timeout)
        except OSError as error:
            failures.append(f"{text}: {error}")
    raise ConnectionError(f"no broker answers: {'; '.join(failures)}")


def _ask(address: Address, timeout: float) -> MetadataResponse:
    with socket.create_connection(address, timeout) as connection:
        for buffer in encode_request(MetadataRequest(topics=None), _VERSION, 1, "proxy"):
            connection.sendall(buffer)
        (size,) = _SIZE.unpack(_exactly(connection, 4))
        answer = read_answer(
            MetadataRequest.api_key, _VERSION, bytearray(_SIZE.pack(size) + _exactly(connection, size))
        )
    assert isinstance(answer, MetadataResponse)
    return answer


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ConnectionError("it closed the connection")
        data += piece
    return bytes(data)
