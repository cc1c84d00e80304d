"""Ports on which a broker cannot, or can, listen: as the system itself says."""

import socket

from kcli.sandbox.ports import HOST, is_port_free, who_uses


def connected(server: socket.socket) -> tuple[socket.socket, socket.socket, int]:
    """Both ends of a connection, and the port that the system has chosen for the client's."""
    client = socket.create_connection(server.getsockname())
    accepted, _ = server.accept()
    return client, accepted, client.getsockname()[1]


def test_a_port_that_a_connection_has_is_named_so() -> None:
    """Nothing listens there, and still nobody can: also for a minute after the connection."""
    with socket.create_server((HOST, 0)) as server:
        client, accepted, port = connected(server)
        assert not is_port_free(port)
        by, passing = who_uses(port)
        assert by.startswith("a connection of pid ")
        assert passing
        client.close()
        assert accepted.recv(1) == b""
        accepted.close()
        assert not is_port_free(port)
        assert who_uses(port) == ("a connection that has just ended", True)


def test_a_port_is_free_as_soon_as_its_server_is_gone() -> None:
    """With clients that are still connected, and with connections that the server has ended first."""
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
        ends = [connected(server) for _ in range(3)]
        assert not is_port_free(port)
        assert who_uses(port)[0].startswith("pid ")
        assert not who_uses(port)[1]
    for _, accepted, _ in ends:
        accepted.close()
    assert is_port_free(port)
    for client, _, _ in ends:
        client.close()
    assert is_port_free(port)
    assert who_uses(port) == ("a connection that has just ended", True)


def test_a_port_that_nothing_uses_is_of_nobody() -> None:
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
    assert who_uses(port) == ("", False)
