"""The targets of ``groups rewind``, ``groups create`` and ``topics trim`` that are times."""

import time
from collections.abc import Iterator

import pytest

from kcli.commands.groups.rewind.options import RewindOptions, spec_target


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.case("C15")
@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("text", "ms", "said"),
    [
        ("2025-10-26T02:30", 1_761_438_600_000, "is there twice, as clocks are set back: the first, 2025-10-26T02:30"),
        ("@2026-03-29T02:30", 1_774_747_800_000, "does not exist, as clocks are set forward: 2026-03-29T03:30"),
    ],
)  # fmt: skip
def test_the_plan_says_how_a_time_that_clocks_repeat_or_skip_was_taken(text: str, ms: int, said: str) -> None:
    target, words = spec_target(text, "--to", "", terminal=True)
    assert (target.kind, target.value) == ("time", ms)
    assert said in words
    assert "local time" not in spec_target("2025-10-26T04:30", "--to", "", terminal=True)[1]


@pytest.mark.parametrize(
    ("asked", "target", "value"),
    [
        (RewindOptions(to_offset=0), "offset", 0),
        (RewindOptions(shift_by=0), "shift", 0),
        (RewindOptions(to_datetime=0), "time", 0),
        (RewindOptions(to_latest=True), "latest", 0),
    ],
)
def test_zero_is_a_target(asked: RewindOptions, target: str, value: int) -> None:
    found, _words = asked.simple_target(terminal=False)
    assert (found.kind, found.value) == (target, value)
    assert asked.target().endswith({"shift": "by", "time": "datetime"}.get(target, target))
