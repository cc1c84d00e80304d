"""``Processes``: results in order, work that is left to the parent, processes that die."""

import errno
import os
import signal
from collections.abc import Iterator

import pytest

from kcli.core.errors import KcliError
from kcli.flows import processes
from kcli.flows.processes import SLOT_BYTES, Processes


def reverse(data: memoryview) -> bytes:
    text = bytes(data)
    if text == b"bad":
        raise ValueError("left to the parent")
    return b"x" * (SLOT_BYTES + 1) if text == b"large" else text[::-1]


@pytest.fixture
def lost() -> list[str]:
    return []


@pytest.fixture
def two(lost: list[str]) -> Iterator[Processes]:
    with Processes(2, reverse, lost=lost.append) as made:
        yield made


def taken(processes: Processes) -> bytes | None:
    found = processes.take()
    return None if found is None else bytes(found)


def test_results_come_in_the_order_of_the_work(two: Processes) -> None:
    for number in range(4):
        two.submit([b"a", bytearray(b"%d" % number), memoryview(b"z")])
    assert not two.room
    assert [taken(two) for _ in range(4)] == [b"z0a", b"z1a", b"z2a", b"z3a"]
    assert two.room
    assert not len(two)


def test_what_a_process_cannot_do_is_left_to_the_parent(two: Processes) -> None:
    for text in (b"bad", b"large", bytes(SLOT_BYTES + 1), b"ab"):
        two.submit([text])
    assert [taken(two) for _ in range(4)] == [None, None, None, b"ba"]


def test_what_is_not_taken_is_passed_over(two: Processes) -> None:
    two.submit([b"one"])
    two.submit([b"two"])
    two.drop()
    two.submit([b"three"])
    assert taken(two) == b"eerht"


def test_work_of_a_process_that_died_is_left_to_the_parent(two: Processes) -> None:
    for number in range(4):
        two.submit([b"%d" % number])
    first = two.pids[0]
    os.kill(first, signal.SIGKILL)  # whatever it has answered by now
    found = [taken(two) for _ in range(4)]
    assert [one for one in found if one is not None] == [
        b"%d" % number for number, one in enumerate(found) if one is not None
    ]
    assert found[1] == b"1"


@pytest.mark.parametrize("killed", [1, 2])
def test_no_more_is_taken_on_than_with_processes_that_live(two: Processes, killed: int) -> None:
    """Else an input without an end would never be sent, and all of it be held."""
    for pid in two.pids[:killed]:
        os.kill(pid, signal.SIGKILL)
    for _ in range(4):
        while two.room:
            two.submit([b"ab"])
            assert len(two) <= 4
        while len(two) > 1:  # the oldest may be held by a process
            assert taken(two) in (None, b"ba")
    assert len(two.pids) == 2 - killed


def test_the_parent_does_all_when_every_process_has_died(two: Processes, lost: list[str]) -> None:
    for pid in two.pids:
        os.kill(pid, signal.SIGKILL)
    for _ in range(3):
        two.submit([b"ab"])
        two.submit([b"cd"])
        assert [taken(two), taken(two)] == [None, None]
        assert two.room
    assert two.pids == []
    assert len(lost) == 2
    assert all("was ended by SIGKILL" in text and "nothing is lost" in text for text in lost)


def test_the_processes_end_with_the_block(two: Processes) -> None:
    pids = two.pids
    two.close()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.parametrize(
    ("number", "limit", "code"),
    [
        (errno.EAGAIN, "ulimit -u", 1), (errno.EMFILE, "ulimit -n", 3), (errno.ENFILE, "open files", 3),
        (errno.ENOMEM, "ulimit -v", 1),
    ],
)  # fmt: skip
def test_processes_that_cannot_be_started_are_an_error_and_none_is_left(
    monkeypatch: pytest.MonkeyPatch, number: int, limit: str, code: int
) -> None:
    """As wherever no more files can be opened: chance decides what is opened last."""
    pids: list[int] = []
    fork = os.fork

    def once() -> int:
        if pids:
            raise OSError(number, os.strerror(number))
        pids.append(pid := fork())
        return pid

    monkeypatch.setattr(processes.os, "fork", once)
    with pytest.raises(KcliError, match="process 2 of 3 cannot be started") as caught:
        Processes(3, reverse)
    assert limit in (caught.value.do or "")
    assert caught.value.exit_code == code
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


@pytest.mark.parametrize("step", ["mmap", "pipe", "fork"])
def test_what_cannot_be_started_leaves_no_descriptor(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    module = processes.mmap if step == "mmap" else os
    real, left = getattr(module, step), {"mmap": 7, "pipe": 3, "fork": 1}[step]

    def failing(*words: int) -> object:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.EMFILE, "full")
        return real(*words)

    def following() -> int:
        os.close(found := os.dup(0))
        return found

    before = following()
    monkeypatch.setattr(module, step, failing)
    with pytest.raises(KcliError, match="process 2 of 2"):
        Processes(2, reverse)
    assert following() == before


def test_processes_end_where_the_system_reaps_them(lost: list[str]) -> None:
    """As where kcli was started by a process that ignores SIGCHLD."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with Processes(2, reverse, lost=lost.append) as made:
            made.submit([b"ab"])
            assert taken(made) == b"ba"
            os.kill(made.pids[0], signal.SIGKILL)
            made.submit([b"ab"])
            made.submit([b"ab"])
            made.drop()
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert lost == ["a process of --processes has ended: its share is done by this one, and nothing is lost"]
