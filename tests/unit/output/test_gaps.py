"""Silence between records: which is marked, and how long it was."""

import pytest

from kcli.output.gaps import GapMarks

NOON = 1_700_000_000


def marks(arrivals: list[float], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The marks of records that come at these seconds after ``NOON``."""
    monkeypatch.setenv("TZ", "UTC")
    import time

    time.tzset()
    said: list[str] = []
    at = iter(arrivals)
    now = [0.0]

    def clock() -> float:
        now[0] = next(at)
        return now[0]

    mark = GapMarks(said.append, clock, lambda: NOON + now[0])
    for _ in arrivals:
        mark()
    return said


@pytest.mark.parametrize(
    ("arrivals", "said"),
    [
        ([600], []),
        ([0, 4.9, 9.8], []),
        ([0, 5], ["── 5s later, 22:13:25 ──"]),
        ([0, 192, 193], ["── 3m12s later, 22:16:32 ──"]),
        ([0, 2 * 3600], ["── 2h later, 2023-11-15 00:13:20 ──"]),
    ],
)
def test_a_silence_between_records_is_marked(
    arrivals: list[float], said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert marks(arrivals, monkeypatch) == said
