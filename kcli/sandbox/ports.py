"""Chooses loopback ports for the nodes of a sandbox, and finds who has one that is taken, from Linux's tables.

The choice is pure; what checks the system is at the end.

A port that was free can be taken before the broker binds it. Sandboxes keep out of each other's way by
choosing under one lock and writing their choice down first; for other programs the broker's own error remains.
"""

import random
import socket
from collections.abc import Callable, Iterable
from pathlib import Path

from kcli.core.classes import NamedTuple
from kcli.sandbox.errors import RefusedError
from kcli.sandbox.state import HOST

FIRST_CHOICE = 9092
LOW, HIGH = 20_000, 32_000
"""The range of other ports: below the range the system takes for outgoing connections."""

ANY = 0
"""As a wanted port: anywhere, even if ``FIRST_CHOICE`` is free."""

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_TIME_WAIT, _LISTEN = "06", "0A"

IsFree = Callable[[int], bool]


def choose_ports(count: int, wanted: int | None, is_free: IsFree, *, rng: random.Random) -> list[int]:
    """``count`` consecutive ports: exactly from ``wanted`` on, or, without one, wherever they are free."""
    if wanted:
        ports = list(range(wanted, wanted + count))
        for port in ports:
            if not is_free(port):
                raise PortTakenError(port)
        return ports
    if wanted is None and all(is_free(FIRST_CHOICE + n) for n in range(count)):
        return [FIRST_CHOICE + n for n in range(count)]
    for _ in range(200):
        start = rng.randrange(LOW, HIGH - count)
        if all(is_free(start + n) for n in range(count)):
            return [start + n for n in range(count)]
    raise RefusedError(
        f"no {count} consecutive free ports on {HOST}",
        why=f"tried 200 ranges between {LOW} and {HIGH}",
        do="name one with --port",
    )


class PortTakenError(RefusedError):
    """``port`` is in use, ``by`` a process or sandbox if that is known; ``passing`` if it is by a connection."""

    def __init__(self, port: int, by: str = "", *, passing: bool = False) -> None:
        super().__init__(
            f"port {port} on {HOST} is taken",
            why=f"by {by}" if by else "another program uses it",
            do=f"wait a minute after it has ended, or choose a port below {HIGH:,} with --port: those above may become "
            "ports of outgoing connections"
            if passing
            else "choose another with --port, or leave --port out to get a free one",
        )
        self.port = port


def is_port_free(port: int) -> bool:
    """Whether a server could listen on ``port`` of the loopback address now."""
    if not 0 < port < 65536:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As the JVM does: without it a port in TIME_WAIT would look taken for a minute after a restart.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
            probe.listen(1)
        except OSError:
            return False
    return True


class PortUse(NamedTuple):
    """The sockets with a local port: inodes of those that listen and of connections; ``ended`` ones have no owner.

    A port that the system has chosen for an outgoing connection is taken as well, and stays so for a minute after it.
    """

    listening: frozenset[str] = frozenset()
    connected: frozenset[str] = frozenset()
    ended: bool = False


def use_in(table: Iterable[str], port: int) -> PortUse:
    """``table``: the lines of sockets, without their heading. Pure."""
    listening, connected, ended = set(), set(), False
    for line in table:
        _, local, _, state, *_, inode = line.split()[:10]
        if int(local.rpartition(":")[2], 16) != port:
            continue
        if state == _LISTEN:
            listening.add(f"socket:[{inode}]")
        elif state == _TIME_WAIT:
            ended = True
        else:
            connected.add(f"socket:[{inode}]")
    return PortUse(frozenset(listening), frozenset(connected), ended)


def who_uses(port: int) -> tuple[str, bool]:
    """``pid 4711 (java)``, or what else has the port, and whether it is a connection; empty where that is not seen."""
    use = use_in(_lines(), port)
    if use.listening:
        return _owner(use.listening), False
    if use.connected:
        owner = _owner(use.connected)
        return f"a connection of {owner}" if owner else "a connection of another program", True
    return ("a connection that has just ended", True) if use.ended else ("", False)


def _lines() -> Iterable[str]:
    for table in _TABLES:
        try:
            yield from Path(table).read_text("ascii").splitlines()[1:]
        except OSError:
            continue


def _owner(inodes: frozenset[str]) -> str:
    """The process that has one of these sockets, if that can be seen."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(str(fd.readlink()) in inodes for fd in (process / "fd").iterdir()):
                return f"pid {process.name} ({(process / 'comm').read_text().strip()})"
        except OSError:
            continue
    return ""
