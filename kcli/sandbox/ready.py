"""Asks brokers whether they are ready, with two requests packed by hand on a plain socket.

Not a client: no retries, no security but TLS, no versions but ApiVersions v0 and Metadata v2, or v1 of brokers
before 0.10.1. It is separate so that starting a sandbox does not depend on the client that is tested against it.
Runs in the caller's thread; every wait has a timeout.
"""

import socket
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kcli.core.classes import dataclass

if TYPE_CHECKING:
    from ssl import SSLContext

_API_VERSIONS, _METADATA = 18, 3
_CLIENT_ID = b"kcli-sandbox"


@dataclass(frozen=True, slots=True)
class ClusterAnswer:
    """The cluster as one broker reports it: ids of the live brokers, the controller's (-1: none), and the cluster's,
    which is empty before 0.10.1.
    """

    brokers: frozenset[int]
    controller: int
    cluster: str = ""


def cluster_is_ready(
    addresses: Sequence[tuple[str, int]],
    *,
    timeout: float = 2.0,
    tls: "SSLContext | None" = None,
    cluster: str | None = None,
) -> bool:
    """Whether every address responds, and each sees as many brokers as there are addresses, and a controller.

    ``cluster``: its id, where that is known. A broker of another one may have taken the port in the meantime.
    """
    for host, port in addresses:
        answer = ask(host, port, timeout=timeout, tls=tls)
        if answer is None or answer.controller < 0 or len(answer.brokers) < len(addresses):
            return False
        if cluster and answer.cluster and answer.cluster != cluster:
            return False
    return True


def ask(
    host: str, port: int, *, timeout: float = 2.0, tls: "SSLContext | None" = None
) -> ClusterAnswer | None:
    """The response of the broker at ``host:port``; None while it does not respond (or is no broker)."""
    try:
        with _connect(host, port, timeout, tls) as connection:
            connection.settimeout(timeout)
            (error, count) = struct.unpack_from(">hi", versions := _call(connection, _API_VERSIONS, 0, b""))
            if error:
                return None
            newest = {api: last for api, _, last in struct.iter_unpack(">hhh", versions[6 : 6 + 6 * count])}
            version = min(2, newest.get(_METADATA, 1))
            # An empty list of topics means none from version 1 on.
            return parse_metadata(_call(connection, _METADATA, version, struct.pack(">i", 0)), version)
    except (OSError, struct.error, ValueError):
        return None


def parse_metadata(body: bytes, version: int) -> ClusterAnswer:
    """Of a Metadata response: [node_id host port rack] cluster_id controller_id …; version 1 has no cluster_id."""
    (count,) = struct.unpack_from(">i", body)
    position = 4
    brokers = set()
    for _ in range(count):
        (node_id,) = struct.unpack_from(">i", body, position)
        brokers.add(node_id)
        position = _skip_string(body, position + 4) + 4
        position = _skip_string(body, position)
    cluster = ""
    if version > 1:
        begin, position = position + 2, _skip_string(body, position)
        cluster = body[begin:position].decode()
    (controller,) = struct.unpack_from(">i", body, position)
    return ClusterAnswer(frozenset(brokers), controller, cluster)


def _connect(host: str, port: int, timeout: float, tls: "SSLContext | None") -> socket.socket:
    connection = socket.create_connection((host, port), timeout=timeout)
    if tls is None:
        return connection
    try:
        return tls.wrap_socket(connection, server_hostname=host)
    except OSError:
        connection.close()
        raise


def _skip_string(body: bytes, position: int) -> int:
    (length,) = struct.unpack_from(">h", body, position)
    return position + 2 + max(0, int(length))


def _call(connection: socket.socket, api: int, version: int, body: bytes) -> bytes:
    head = struct.pack(">hhih", api, version, 1, len(_CLIENT_ID)) + _CLIENT_ID
    connection.sendall(struct.pack(">i", len(head) + len(body)) + head + body)
    (size,) = struct.unpack(">i", _read(connection, 4))
    if not 4 <= size <= 1 << 24:
        raise ValueError("not a Kafka response")
    return _read(connection, size)[4:]


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = connection.recv(size - len(data))
        if not chunk:
            raise ConnectionError("closed")
        data += chunk
    return data
