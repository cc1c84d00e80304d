"""Ranges by time where times are not in order: what is said of them, and what ``--exact-times`` reads instead."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.admin.topics import id_text
from kcli.core.consumer.consumer import Consumer
from kcli.core.positions import RangeSpec
from kcli.core.types import Record
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.job import StoppedTaskError, TaskContext
from kcli.pipeline.kernels import export as export_kernel
from kcli.pipeline.kernels import profile
from kcli.pipeline.manifest import ExactTimes, PlannedSlice
from kcli.pipeline.plan import pin
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.pipeline.exporting import contents, manifest
from tests.run import Done
from tests.run import kcli as command

DAY = 86_400_000
DAY0 = 1_790_000_000_000 // DAY * DAY
FUTURE = DAY0 + 9000 * DAY
RANGE = ("--since", str(DAY0 + DAY), "--until", str(DAY0 + 2 * DAY))
WITHIN = [b"%d" % n for n in range(6, 16)]
"""The values of the ten records of the day."""


def put(cluster: FakeCluster, times: list[int], topic: str = "t", partition: int = 0) -> None:
    """A record for each time; keys and values go up with the time's place."""
    end = cluster.log(topic, partition).end_offset
    rows = [
        Record(topic, partition, end + n, time, 0, b"k%d" % (n % 4), b"%d" % n, ())
        for n, time in enumerate(times)
    ]
    cluster.append(topic, partition, bytes(batch_of(rows).raw))


def days(*, ahead: bool) -> list[int]:
    """Five records of a day, ten of the next, three of the one after; one of a clock that is ahead before the ten."""
    first, last = [DAY0 + n for n in range(5)], [DAY0 + 2 * DAY + n for n in range(3)]
    return first + [FUTURE if ahead else DAY0 + 7] + [DAY0 + DAY + n * 1000 for n in range(10)] + last


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 1}) as found:
        put(found, days(ahead=True))
        yield found


def run(cluster: FakeCluster, verb: str, *words: str) -> tuple[Done, Any]:
    done = command(
        "pipeline", verb, *words, "--runner", "inline", "-o", "json", "--yes", bootstrap=cluster.bootstrap
    )
    return done, json.loads(done.out) if done.out else None


def exported(folder: Path) -> list[bytes]:
    return [
        json.loads(line)["value"].encode()
        for path in sorted(folder.rglob("*.ndjson"))
        for line in path.open()
    ]


@pytest.mark.parametrize("verb", ["export", "profile", "replay"])
def test_a_record_with_a_time_in_the_future_is_no_reason_to_be_silent(
    cluster: FakeCluster, tmp_path: Path, verb: str
) -> None:
    cluster.create_topic("u", 1)
    words = {"export": ["t", str(tmp_path / "x")], "profile": ["t"], "replay": ["t", "--to", "u"]}[verb]
    done, report = run(cluster, verb, *words, *RANGE)
    assert (done.code, report["totals"]["records"]) == (0, 0), done.err
    (warning,) = report["warnings"]
    assert "10 of the 14 records that follow are older and left out" in warning
    assert "the record of t-0 at offset 5 has a time in the future, 2051" in warning
    assert "--exact-times" in warning


@pytest.mark.parametrize("verb", ["export", "replay"])
def test_a_dry_run_says_it_too(cluster: FakeCluster, tmp_path: Path, verb: str) -> None:
    cluster.create_topic("u", 1)
    words = {"export": ["t", str(tmp_path / "x")], "replay": ["t", "--to", "u"]}[verb]
    done = command(
        "pipeline", verb, *words, *RANGE, "--runner", "inline", "--dry-run", bootstrap=cluster.bootstrap
    )
    assert "10 of the 14 records that follow are older" in done.err
    assert done.code == 0


def test_times_in_order_are_not_worth_a_word(tmp_path: Path) -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        put(cluster, days(ahead=False))
        done, report = run(cluster, "export", "t", str(tmp_path / "x"), *RANGE)
        assert (done.code, report["warnings"], report["totals"]["records"]) == (0, [], 10)


@pytest.mark.parametrize("form", ["parquet", "ndjson", "csv"])
def test_an_exact_export_has_every_record_of_the_range_and_no_other(
    cluster: FakeCluster, tmp_path: Path, form: str
) -> None:
    folder = tmp_path / "x"
    words = ("t", str(folder), *RANGE, "--format", form, "--exact-times")
    done, report = run(cluster, "export", *words)
    assert (done.code, report["warnings"]) == (0, []), done.err
    (item,) = report["items"]
    assert (item["start"], item["end"], item["records"], item["skipped_records"]) == (5, 19, 10, 4)
    assert manifest(folder)["times"] == {"since": DAY0 + DAY, "until": DAY0 + 2 * DAY}
    if form == "ndjson":
        assert exported(folder) == WITHIN
    with FakeCluster(1, cluster_id="there") as target:
        done, _ = run(target, "import", str(folder), "--force")
        assert done.code == 0, done.err
        assert [row[1] for row in contents(target.bootstrap, "t")] == WITHIN
    again, report = run(cluster, "export", *words)
    assert (again.code, report["totals"]["records"], report["totals"]["tasks"]) == (0, 10, 0)
    other, _ = run(cluster, "export", *words[:-1])
    assert other.code == 7
    assert "it was begun with" in other.err


def test_a_file_that_was_removed_is_written_with_the_times_of_the_first_run(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    """The words of a range, such as yesterday, mean other times by then."""
    folder = tmp_path / "x"
    words = ("t", str(folder), "--since", "60d", "--format", "ndjson", "--exact-times")
    assert run(cluster, "export", *words)[0].code == 0
    before = exported(folder)
    file = folder / "_kcli_manifest.json"
    found = json.loads(file.read_text())
    found["times"] = {"since": DAY0 + DAY, "until": DAY0 + DAY + 3000}
    file.write_text(json.dumps(found))
    for path in folder.rglob("*.ndjson"):
        path.unlink()
    done, _ = run(cluster, "export", *words)
    assert (done.code, exported(folder)) == (0, WITHIN[:3]), done.err
    assert before != WITHIN[:3]


def test_an_exact_profile_counts_the_records_of_the_range(cluster: FakeCluster) -> None:
    done, report = run(cluster, "profile", "t", *RANGE, "--exact-times")
    assert (done.code, report["totals"]["records"], report["warnings"]) == (0, 10, [])


@pytest.mark.parametrize("flags", [(), ("--level", "records"), ("--compacted",)])
def test_an_exact_comparison_is_of_the_records_of_the_range(
    cluster: FakeCluster, flags: tuple[str, ...]
) -> None:
    with FakeCluster(1, topics={"t": 1}, cluster_id="there") as target:
        put(target, days(ahead=False))
        sides = ("--from", cluster.bootstrap, "--to", target.bootstrap, "-t", "t", *RANGE)
        done, report = run(cluster, "verify", *sides, "--exact-times", *flags)
        assert (done.code, report["items"][0]["compared_records"]) == (
            0,
            4 if "--compacted" in flags else 10,
        ), done.err
        done, report = run(cluster, "verify", *sides, *flags)
        assert done.code == 8
        assert any("10 of the 14 records" in text for text in report["warnings"])
        put(target, [DAY0 + DAY + 5])
        assert run(cluster, "verify", *sides, "--exact-times", *flags)[0].code == 8


@pytest.mark.parametrize(
    ("verb", "words", "why"),
    [
        ("export", ("t", "x", "--exact-times"), "--exact-times without a time"),
        ("export", ("t", "x", "--offset", "3:9", "--exact-times"), "--exact-times without a time"),
        ("profile", ("t", "--exact-times"), "--exact-times without a time"),
        ("replay", ("t", "--to", "u", "--exact-times"), "--exact-times without a time"),
        ("query", ("t", "--sql", "select 1 from source", "--exact-times"), "--exact-times without a time"),
        ("replay", ("t", "--to", "t", *RANGE, "--exact-times"), "would be sent to t itself"),
        ("verify", ("--from", "a:1", "--to", "b:1", "-t", "t", *RANGE, "--exact-times", "--repair"), "with --repair"),
        (
            "verify",
            ("--from", "a:1", "--to", "b:1", "-t", "t", *RANGE, "--exact-times", "--level", "offsets"),
            "no record is read at that level",
        ),
    ],
)  # fmt: skip
def test_exact_times_that_mean_nothing_are_refused(verb: str, words: tuple[str, ...], why: str) -> None:
    done = command("pipeline", verb, *words, bootstrap="127.0.0.1:1")
    assert done.code == 2
    assert why in done.err


class TestReplay:
    """A job by exact times passes other records, so its position is one among records of these times only."""

    @pytest.fixture(autouse=True)
    def target(self, cluster: FakeCluster) -> None:
        cluster.create_topic("u", 1)
        cluster.configure("u", retention_ms="-1")

    def test_it_sends_the_records_of_the_range_once(self, cluster: FakeCluster) -> None:
        for records in (10, 0):
            done, report = run(cluster, "replay", "t", "--to", "u", *RANGE, "--exact-times")
            assert (done.code, report["totals"]["records"]) == (0, records), done.err
        assert [row[1] for row in contents(cluster.bootstrap, "u")] == WITHIN

    def test_another_range_is_another_job(self, cluster: FakeCluster) -> None:
        run(cluster, "replay", "t", "--to", "u", *RANGE, "--exact-times")
        late = ("--since", str(DAY0 + 2 * DAY), "--until", str(DAY0 + 3 * DAY))
        done, report = run(cluster, "replay", "t", "--to", "u", *late, "--exact-times")
        assert (done.code, report["totals"]["records"]) == (0, 3), done.err

    @pytest.mark.parametrize("then", [("--since", str(DAY0), "--exact-times"), RANGE])
    def test_a_named_job_of_another_range_is_refused(
        self, cluster: FakeCluster, then: tuple[str, ...]
    ) -> None:
        words = ("replay", "t", "--to", "u", "--job", "mine")
        assert run(cluster, *words, *RANGE, "--exact-times")[0].code == 0
        done, _ = run(cluster, *words, *then)
        assert done.code == 7, done.err
        assert "the job has a position in t-0, at offset 19, for other times" in done.err


@pytest.mark.parametrize("kernel", ["export", "profile"])
def test_a_stop_is_seen_where_nothing_of_the_range_is_found(
    cluster: FakeCluster, tmp_path: Path, kernel: str
) -> None:
    """All records are read and none passes, so no batch returns; the stop comes after the first fetch."""
    asked: list[bool] = []

    def stopped() -> bool:
        asked.append(True)
        return len(asked) > 1

    context = TaskContext(1, stopped=stopped)
    ref = ClusterRef({"bootstrap_servers": cluster.bootstrap}, {}, {}, {})
    with Consumer(bootstrap_servers=cluster.bootstrap, max_poll_records=1) as consumer:
        (slice_,) = pin(consumer, ["t"], RangeSpec(None), 10)
    until = DAY0 - DAY
    if kernel == "profile":
        settings: Any = profile.ProfileSettings(ref, 1, (None, until))
        task: Any = slice_
        run_kernel: Any = profile.run
    else:
        settings = export_kernel.ExportSettings(ref, str(tmp_path), "parquet", ExactTimes(None, until))
        task = PlannedSlice("t", id_text(slice_.topic_id), 0, slice_.start, slice_.end)
        run_kernel = export_kernel.run
    with pytest.raises(StoppedTaskError):
        run_kernel(settings, task, context)
