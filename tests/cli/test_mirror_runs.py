"""kcli mirror as users run it: every output form, a dry run, checkpoints, ranges, and the list of jobs."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import TopicPartition
from kcli.files.lock import file_lock
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fake.sasl import Sasl
from tests.fault.mirror_command import arguments, mirrored, values
from tests.run import Done, kcli
from tests.run import kcli_as_set_up as command

COUNT = 20
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
COLUMNS = [
    "topic", "partition", "target", "from_offset", "to_offset", "records", "bytes", "lag_records",
    "passed_through_batches", "reencoded_batches", "dropped_control_batches", "gaps", "digest_source",
    "digest_target", "state", "state_since", "why", "error",
]  # fmt: skip


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 2}) as made:
        fill(made, 0, COUNT)
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={}, cluster_id="there") as made:
        yield made


def fill(cluster: FakeCluster, first: int, stop: int) -> None:
    for partition in (0, 1):
        for number in range(first, stop):
            cluster.append("t", partition, batch(b"%d" % number, timestamp=1_000 + number))


def numbers(first: int, stop: int) -> list[bytes | None]:
    return [b"%d" % number for number in range(first, stop)]


def untouched(target: FakeCluster) -> bool:
    return not [
        one
        for one in target.seen((CreateTopicsRequest, ProduceRequest))
        if not getattr(one.request, "validate_only", False)
    ]


# --- output ------------------------------------------------------------------------------------------


@pytest.fixture
def broken(source: FakeCluster, target: FakeCluster) -> FakeCluster:
    """Partition 0 has lost what was not copied; partition 1 continues."""
    assert mirrored(source, target).code == 0
    fill(source, COUNT, COUNT + 10)
    source.delete_records("t", 0, COUNT + 5)
    return source


def run(source: FakeCluster, target: FakeCluster, kind: str) -> Done:
    done = command(*arguments(source, target, "--until-caught-up", "-o", kind))
    assert done.code == 5, done
    assert "offset 20 is out of range" in done.err
    return done


def check(rows: list[dict[str, Any]]) -> None:
    assert [int(row["to_offset"]) for row in rows] == [COUNT, COUNT + 10]
    assert [int(row["records"]) for row in rows] == [0, 10]
    assert "offset 20 is out of range" in rows[0]["error"]
    assert not rows[1]["error"]


@pytest.mark.case("M4")
def test_json_and_ndjson_are_valid_when_a_partition_failed(broken: FakeCluster, target: FakeCluster) -> None:
    document = json.loads(run(broken, target, "json").out)
    assert (document["kind"], document["api"]) == ("MirrorReport", "kcli/v1")
    check(document["items"])
    assert list(document["items"][0]) == COLUMNS


@pytest.mark.case("M4")
def test_ndjson_has_a_kind_in_each_line(broken: FakeCluster, target: FakeCluster) -> None:
    done = run(broken, target, "ndjson")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert {row["kind"] for row in rows} == {"MirrorPartition"}
    check(rows)
    (error,) = done.errors
    assert error["code"] == 5


@pytest.mark.case("M4")
@pytest.mark.parametrize("kind", ["tsv", "csv"])
def test_tables_for_programs_have_a_cell_in_each_column(
    broken: FakeCluster, target: FakeCluster, kind: str
) -> None:
    out = run(broken, target, kind).out
    rows = list(csv.DictReader(io.StringIO(out), delimiter="\t" if kind == "tsv" else ","))
    check([{name.lower().replace("-", "_"): cell for name, cell in row.items()} for row in rows])
    assert all(None not in row.values() for row in rows)


@pytest.mark.case("M4")
def test_each_row_adds_up_over_all_runs(broken: FakeCluster, target: FakeCluster) -> None:
    run(broken, target, "json")
    done = command(*arguments(broken, target, "--until-caught-up", "--on-gap", "record", "-o", "json"))
    assert done.code == 6, done
    rows = done.rows
    assert (rows[T0]["from_offset"], rows[T0]["to_offset"], rows[T0]["gaps"]) == (20, 30, [[20, 24]])
    assert rows[T0]["records"] == 30 - 20 - 5
    for tp, row in rows.items():
        gone = sum(last - first + 1 for first, last in row["gaps"])
        assert row["to_offset"] - row["from_offset"] == row["records"] + gone
        assert row["lag_records"] == 0
        assert row["bytes"] >= row["records"]
        assert len(target.log(*tp).records()) == COUNT + 10 - gone
    assert "5 records copied" in done.err


# --- before the copy ---------------------------------------------------------------------------------


def test_a_dry_run_shows_the_plan_and_changes_nothing(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    for more in ((), ("--exactly-once",), ("--checkpoint", str(tmp_path / "c"))):
        done = command(*arguments(source, target, "--dry-run", *more))
        assert done.code == 0, done
        assert "t → t: 2 partitions, the target is created" in done.out
        here, there = (
            f"{one.bootstrap.split(',')[0]}{',…' if ',' in one.bootstrap else ''} (cluster {one.settings.cluster_id})"
            for one in (source, target)
        )
        assert f"Mirror {here} to {there}, job j" in done.out
        done = command(*arguments(source, target, "--dry-run", "-o", "json", *more))
        assert done.code == 0
        assert "the target is created" in done.err
        plan = json.loads(done.out)
        assert (plan["kind"], plan["job"], plan["complete"], plan["missing"]) == ("MirrorPlan", "j", True, [])
        assert [(item["partition"], item["status"], item["note"]) for item in plan["items"]] == [
            (0, "planned", None),
            (1, "planned", None),
        ]
    assert untouched(target)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "line", [("mirror", "--until-caught-up"), ("pipeline", "mirror", "--runner", "inline")]
)
def test_the_plan_of_a_job_says_what_is_left_and_ends_as_the_run_does(
    source: FakeCluster, target: FakeCluster, line: tuple[str, ...]
) -> None:
    sides = ("--from", source.bootstrap, "--to", target.bootstrap, "-t", "t", "--job", "j", "-o", "json")

    def plan() -> tuple[Any, list[tuple[int, int, int, str]]]:
        done = command(*line, *sides, "--dry-run")
        found = json.loads(done.out)
        assert found["kind"] == "MirrorPlan"
        keys = ("partition", "from_offset", "to_offset", "status")
        return done, [tuple(item[key] for key in keys) for item in found["items"]]

    end = source.log("t", 0).end_offset
    done, items = plan()
    assert (done.code, items[0]) == (0, (0, 0, end, "planned"))
    assert command(*line, *sides).code == 0
    source.append("t", 0, batch(b"more"))
    done, items = plan()
    assert done.code == 0
    assert [item[3] for item in items] == ["planned", "unchanged"]
    assert items[0] == (0, end, end + 1, "planned")
    source.delete_topic("t")
    source.create_topic("t", 2)
    source.append("t", 0, batch(b"new"))
    done, items = plan()
    act = command(*line, *sides)
    if line[0] == "mirror":
        assert {item[3] for item in items} == {"refused"}
        assert done.code == act.code == 5
        assert [error["what"] for error in done.errors] == [error["what"] for error in act.errors]


def test_a_plan_names_both_profiles_and_users(
    source: FakeCluster, target: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    config = tmp_path / "kcli" / "config.toml"
    config.parent.mkdir()
    config.write_text(
        "".join(
            f'[profiles.{name}]\n"bootstrap.servers" = "{one.bootstrap}"\n'
            for name, one in (("east", source), ("west", target))
        )
    )
    done = command("mirror", "--from", "east", "--to", "west", "-t", "t", "--job", "j", "--dry-run")
    assert done.code == 0, done
    east, west = source.settings.cluster_id, target.settings.cluster_id
    said = f"Mirror east (cluster {east}, profile east) to west (cluster {west}, profile west), job j, "
    assert done.out.startswith(said)


def test_without_a_terminal_a_target_with_records_needs_yes(source: FakeCluster, target: FakeCluster) -> None:
    target.create_topic("t", 2)
    target.append("t", 0, batch(b"older"))
    for more in ((), ("--no-input",), ("--verify",)):
        done = command(*arguments(source, target, "--until-caught-up", *more))
        assert done.code == 2, done
        assert "Copy to t, which has records already?" in done.err
        assert "--yes" in done.err
        assert done.out == ""
    done = command(*arguments(source, target, "--until-caught-up", "--confirm", "other"))
    assert done.code == 2, done
    assert untouched(target)
    assert mirrored(source, target, "--confirm", "t").code == 0
    assert values(target, "t") == [b"older", *numbers(0, COUNT)]
    fill(source, COUNT, COUNT + 1)
    assert mirrored(source, target).code == 0, "a job that continues its own copy does not ask"


@pytest.mark.parametrize(
    "words",
    [
        ("--rate", "0"),
        ("--rate", "-1"),
        ("--rate", "fast"),
        ("--offset", "5:2"),
        ("--offset", "stored"),
        ("--offset", "@+1h"),
        ("--map-topic", "t"),
        ("--map-topic", "^(=x"),
        ("--map-topic", "t=a/b"),
        ("-t", "^("),
        ("--verify", "--partitions", "by-key"),
    ],
)
def test_what_cannot_be_is_a_usage_error_and_nothing_is_written(
    source: FakeCluster, target: FakeCluster, words: tuple[str, ...]
) -> None:
    done = command(*arguments(source, target, "--until-caught-up", *words))
    assert done.code == 2, done
    assert "kcli" in done.err
    assert done.out == ""
    assert untouched(target)


def test_a_topic_that_does_not_exist_is_1_and_creates_nothing(
    source: FakeCluster, target: FakeCluster
) -> None:
    done = mirrored(source, target, "-t", "missing")
    assert done.code == 1, done
    assert "topic missing does not exist on the source" in done.errors[0]["what"]
    assert untouched(target)


# --- ranges and jobs ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "first", "stop"),
    [
        ("earliest", 0, COUNT),
        ("latest", COUNT, COUNT),
        ("7", 7, COUNT),
        ("7:", 7, COUNT),
        (":7", 0, 7),
        ("3:9", 3, 9),
        ("3..9", 3, 9),
        ("-5", 15, COUNT),
        ("+4", 4, COUNT),
        ("@1010", None, None),
        ("3:3", 3, 3),
        ("5:100", 5, COUNT),
    ],
)
def test_a_range_is_copied_and_the_job_continues_after_it(
    source: FakeCluster, target: FakeCluster, spec: str, first: int | None, stop: int | None
) -> None:
    done = mirrored(source, target, "--offset", spec, "--verify")
    if first is None or stop is None:  # a time in seconds: everything is later, or nothing
        assert done.code == 0, done
        return
    assert done.code == 0, done
    for tp in (T0, T1):
        row = done.rows[tp]
        assert values(target, *tp) == numbers(first, stop)
        assert (row["from_offset"], row["to_offset"], row["records"]) == (first, stop, stop - first)
    done = mirrored(source, target, "--verify")
    assert done.code == 0, done
    for tp in (T0, T1):
        assert values(target, *tp) == numbers(first, COUNT), "nothing twice, nothing left out after it"


def test_the_jobs_of_a_cluster_are_listed(source: FakeCluster, target: FakeCluster) -> None:
    def status(*more: str) -> Done:
        return command("mirror", "status", "--to", target.bootstrap, "-o", "json", *more)

    done = status()
    assert (done.code, json.loads(done.out)["items"]) == (0, [])
    assert untouched(target), "looking creates no topic"
    done = status("--job", "j")
    assert done.code == 1, done
    assert "mirror job j does not exist" in done.errors[0]["what"]
    mirrored(source, target)
    fill(source, COUNT, COUNT + 3)
    for number in range(3):
        words = ["--job", f"more {number}", "--map-topic", f"t=t{number}", "--exactly-once"]
        assert mirrored(source, target, *words).code == 0
    items = json.loads(status().out)["items"]
    assert [(one["job"], one["partition"]) for one in items] == [
        (job, partition) for job in ("j", "more 0", "more 1", "more 2") for partition in (0, 1)
    ]
    assert {one["delivery"] for one in items[2:]} == {"exactly-once"}
    assert [one["position"] for one in items] == [COUNT] * 2 + [COUNT + 3] * 6
    assert [one["target"] for one in items[2:4]] == ["t0", "t0"]
    (one, two) = json.loads(status("--job", "more 1").out)["items"]
    assert one["job"] == two["job"] == "more 1"


# --- checkpoint files --------------------------------------------------------------------------------


def test_a_checkpoint_file_keeps_the_position_and_the_target_no_state(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    path = str(tmp_path / "c")
    assert mirrored(source, target, "--checkpoint", path).code == 0
    fill(source, COUNT, COUNT + 4)
    done = mirrored(source, target, "--checkpoint", path, "--verify")
    assert done.code == 0, done
    assert [row["records"] for row in done.rows.values()] == [4, 4]
    assert values(target, "t") == numbers(0, COUNT + 4)
    with pytest.raises(KeyError):
        target.log("__kcli_mirror")
    assert [one.name for one in tmp_path.iterdir()] == ["c"]


@pytest.mark.parametrize(
    "content",
    [
        b"no json\n",
        b"{}\n",
        b'{"key": 5, "value": null}\n',
        b"\xff\xfe\n",
        b'{"kind":"ProduceCheckpoint"}\n',
        b'{"key":"{\\"job\\":\\"j\\"}","value":"AAAA"}\n',
    ],
)
def test_a_damaged_checkpoint_is_refused_and_stays_as_it_is(
    source: FakeCluster, target: FakeCluster, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "c"
    path.write_bytes(content)
    done = mirrored(source, target, "--checkpoint", str(path))
    assert done.code in (2, 5), done
    assert path.read_bytes() == content
    assert "Traceback" not in done.err
    assert "internal error" not in done.err
    assert untouched(target)


def test_a_checkpoint_that_lost_its_last_lines_is_refused_or_an_earlier_one(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    """Whatever is cut off, nothing is left out of the copy."""
    path = tmp_path / "c"
    mirrored(source, target, "--checkpoint", str(path))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    done = mirrored(source, target, "--checkpoint", str(path), "--yes")
    assert done.code == 2, done
    assert "is no checkpoint of a mirror" in done.errors[0]["what"]


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_checkpoint_in_use_is_refused(
    source: FakeCluster, target: FakeCluster, tmp_path: Path, more: tuple[str, ...]
) -> None:
    path = tmp_path / "c"
    with file_lock(Path(f"{path}.lock"), timeout=0, doing="the test"):
        done = mirrored(source, target, "--checkpoint", str(path), *more)
    assert done.code == 7, done
    assert f"another kcli process is using the checkpoint {path}" in done.err
    assert untouched(target)


def test_a_file_holds_the_positions_of_several_jobs(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    path = str(tmp_path / "c")
    assert mirrored(source, target, "--checkpoint", path).code == 0
    second = ("--checkpoint", path, "--job", "second", "--map-topic", "t=u")
    assert mirrored(source, target, *second).code == 0
    fill(source, COUNT, COUNT + 2)
    for words in (("--checkpoint", path), second):
        assert [row["records"] for row in mirrored(source, target, *words).rows.values()] == [2, 2]
    assert values(target, "t") == values(target, "u") == numbers(0, COUNT + 2)


@pytest.mark.parametrize("place", ["missing/c", "."])
def test_a_checkpoint_that_cannot_be_written_is_refused_before_the_copy(
    source: FakeCluster, target: FakeCluster, tmp_path: Path, place: str
) -> None:
    done = mirrored(source, target, "--checkpoint", str(tmp_path / place))
    assert done.code in (1, 2), done
    dry = mirrored(source, target, "--checkpoint", str(tmp_path / place), "--dry-run")
    assert dry.code == done.code, dry
    assert "internal error" not in done.err
    assert untouched(target)


@pytest.mark.parametrize("line", ["mirror", "mirror --verify-only", "pipeline mirror --runner inline"])
def test_the_plan_names_user_and_profile_of_both_sides(tmp_path: Path, line: str) -> None:
    users = {"here": "alice", "there": "bob"}
    with ExitStack() as stack:
        lines = []
        for name, user in users.items():
            sasl = Sasl(users={user: "secret"})
            made = stack.enter_context(FakeCluster(1, cluster_id=name, topics={"t": 1}, sasl=sasl))
            lines += [
                f'[profiles.{name}]\n"bootstrap.servers" = "{made.bootstrap}"\n"security.protocol" = "SASL_PLAINTEXT"',
                f'"sasl.mechanism" = "PLAIN"\n"sasl.username" = "{user}"\n"sasl.password" = "secret"',
                '"allow.plaintext.secrets" = true',
            ]
        (tmp_path / "kcli").mkdir()
        (tmp_path / "kcli/config.toml").write_text("\n".join(lines))
        words = [*line.split(), "--from", "here", "--to", "there", "-t", "t", "--dry-run"]
        folders = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
        done = kcli(*words, **folders)
    first = (done.out + done.err).partition(", job")[0]
    for name, user in users.items():
        assert f"{name} (cluster {name}, profile {name}, as User:{user})" in first
