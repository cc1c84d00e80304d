"""What a mirror job is: its selectors change, its positions stay, are moved, or are taken over from version 1."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.flows.mirror.job.job import default_name
from kcli.flows.mirror.job.state import JobId, load_jobs
from kcli.flows.mirror.job.store import read_file_records, state_topic_spec
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.mirror_command import instance_of, values
from tests.run import ROOT, Done
from tests.run import kcli_as_set_up as command


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"a": 1, "b": 1}, cluster_id="here") as made:
        for topic in "ab":
            for number in range(4):
                made.append(topic, 0, batch(b"%s%d" % (topic.encode(), number), timestamp=1_000))
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={}, cluster_id="there") as made:
        yield made


class Clusters:
    def __init__(self, source: FakeCluster, target: FakeCluster) -> None:
        self.source, self.target = source, target

    def mirror(self, *words: str) -> Done:
        return command(
            "mirror", "--from", self.source.bootstrap, "--to", self.target.bootstrap, "--until-caught-up",
            "-o", "json", *words
        )  # fmt: skip

    def reset(self, *words: str) -> Done:
        both = ("--from", self.source.bootstrap, "--to", self.target.bootstrap)
        return command("mirror", "reset", *both, "-o", "json", *words)

    def status(self, *words: str) -> dict[str, dict[str, Any]]:
        done = command("mirror", "status", "--to", self.target.bootstrap, "-o", "json", *words)
        assert done.code == 0, done
        return {f"{row['job']}/{row['topic']}": row for row in json.loads(done.out)["items"]}


@pytest.fixture
def clusters(source: FakeCluster, target: FakeCluster) -> Clusters:
    return Clusters(source, target)


def copied(done: Done) -> dict[str, tuple[int, int]]:
    """Topic: from, records."""
    assert done.code == 0, done
    return {str(tp.topic): (row["from_offset"], row["records"]) for tp, row in done.rows.items()}


def test_a_topic_that_is_added_joins_and_one_that_is_dropped_keeps_its_position(
    clusters: Clusters, delivery: tuple[str, ...]
) -> None:
    assert copied(clusters.mirror("-t", "a", *delivery)) == {"a": (0, 4)}
    assert copied(clusters.mirror("-t", "a", "-t", "b", *delivery)) == {"a": (4, 0), "b": (0, 4)}
    done = clusters.mirror("-t", "b", *delivery)
    assert copied(done) == {"b": (4, 0)}
    assert "  a → a: not selected, keeps its position" in done.err
    states = {name: (row["state"], row["position"]) for name, row in clusters.status().items()}
    assert states == {"default/a": ("not_selected", 4), "default/b": ("ended", 4)}
    clusters.source.append("a", 0, batch(b"a4", timestamp=1_000))
    assert copied(clusters.mirror("-t", "*", *delivery)) == {"a": (4, 1), "b": (4, 0)}
    assert values(clusters.target, "a") == [b"a0", b"a1", b"a2", b"a3", b"a4"]


def test_a_topic_that_is_added_with_an_offset_begins_there(clusters: Clusters) -> None:
    clusters.mirror("-t", "a")
    assert copied(clusters.mirror("-t", "b", "--offset", "3")) == {"b": (3, 1)}
    assert copied(clusters.mirror("-t", "a", "-t", "b")) == {"a": (4, 0), "b": (4, 0)}


def test_a_topic_that_appeared_is_copied_from_its_start_whatever_the_offset(clusters: Clusters) -> None:
    assert copied(clusters.mirror("-t", "*", "--offset", "latest")) == {"a": (4, 0), "b": (4, 0)}
    clusters.source.create_topic("c", 1)
    clusters.source.append("c", 0, batch(b"c0", timestamp=1_000))
    assert copied(clusters.mirror("-t", "*", "--offset", "latest"))["c"] == (0, 1)


@pytest.mark.parametrize("offset", ["latest", "0", "2"])
def test_an_offset_that_contradicts_a_position_is_refused(clusters: Clusters, offset: str) -> None:
    assert copied(clusters.mirror("-t", "a", "--offset", "1")) == {"a": (1, 3)}
    assert copied(clusters.mirror("-t", "a", "--offset", "1")) == {"a": (4, 0)}, "the same command"
    done = clusters.mirror("-t", "a", "--offset", offset)
    assert done.code == 7, done
    assert "--offset does not apply to topic a" in done.err
    assert (
        "`kcli mirror reset a --from HOST:PORT --to HOST:PORT --offset SPEC` moves the position" in done.err
    )
    assert clusters.status()["default/a"]["position"] == 4


def test_a_rename_that_contradicts_a_target_is_refused_and_another_job_copies_there(
    clusters: Clusters,
) -> None:
    clusters.mirror("-t", "a")
    done = clusters.mirror("-t", "a", "--map-topic", "a=copy")
    assert done.code == 7, done
    assert "mirror job default copies it to a, and a job has one target for each topic" in done.err
    assert copied(clusters.mirror("-t", "a", "--map-topic", "a=copy", "--job", "second")) == {"a": (0, 4)}
    assert copied(clusters.mirror("-t", "a")) == {"a": (4, 0)}
    assert {*clusters.status()} == {"default/a", "second/a"}


def test_a_rename_rule_that_renames_nothing_is_a_warning(clusters: Clusters) -> None:
    done = clusters.mirror("-t", "a", "--map-topic", "aa=copy", "--map-topic", "a=b", "--dry-run")
    assert done.code == 0, done
    assert json.loads(done.out)["warnings"][:1] == ["--map-topic aa=copy renames no topic that is selected"]


def test_one_cluster_may_be_both_sides(source: FakeCluster) -> None:
    both = Clusters(source, source)
    for job, name in (("one", "copy.one"), ("two", "copy.two")):
        assert copied(both.mirror("-t", "a", "--map-topic", f"a={name}", "--job", job)) == {"a": (0, 4)}
        assert copied(both.mirror("-t", "a", "--map-topic", f"a={name}", "--job", job)) == {"a": (4, 0)}
    assert copied(both.mirror("-t", "a", "--map-topic", "a=copy")) == {"a": (0, 4)}
    done = both.mirror("-t", "a", "--map-topic", "a=copy", "--offset", "2")
    assert done.code == 7, done
    type_remedy(
        "`kcli mirror reset a --from HOST:PORT --to HOST:PORT --offset SPEC`", done.err, source.bootstrap
    )
    assert both.status("--job", "default")["default/a"]["position"] == 4, "a reset that is only planned"


@pytest.mark.parametrize(
    ("offset", "expected", "change"),
    [("1", 1, "again"), ("earliest", 0, "again"), ("latest", 5, "skipped"), ("-1", 4, "none")],
)
def test_a_position_is_moved(
    clusters: Clusters, delivery: tuple[str, ...], offset: str, expected: int, change: str
) -> None:
    clusters.mirror("-t", "a", *delivery)
    clusters.source.append("a", 0, batch(b"a4", timestamp=1_000))
    dry = clusters.reset("a", "a:0", "a:0", "--offset", offset, "--dry-run")
    assert dry.code == 0, dry
    (planned,) = json.loads(dry.out)["items"]
    assert (planned["position"], planned["new_position"], planned["change"]) == (4, expected, change)
    assert clusters.status()["default/a"]["position"] == 4
    done = clusters.reset("a:0", "--offset", offset, "--yes")
    assert done.code == 0, done
    row = clusters.status()["default/a"]
    assert row["position"] == expected
    assert row["gaps"] == ([[4, 4]] if change == "skipped" else [])
    assert copied(clusters.mirror("-t", "a", *delivery)) == {"a": (expected, 5 - expected)}
    again = [b"a%d" % number for number in range(expected, 5)]
    assert values(clusters.target, "a") == [b"a0", b"a1", b"a2", b"a3", *again]


def test_positions_are_not_moved_while_the_job_runs(clusters: Clusters) -> None:
    clusters.mirror("-t", "a")
    with instance_of(clusters.target, JobId("here", "default")):
        for more in ("--dry-run", "--yes"):
            done = clusters.reset("a", "--offset", "0", more)
            assert done.code == 7, done
            assert "mirror job default is run by" in done.err
    assert clusters.status()["default/a"]["position"] == 4


@pytest.mark.parametrize("words", [["a:7"], ["c"]])
def test_what_the_job_does_not_have_is_not_moved(clusters: Clusters, words: list[str]) -> None:
    clusters.mirror("-t", "a")
    done = clusters.reset(*words, "--offset", "0", "--yes")
    assert done.code == 1, done
    assert "has no position of" in done.err


def test_a_target_that_was_deleted_is_filled_again_after_a_reset(clusters: Clusters) -> None:
    clusters.mirror("-t", "a")
    clusters.target.delete_topic("a")
    refused = clusters.mirror("-t", "a")
    assert refused.code == 5, refused
    assert (
        "`kcli mirror reset a --from HOST:PORT --to HOST:PORT --offset SPEC` with --offset earliest"
        in refused.err
    )
    done = clusters.reset("a", "--offset", "earliest", "--yes")
    assert done.code == 0, done
    assert "1 partition begins anew: a topic is not the one of then, or lost records" in done.err
    assert copied(clusters.mirror("-t", "a")) == {"a": (0, 4)}
    assert values(clusters.target, "a") == [b"a0", b"a1", b"a2", b"a3"]


def test_gaps_stay_until_they_are_acknowledged(clusters: Clusters, delivery: tuple[str, ...]) -> None:
    clusters.mirror("-t", "*", *delivery)
    for topic in "ab":
        for number in range(4):
            clusters.source.append(topic, 0, batch(b"%s%d" % (topic.encode(), number), timestamp=1_000))
        clusters.source.delete_records(topic, 0, 6)
    dry = clusters.mirror("-t", "*", *delivery, "--dry-run")
    assert (dry.code, clusters.mirror("-t", "*", *delivery).code) == (5, 5), dry
    assert "offsets 4 to 5 were removed before they were copied" in dry.err
    dry = clusters.mirror("-t", "*", "--on-gap", "record", *delivery, "--dry-run")
    assert "a-0: the source has removed offsets 4 to 5, which become a gap" in dry.err
    done = clusters.mirror("-t", "*", "--on-gap", "record", *delivery)
    assert done.code == 6, done
    assert clusters.mirror("-t", "*", *delivery).code == 0
    for topic in "ab":
        assert clusters.status()[f"default/{topic}"]["gaps"] == [[4, 5]]
    accept = ("mirror", "accept-gap", "--to", clusters.target.bootstrap, "-o", "json")
    assert command(*accept, "a:0", "a:0", "--dry-run").code == 0
    assert clusters.status()["default/a"]["gaps"] == [[4, 5]]
    with instance_of(clusters.target, JobId("here", "default")):
        done = command(*accept, "a:0", "--yes")
    assert done.code == 0, done
    assert [row["first"] for row in json.loads(done.out)["items"]] == [4]
    clusters.source.append("a", 0, batch(b"later", timestamp=1_000))
    clusters.mirror("-t", "*", *delivery)
    assert (clusters.status()["default/a"]["gaps"], clusters.status()["default/b"]["gaps"]) == ([], [[4, 5]])
    assert command(*accept, "a:0", "a:0", "--yes").code == 1
    assert "does not copy it" in command(*accept, "c:0", "--yes").err
    assert command(*accept, "--all", "--yes").code == 0
    assert clusters.status()["default/b"]["gaps"] == []


# --- version 1 ---------------------------------------------------------------------------------------

OLD = ROOT / "tests/golden/mirror/state-v1.jsonl"
"""Written by the encoder of version 1: two unnamed jobs, one of which copies orders to another topic, and a named one."""
SOURCE = "sourceAAAAAAAAAAAAAAAAA"


@pytest.fixture
def old() -> Iterator[Clusters]:
    """Topics that have what the positions say, from brokers without topic ids."""
    topics = {"orders": 2, "payments": 1, "invoices": 1}
    with (
        FakeCluster(1, topics=topics, cluster_id=SOURCE) as source,
        FakeCluster(
            1, topics={"orders": 2, "payments": 1, "eu.invoices": 1, "copy": 1}, cluster_id="there"
        ) as target,
    ):
        yield Clusters(source, target)


def write_old(clusters: Clusters) -> None:
    """The records of version 1, about the topics of these clusters."""
    spec = state_topic_spec(1)
    clusters.target.create_topic(spec.name, 1)
    ends = {"orders": {0: 3_300, 1: 9}, "payments": {0: 12}, "invoices": {0: 15}}
    for topic, partitions in ends.items():
        for number, count in partitions.items():
            for _ in range(count + 1):
                clusters.source.append(topic, number, batch(b"x", timestamp=1_000))
    for topic, number, count in (
        ("orders", 0, 2_205), ("orders", 1, 11), ("payments", 0, 13), ("eu.invoices", 0, 15), ("copy", 0, 9),
    ):  # fmt: skip
        for _ in range(count):
            clusters.target.append(topic, number, batch(b"x", timestamp=1_000))
    for key, value in read_file_records(str(OLD)):
        assert value is not None
        found = json.loads(value) if value.startswith(b"{") else None
        if found is not None and "topic_id" in found:
            found["topic_id"] = found["target_topic_id"] = ""
            found["leader_epoch"] = -1
        clusters.target.append(
            spec.name, 0, batch(value if found is None else json.dumps(found).encode(), key=key)
        )


def test_the_positions_of_version_1_are_taken_over(old: Clusters, delivery: tuple[str, ...]) -> None:
    write_old(old)
    unnamed = default_name(SOURCE, ["orders", "payments"], [])
    assert old.status()[f"{unnamed}/orders"]["running"] is False
    done = old.mirror("-t", "orders", *delivery)
    assert {str(tp): row["from_offset"] for tp, row in done.rows.items()} == {
        "orders-0": 3_300,
        "orders-1": 9,
    }
    assert done.code == 0, done
    assert f"takes over job {unnamed} of an earlier version of kcli, last seen on old-host" in done.err
    names = {*old.status()}
    assert {"default/orders", f"{unnamed}/payments", "nightly/invoices"} <= names
    assert f"{unnamed}/orders" not in names
    done = old.mirror("-t", "payments", "-t", "orders", *delivery)
    assert copied(done)["payments"] == (12, 1)
    assert not any(name.startswith(f"{unnamed}/") for name in old.status())


def test_a_named_job_of_version_1_keeps_its_name_and_is_fenced(old: Clusters) -> None:
    write_old(old)
    done = old.mirror("-t", "invoices", "--map-topic", r"^(.*)$=eu.\1", "--job", "nightly", "--exactly-once")
    assert copied(done) == {"invoices": (15, 1)}
    assert [row["source_cluster"] for row in old.status("--job", "nightly").values()] == [SOURCE]
    from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest

    ids = [one.request.transactional_id for one in old.target.seen(InitProducerIdRequest)]
    assert "kcli-mirror-nightly" in ids


def test_the_same_selection_under_a_new_name_goes_on(old: Clusters) -> None:
    write_old(old)
    done = old.mirror("-t", "orders", "--map-topic", "orders=copy", "--job", "copies", "--partitions", "keep")
    assert {str(tp): row["from_offset"] for tp, row in done.rows.items()}["orders-0"] == 16


def test_a_checkpoint_file_of_version_1_is_taken_over(old: Clusters, tmp_path: Path) -> None:
    write_old(old)
    shutil.copy(OLD, tmp_path / "job")
    file = tmp_path / "job"
    text = file.read_text("ascii")
    assert load_jobs(read_file_records(str(file)))
    records = []
    for line in text.splitlines():
        records.append(json.loads(line))
    done = old.mirror("-t", "orders", "-t", "payments", "--checkpoint", str(file))
    assert done.code == 5, "the topic ids in the file are of other topics"
    assert "was deleted and created again" in done.err
    jobs = load_jobs(read_file_records(str(file)))
    assert JobId(SOURCE, "default") in jobs
    assert jobs[JobId(SOURCE, "default")].partitions.keys() >= {("orders", 0), ("orders", 1), ("payments", 0)}
