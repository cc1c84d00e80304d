"""Why a server cannot listen on a port: who listens there, or whose connection has it. From Linux's tables."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_TIME_WAIT, _LISTEN = "06", "0A"


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
