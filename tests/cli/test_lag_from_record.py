"""``kcli groups lag --from-record``: what was recorded, without a cluster, as ``groups lag`` shows it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.output.tables import time_text
from tests.committing import commit, put
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.run import Done, kcli
from tests.tui.made_up import BEGIN, line_of, readings, write


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Sixty readings of ``kcli top``, ten seconds apart."""
    return str(write(tmp_path / "incident.ndjson", 60))


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 2, "u": 1}) as found:
        put(found, "t", 0)
        put(found, "u", 0, 3)
        commit(
            found,
            "g",
            {TopicPartition("t", 0): OffsetAndMetadata(4), TopicPartition("t", 1): OffsetAndMetadata(0)},
        )
        commit(found, "h", {TopicPartition("u", 0): OffsetAndMetadata(1)})
        yield found


def recorded(path: str | Path, *words: str, code: int = 0) -> Done:
    done = kcli("groups", "lag", *words, "--from-record", str(path))
    assert done.code == code, done.err
    return done


def document(path: str | Path, *words: str, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(recorded(path, *words, "-o", "json", code=code).out)
    return found


def at(seconds: float) -> tuple[str, str]:
    return "--at", time_text(BEGIN + round(seconds * 1_000))


@pytest.mark.parametrize(
    "words",
    [
        ("g",),
        (),
        ("--by", "member"),
        ("g", "h"),
        ("--match", "h*"),
        ("--by", "topic", "--only-lagging"),
    ],
)
@pytest.mark.parametrize("time", ["exact", "estimate", "off"])
def test_rows_are_those_that_were_shown(
    cluster: FakeCluster, tmp_path: Path, words: tuple[str, ...], time: str
) -> None:
    file = tmp_path / "samples"
    live = kcli(
        "groups",
        "lag",
        *words,
        "--time",
        time,
        "--record",
        str(file),
        "-o",
        "json",
        bootstrap=cluster.bootstrap,
    )
    assert live.code == 0
    again = document(file, *words)
    whole = json.loads(live.out)
    assert again["items"] == whole["items"]
    assert again["items"]
    assert again.keys() == whole.keys()
    assert again["cluster"] == whole["cluster"]
    assert (again["complete"], again["missing"]) == (True, [])


def test_topics_can_be_chosen_of_what_was_recorded(cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "samples"
    kcli("groups", "lag", "--time", "exact", "--record", str(file), bootstrap=cluster.bootstrap)
    for words in (("g", "h", "--topic", "t"), ("--topic", "u", "--by", "partition"), ("h", "--topic", "t")):
        live = kcli("groups", "lag", *words, "--time", "exact", "-o", "json", bootstrap=cluster.bootstrap)
        again = kcli("groups", "lag", *words, "-o", "json", "--from-record", str(file))
        assert again.code == live.code
        assert [ageless(one) for one in again.items] == [ageless(one) for one in live.items]
        for key in ("missing", "complete"):
            assert json.loads(again.out)[key] == json.loads(live.out)[key]


def ageless(row: dict[str, Any]) -> dict[str, Any]:
    """Without what passes meanwhile."""
    return {**row, "lag_seconds": None, "retention_margin_seconds": None}


def test_what_could_not_be_read_then_is_missing_now(cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "samples"
    cluster.fail(OffsetFetchRequest, Code.GROUP_AUTHORIZATION_FAILED, times=1)
    cluster.fail(ListOffsetsRequest, Code.TOPIC_AUTHORIZATION_FAILED, times=FOREVER)
    live = kcli("groups", "lag", "--record", str(file), "-o", "json", bootstrap=cluster.bootstrap)
    again = document(file, code=live.code)
    assert live.code == 6 or not json.loads(live.out)["items"]
    assert again["missing"] == json.loads(live.out)["missing"]
    assert not again["complete"]


def test_the_lag_at_a_time_is_that_of_the_last_sample_before_it(path: str) -> None:
    found = document(path, *at(345))
    assert found["kind"] == "GroupLagList"
    assert found["at"] == time_text(BEGIN + 340_000)
    assert {one["group"]: one["verdict"] for one in found["items"]} == {
        one.group: one.verdict for one in snapshot_groups(path, 34)
    }
    done = recorded(path, "billing", *at(345))
    assert f"sample of {time_text(BEGIN + 340_000)}, 5s before that time" in done.err
    assert "MEMBER" in done.out or "billing" in done.out


def snapshot_groups(path: str, number: int) -> Any:
    from kcli.flows.monitor.playback import Player, Recording

    snapshot = Player(Recording(path)).snapshot(number)
    assert snapshot is not None
    return snapshot.groups


def test_without_a_time_it_is_the_last_sample(path: str) -> None:
    assert document(path)["at"] == time_text(BEGIN + 590_000)


def test_a_time_without_a_sample_is_1_and_the_remedy_works(path: str) -> None:
    for seconds, nearest in ((-1, 0), (3_600, 590)):
        done = recorded(path, *at(seconds), code=1)
        assert done.out == ""
        remedy = done.err.rpartition("do: ")[2].split()
        assert remedy == list(at(nearest))
        assert recorded(path, *remedy).out


def test_groups_that_are_not_in_the_sample_are_1_or_6(path: str) -> None:
    done = recorded(path, "biling", code=1)
    assert "group biling is not in the sample" in done.err
    assert "did you mean billing?" in done.err
    assert [
        one["group"] for one in document(path, "billing", "nobody", "--by", "group", code=6)["items"]
    ] == ["billing"]
    assert "has an offset or a member for topic nowhere" in recorded(path, "--topic", "nowhere", code=1).err


def test_limits_are_those_of_a_check(path: str) -> None:
    assert "--max-lag allows at most 10" in recorded(path, "search-index", "--max-lag", "10", code=8).err
    recorded(path, "search-index", "--max-lag", "1000000000")


def test_lines_that_are_broken_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("".join(["foreign\n", *map(line_of, readings(3))]))
    assert "warning: 1 line of " in recorded(file).err


def test_every_format_has_the_rows(path: str) -> None:
    for form in ("table", "plain", "wide", "tsv", "csv", "ndjson", "yaml", "name", "openmetrics"):
        assert "billing" in recorded(path, "-o", form).out


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--watch",), "groups lag: --from-record with --watch"),
        (("--record", "x"), "groups lag: --from-record with --record"),
        (("--time", "exact"), "groups lag: --from-record with --time"),
        (("--on-verdict", "true"), "groups lag: --on-verdict without --watch"),
        (("-b", "h:1"), "groups lag: --from-record with --bootstrap-server"),
        (("--profile", "p"), "groups lag: --from-record with --profile"),
        (("-X", "client.id=a"), "groups lag: --from-record with --command-property"),
        (("--timeout", "3s"), "groups lag: --from-record with --timeout"),
        (("--at", "soon"), "--at is not valid"),
    ],
)
def test_usage_errors(path: str, words: tuple[str, ...], what: str) -> None:
    done = recorded(path, *words, code=2)
    assert done.out == ""
    assert what in done.err
    assert "\n  do: " in done.err


def test_a_time_needs_a_recording() -> None:
    done = kcli("groups", "lag", "--at", "02:13", bootstrap="127.0.0.1:1")
    assert done.code == 2
    assert "--at without --from-record" in done.err


@pytest.mark.parametrize("text", [None, "", "foreign\n"])
def test_a_file_without_samples_is_2(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "file"
    if text is not None:
        file.write_text(text)
    recorded(file, code=2)
