"""A recorded file, played."""

import json
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from kcli.core.errors import ConfigError
from kcli.core.types import TopicPartition
from kcli.flows.lag.measure import Measurement
from kcli.flows.lag.recording import append_sample, utc_offset
from kcli.flows.monitor import playback
from kcli.flows.monitor.playback import NoSampleError, Player, Recording
from kcli.flows.monitor.snapshot import Snapshot
from kcli.output.tables import time_text
from tests.tui.made_up import BEGIN, STEP, line_of, readings, write

P0 = TopicPartition("orders", 0)


def shown(snapshot: Snapshot | None) -> object:
    """What a screen takes from a snapshot; for how long a verdict holds depends on where playing began."""
    assert snapshot is not None
    one = snapshot
    groups = [
        line._replace(judged=line.judged._replace(why="", since_ms=0, shares={})) for line in one.groups
    ]
    return groups, one.topics, one.brokers, one.totals, one.recent, one.events, one.lags


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    return write(tmp_path / "file", 60)


@pytest.fixture
def recording(recorded: Path) -> Recording:
    return Recording(str(recorded))


def test_the_index_has_each_line(recording: Recording, recorded: Path) -> None:
    data = recorded.read_bytes()
    assert len(recording) == 60
    assert list(recording.times) == [BEGIN + number * STEP * 1000 for number in range(60)]
    assert all(json.loads(data[a:b]) for a, b in zip(recording.starts, recording.ends, strict=True))


@pytest.mark.parametrize("chunk", [1, 7, 100, 4096])
def test_lines_are_found_across_chunks(recorded: Path, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Recording(str(write(recorded, 3)))
    monkeypatch.setattr(playback, "_CHUNK", chunk)
    again = Recording(str(recorded))
    assert (again.starts, again.ends, again.times) == (whole.starts, whole.ends, whole.times)


def test_a_jump_shows_what_playing_shows(tmp_path: Path) -> None:
    path = str(write(tmp_path / "file", 100))
    played, jumped = Player(Recording(path)), Player(Recording(path))
    played.follow = jumped.follow = "billing"
    pictures = [shown(played.snapshot(number)) for number in range(100)]
    for number in (99, 0, 45, 46, 44, 80, 98):
        assert shown(jumped.snapshot(number)) == pictures[number]


def test_the_way_back_reads_nothing_for_some_readings(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = Player(recording)
    pictures = {number: shown(player.snapshot(number)) for number in range(40, 51)}
    taken: list[int] = []
    at = recording.at
    monkeypatch.setattr(recording, "at", lambda number: taken.append(number) or at(number))
    for number in (49, 48, 43, 50):
        assert player.cost(number) == 0
        assert shown(player.snapshot(number)) == pictures[number]
    assert not taken
    assert player.cost(51) == 1
    player.snapshot(51)
    assert taken == [51], "the board is still there"
    assert player.cost(42) == 42 - recording.before(recording.times[42] - 600_000) + 1
    player.follow = "billing"
    assert player.cost(50) > 1, "partitions of another group are followed"


def test_a_reading_by_itself_has_lags_and_no_trends(recording: Recording) -> None:
    alone, whole = Player(recording).alone(50), Player(recording).snapshot(50)
    assert alone is not None
    assert whole is not None
    assert [one.summary for one in alone.groups] == [one.summary for one in whole.groups]
    assert all(one.trend.consumed is None for one in alone.groups)
    assert not alone.events


def test_progress_is_counted_while_a_position_is_built_up(recording: Recording) -> None:
    player = Player(recording)
    seen: list[tuple[int, int]] = []
    player.snapshot(50, lambda: bool(seen.append(player.progress)))
    assert seen == [(number, 51) for number in range(51)]
    assert player.progress == (0, 0)


def test_what_is_added_to_a_file_later_is_reported_and_not_played(recorded: Path) -> None:
    sizes: list[int] = []
    recording = Recording(str(recorded), sizes.append)
    assert len(sizes) == 60
    assert sizes == sorted(sizes)
    assert not recording.grown
    with recorded.open("a") as file:
        file.write(line_of(next(readings(1))))
    assert recording.grown
    assert len(recording) == 60


def test_events_are_those_of_five_minutes(recording: Recording) -> None:
    player = Player(recording)
    begun = [event.text for event in (player.snapshot(38) or pytest.fail("nothing")).events]
    assert any("Stable to PreparingRebalance" in text for text in begun)
    later = (player.snapshot(59) or pytest.fail("nothing")).events
    assert all(event.at_ms >= recording.times[59] - 300_000 for event in later)


def test_another_group_is_followed_from_five_minutes_before(recording: Recording) -> None:
    player = Player(recording)
    assert not (player.snapshot(40) or pytest.fail("nothing")).lags
    player.follow = "billing"
    assert len((player.snapshot(40) or pytest.fail("nothing")).lags[P0]) == 31


def test_building_up_a_position_can_be_left(recording: Recording) -> None:
    player, asked = Player(recording), iter([False] * 5 + [True])
    assert player.snapshot(30, lambda: next(asked)) is None
    assert player.snapshot(30) is not None


def test_the_reading_at_or_before_a_time(recording: Recording) -> None:
    step = STEP * 1000
    asked = (-1, 0, step - 1, step, 10**9)
    assert [recording.before(BEGIN + ms) for ms in asked] == [0, 0, 0, 1, 59]


def test_broken_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "file"
    lines = list(map(line_of, readings(4)))
    broken = lines[1].replace('"groups":[', '"groups":[7,')
    path.write_text(lines[0] + "no json\n" + broken + "\n" + lines[2] + lines[3][: len(lines[3]) // 2])
    recording = Recording(str(path))
    assert (len(recording), recording.broken) == (4, 1)
    player = Player(recording)
    assert [getattr(player.snapshot(number), "reading", None) is not None for number in range(4)] == [
        True
    ] * 4
    assert recording.broken == 3
    assert (player.snapshot(3) or pytest.fail("nothing")).reading.sample.at_ms == recording.times[2]


def test_several_runs_in_one_file_are_played_in_the_order_of_time(tmp_path: Path) -> None:
    path = tmp_path / "file"
    lines = list(map(line_of, readings(6)))
    path.write_text("".join(lines[3:] + lines[:3]))
    recording = Recording(str(path))
    assert list(recording.times) == sorted(recording.times)
    assert [(recording.at(n) or pytest.fail("broken")).sample.at_ms for n in range(6)] == list(
        recording.times
    )


def test_what_groups_lag_recorded_is_played(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for reading in readings(3):
        append_sample(str(path), "cluster", Measurement(reading.sample, {}))
    snapshot = Player(Recording(str(path))).snapshot(2)
    assert snapshot is not None
    assert [line.group for line in snapshot.groups] == ["billing", "search-index", "audit", "clickstream"]
    assert snapshot.reading.utc_offset == utc_offset(snapshot.reading.sample.at_ms)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        ("\n\n", "it is empty"),
        ("hello\nyou\n", "its first line is not a recorded sample"),
        ('{"kind":"TopicList","api":"kcli/v1","items":[]}\n', "kind is 'TopicList'"),
        ("\x00" * 5000, "its first line is not a recorded sample"),
        (
            '{"kind":"LagSample","api":"kcli/v1","cluster":"c","at_ms":5,"groups":7}\n',
            "each of its lines is broken",
        ),
    ],
)
def test_a_file_without_samples_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(ConfigError, match="has no recorded samples") as caught:
        Recording(str(path))
    assert why in caught.value.why
    assert "kcli top --record" in caught.value.do


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "missing", tmp_path, Path("/dev/zero")):
        with pytest.raises(ConfigError) as caught:
            Recording(str(path))
        assert caught.value.why
        assert caught.value.do


def test_few_readings_are_kept_in_memory(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playback, "_CACHED", 10_000)
    recording = Recording(str(recorded))
    for number in range(60):
        recording.at(number)
    assert len(recording._cache) <= 3


# --- moments ---------------------------------------------------------------------------------------------------------


def text_of(seconds: float) -> str:
    return time_text(BEGIN + round(seconds * 1_000))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (text_of(0), 0),
        (text_of(9.999), 0),
        (text_of(10), 10),
        (text_of(345), 340),
        (text_of(590 + 60), 590),
        ("@-5m", 290),
        ("5m", 290),
        ("now", 590),
        (str(BEGIN + 20_000), 20),
    ],
)
def test_a_time_means_the_last_reading_at_or_before_it(recording: Recording, text: str, seconds: int) -> None:
    assert recording.times[recording.at_time(text).number] == BEGIN + seconds * 1_000


@pytest.mark.parametrize(
    ("seconds", "nearest", "why"),
    [
        (-0.001, 0, f"the first one after is of {text_of(0)}"),
        (-86_400, 0, f"the first one after is of {text_of(0)}"),
        (590 + 60.001, 590, f"the last one before is of {text_of(590)}"),
        (86_400, 590, f"the last one before is of {text_of(590)}"),
    ],
)
def test_a_time_outside_of_the_recording_has_no_sample(
    recording: Recording, seconds: float, nearest: int, why: str
) -> None:
    with pytest.raises(NoSampleError) as caught:
        recording.at_time(text_of(seconds))
    assert f"has no sample of {text_of(seconds)}" in caught.value.what
    assert (caught.value.why, caught.value.do) == (why, f"--at {text_of(nearest)}")
    assert recording.at_time(text_of(nearest)).number in (0, 59)  # the remedy works


def test_a_gap_has_no_sample_and_both_its_ends_are_named(tmp_path: Path) -> None:
    some = list(readings(30))
    path = tmp_path / "file"
    path.write_text("".join(map(line_of, (*some[:5], *some[20:]))))
    with pytest.raises(NoSampleError) as caught:
        Recording(str(path)).at_time(text_of(110))
    assert (
        caught.value.why
        == f"the last one before is of {text_of(40)}, the first one after is of {text_of(200)}"
    )
    assert caught.value.do == f"--at {text_of(40)}"


def test_three_intervals_may_pass_where_they_are_long(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("".join(line_of(one) for number, one in enumerate(readings(60)) if number % 15 == 0))
    assert Recording(str(path)).at_time(text_of(450 + 440)).number == 3


def test_a_time_without_a_zone_is_in_that_of_the_recording_and_without_a_date_of_its_last_day(
    tmp_path: Path,
) -> None:
    path = tmp_path / "file"
    path.write_text("".join(map(line_of, readings(60, 3_600))))
    recording = Recording(str(path))
    local = datetime.fromtimestamp(BEGIN / 1000 + 120, timezone(timedelta(hours=1)))
    assert recording.at_time(f"{local:%H:%M:%S}").number == 12
    assert recording.at_time(f"@{local:%H:%M:%S}").number == 12
    assert recording.at_time(f"{local:%Y-%m-%dT%H:%M:%S}").number == 12
    later = datetime.fromtimestamp(BEGIN / 1000 + 3_600, timezone(timedelta(hours=1)))
    with pytest.raises(NoSampleError, match=f"{later - timedelta(days=1):%Y-%m-%d}"):
        recording.at_time(f"{later:%H:%M}")  # it is not in the future, seen from the recording


def test_a_broken_line_is_not_the_one_that_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "file"
    lines = list(map(line_of, readings(5)))
    lines[3] = lines[3][:200] + "\n"
    path.write_text("".join(lines))
    assert Recording(str(path)).at_time(text_of(35)).number == 2
