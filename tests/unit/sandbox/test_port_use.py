"""Who has a port, from tables as Linux writes them."""

import pytest

from kcli.sandbox.port_use import PortUse, use_in
from kcli.sandbox.ports import PortTakenError


def line(local: str, state: str, inode: int) -> str:
    return f"   0: {local} 0100007F:1F90 {state} 00000000:00000000 00:00000000 00000000     0        0 {inode} 1 0 20 0"


def of(*inodes: int) -> frozenset[str]:
    return frozenset(f"socket:[{one}]" for one in inodes)


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([], PortUse()),
        ([line("0100007F:4BD3", "0A", 7)], PortUse()),
        ([line("0100007F:4BD4", "0A", 7)], PortUse(listening=of(7))),
        ([line("00000000000000000000000001000000:4BD4", "0A", 7)], PortUse(listening=of(7))),
        ([line("0100007F:4BD4", "01", 7), line("0100007F:4BD4", "08", 8)], PortUse(connected=of(7, 8))),
        ([line("0100007F:4BD4", "06", 0)], PortUse(ended=True)),
        (
            [line("0100007F:4BD4", "06", 0), line("0100007F:4BD4", "0A", 9)],
            PortUse(listening=of(9), ended=True),
        ),
    ],
)
def test_sockets_are_told_apart_by_their_state(lines: list[str], found: PortUse) -> None:
    assert use_in(lines, 0x4BD4) == found


def test_a_port_of_a_connection_is_free_again_by_itself() -> None:
    passing = PortTakenError(42_000, "a connection that has just ended", passing=True)
    assert passing.why == "by a connection that has just ended"
    assert "wait a minute" in passing.do
    assert "below 32,000" in passing.do
    assert "wait" not in PortTakenError(42_000, "pid 1 (java)").do
