"""A process is a pid and its start: what the marks are read from, and what they decide."""

import os
import signal

import pytest

from kcli.sandbox import identity
from kcli.sandbox.identity import ProcessId, identify, is_alive, mark_from_ps, mark_from_stat, send

STAT = b"4711 (java) S 1 4711 4711 0 -1 4194560 1 0 0 0 5 5 0 0 20 0 40 0 987654 1 2 3"


def test_mark_is_field_22_and_the_boot() -> None:
    assert mark_from_stat(STAT, "b00t") == "987654@b00t"


def test_a_name_with_parentheses_and_blanks_does_not_shift_the_fields() -> None:
    assert mark_from_stat(STAT.replace(b"(java)", b"(a) S 1 (b)"), "b") == "987654@b"


@pytest.mark.parametrize(
    "stat", [STAT.replace(b") S", b") Z"), STAT.replace(b") S", b") X"), b"", b"1 (x) S 1"]
)
def test_an_ended_or_unreadable_process_has_no_mark(stat: bytes) -> None:
    assert mark_from_stat(stat, "b") == ""


def test_mark_from_ps() -> None:
    assert mark_from_ps("Ss   Sat Nov  1 10:00:00 2026\n") == "Sat Nov 1 10:00:00 2026"
    assert mark_from_ps("Z    Sat Nov  1 10:00:00 2026\n") == ""
    assert mark_from_ps("") == ""


def test_this_process_is_itself() -> None:
    me = identify(os.getpid())
    assert me is not None
    assert is_alive(me)


def test_a_recycled_pid_is_not_signalled(monkeypatch: pytest.MonkeyPatch) -> None:
    signals: list[int] = []
    monkeypatch.setattr(identity.os, "kill", lambda _pid, signum: signals.append(signum))
    assert not send(ProcessId(os.getpid(), "1@another-boot"), signal.SIGKILL)
    assert signals == []


def test_a_gone_process_is_not_signalled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "start_mark", lambda _pid: "")
    assert identify(1) is None
    assert not send(ProcessId(1, "5@b"), signal.SIGTERM)
