"""Changed responses over real sockets, into whole clients: errors of kcli's only, in time, and nothing is left behind.

``make fuzz`` does many more.
"""

import threading
import time
from collections.abc import Callable

import pytest

from tests.hostile import live
from tests.hostile.live import Session, campaign

pytestmark = [pytest.mark.case("R12", "X4"), pytest.mark.filterwarnings("error")]


def test_clients_survive_changed_responses() -> None:
    tally = campaign(300, 18, 3)
    assert not tally.findings, "\n".join(tally.findings)
    assert tally.mutated >= 300
    assert tally.refused > tally.sessions // 3  # the changes do damage


def raising(session: Session) -> None:
    session.options["no"]


def late(session: Session) -> None:
    session.within(0.1, "a nap", lambda: time.sleep(0.4))


THE_END = threading.Event()


def leaving_a_thread(_session: Session) -> None:
    threading.Thread(target=THE_END.wait, name="forgotten", daemon=True).start()


@pytest.mark.parametrize(
    ("act", "found"), [(raising, "KeyError"), (late, "a nap took"), (leaving_a_thread, "forgotten")]
)
def test_a_client_that_misbehaves_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, act: Callable[[Session], None], found: str
) -> None:
    def misbehaving(session: Session) -> None:
        try:
            session.admin()
        finally:
            act(session)

    THE_END.clear()
    monkeypatch.setattr(live, "SESSIONS", (misbehaving,))
    monkeypatch.setattr(live, "LATE", 0.2)
    monkeypatch.setattr(live, "PATIENCE", 0.2)
    try:
        assert found in "\n".join(campaign(3, 18, 1).findings)
    finally:
        THE_END.set()
