"""Mirrors in both directions, in a ring, of a mirror: nothing goes round, and what clusters keep for themselves stays."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.flows.mirror.job.state import JobId, JobState, job_record
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.mirror_command import arguments, instance_of, mirrored, running, stored, until, values
from tests.fault.producing import PATIENCE
from tests.run import Done, start
from tests.run import kcli_as_set_up as command

INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__kcli_mirror")


@pytest.fixture
def clusters() -> Iterator[dict[str, FakeCluster]]:
    with (
        FakeCluster(1, topics={"t": 1}, cluster_id="A") as a,
        FakeCluster(1, topics={"t": 1}, cluster_id="B") as b,
        FakeCluster(1, topics={"t": 1}, cluster_id="C") as c,
    ):
        found = {"A": a, "B": b, "C": c}
        for name, cluster in found.items():
            for number in range(4):
                cluster.append("t", 0, batch(b"%s%d" % (name.encode(), number), timestamp=1_000))
        yield found


def copy(clusters: dict[str, FakeCluster], route: str, *more: str) -> Done:
    """``A>B``: a job of that name."""
    source, target = (clusters[name] for name in route.split(">"))
    done = mirrored(source, target, "--yes", *more, "--job", route)
    assert done.code == 0, done
    return done


def names(*letters: str) -> set[bytes]:
    return {b"%s%d" % (letter.encode(), number) for letter in letters for number in range(4)}


@pytest.mark.case("M16")
def test_two_clusters_that_mirror_each_other_have_each_record_once(
    clusters: dict[str, FakeCluster], delivery: tuple[str, ...]
) -> None:
    for _ in range(3):
        for route in ("A>B", "B>A"):
            copy(clusters, route, "--headers", *delivery)
    for name in "AB":
        found = values(clusters[name], "t")
        assert sorted(found) == sorted(names("A", "B")), name
    clusters["A"].append("t", 0, batch(b"new"))
    assert [row["records"] for row in copy(clusters, "A>B", "--headers", *delivery).rows.values()] == [1]
    assert [row["records"] for row in copy(clusters, "B>A", "--headers", *delivery).rows.values()] == [0]


@pytest.mark.case("M16")
def test_while_both_run_nothing_goes_round(clusters: dict[str, FakeCluster]) -> None:
    a, b = clusters["A"], clusters["B"]
    words = "--headers", "--yes", "--job"
    mirrors = [start(*arguments(a, b, *words, "there")), start(*arguments(b, a, *words, "back"))]
    try:
        until(lambda: set(values(a, "t")) == set(values(b, "t")) == names("A", "B"))
        for number in range(5):
            a.append("t", 0, batch(b"later %d" % number))
        until(lambda: set(values(a, "t")) == set(values(b, "t")) and len(values(b, "t")) == 13)
        for mirror in mirrors:
            mirror.send_signal(signal.SIGINT)
        for mirror in mirrors:
            _, err = mirror.communicate(timeout=PATIENCE)
            assert mirror.returncode == 130, err
    finally:
        for mirror in mirrors:
            mirror.kill()
            mirror.communicate()
    assert len(values(a, "t")) == len(values(b, "t")) == 13


@pytest.mark.case("M16")
def test_without_headers_the_plan_says_that_records_go_round(clusters: dict[str, FakeCluster]) -> None:
    copy(clusters, "A>B", "--headers")
    warning = (
        "t → t: mirror job A>B has copied t of the target to t: its records are copied back unless --headers"
    )
    assert warning in mirrored(clusters["B"], clusters["A"], "--dry-run").err
    assert warning not in mirrored(clusters["B"], clusters["A"], "--dry-run", "--headers").err


@pytest.mark.case("M16")
def test_the_way_back_of_a_running_mirror_without_headers_is_refused(
    clusters: dict[str, FakeCluster],
) -> None:
    a, b = clusters["A"], clusters["B"]
    before = values(a, "t")
    mirror = start(*arguments(a, b, "--yes", "--job", "there"))
    try:
        until(lambda: set(values(b, "t")) >= set(before))
        for more in ((), ("--headers",)):
            done = mirrored(b, a, "--yes", *more)
            assert done.code == 7
            assert "mirror job there copies t of the target to t: an endless loop" in done.err
            assert "use --headers on both mirrors" in done.err
    finally:
        mirror.kill()
        mirror.communicate()
    assert values(a, "t") == before


@pytest.mark.case("M16")
def test_a_ring_of_three_clusters_ends_where_a_record_began(clusters: dict[str, FakeCluster]) -> None:
    for _ in range(4):
        for route in ("A>B", "B>C", "C>A"):
            copy(clusters, route, "--headers")
    for name in "ABC":
        found = values(clusters[name], "t")
        assert set(found) == names("A", "B", "C")
        assert len(found) == 12, name


@pytest.mark.case("M16", "M19")
def test_a_mirror_of_a_mirror_is_equal_to_the_first_source(
    clusters: dict[str, FakeCluster], delivery: tuple[str, ...]
) -> None:
    for route, rename in (("A>B", "t=a"), ("B>C", "a=a")):
        topic = rename.partition("=")[0]
        copy(clusters, route, "-t", topic, "--map-topic", rename, "--verify", *delivery)
    assert stored(clusters["C"], "a") == stored(clusters["A"], "t")


@pytest.mark.case("M16")
def test_each_origin_is_in_a_header_of_its_own(clusters: dict[str, FakeCluster]) -> None:
    copy(clusters, "A>B", "-t", "t", "--map-topic", "t=a", "--headers")
    copy(clusters, "B>C", "-t", "a", "--headers")
    (*_, last) = clusters["C"].log("a").records()
    assert last.value == b"A3"
    assert last.headers == (("kcli-origin", b"A/t/0/3"), ("kcli-origin", b"B/a/0/3"))


@pytest.mark.case("M16")
@pytest.mark.parametrize("pattern", ["*", "^.*", "__*", "^__.*|t"])
def test_a_pattern_selects_no_topic_that_belongs_to_the_cluster(
    clusters: dict[str, FakeCluster], pattern: str
) -> None:
    a, b = clusters["A"], clusters["B"]
    for name in INTERNAL:
        a.create_topic(name)
        a.append(name, 0, batch(b"state", key=b"k"))
    done = mirrored(a, b, "--yes", "-t", pattern)
    if pattern == "__*":
        assert done.code == 1, done
        assert done.errors[0]["what"] == "no topic is selected"
        assert "that this client may describe" in done.errors[0]["why"]
    else:
        assert done.code == 0, done
        assert {tp.topic for tp in done.rows} == {"t"}
    for name in INTERNAL[:3]:
        with pytest.raises(KeyError):
            b.log(name)


@pytest.mark.case("M16")
@pytest.mark.parametrize("name", INTERNAL)
def test_such_a_topic_is_refused_by_its_name(clusters: dict[str, FakeCluster], name: str) -> None:
    a, b = clusters["A"], clusters["B"]
    a.create_topic(name)
    done = mirrored(a, b, "-t", name)
    assert done.code == 2, done
    assert done.errors[0]["what"] == f"topic {name} is not copied"
    done = mirrored(a, b, "-t", "t", "--map-topic", f"t={name}")
    assert done.code == 2, done
    assert done.errors[0]["what"] == f"topic t cannot be copied to {name}"


@pytest.mark.case("M16")
def test_all_topics_in_both_directions_under_other_names_do_not_grow(
    clusters: dict[str, FakeCluster],
) -> None:
    """What a mirror has written is not sent back to the cluster from which it came."""
    for _ in range(3):
        copy(clusters, "A>B", "-t", "*", "--map-topic", r"^(.*)$=a.\1")
        copy(clusters, "B>A", "-t", "*", "--map-topic", r"^(.*)$=b.\1")
    for name, topics in (("A", {"t", "b.t"}), ("B", {"t", "a.t"})):
        done = command("topics", "list", "-b", clusters[name].bootstrap, "-o", "name")
        assert set(done.out.split()) - set(INTERNAL) == topics, name
        assert all(len(values(clusters[name], topic)) == 4 for topic in topics)


def write_job(cluster: FakeCluster, source: str, topics: dict[str, str]) -> None:
    """As a mirror does that writes to ``cluster`` and runs now."""
    now = int(time.time() * 1000)
    state = JobState(
        job="other", run="r", partitions="keep", source=source, target="", source_servers="", delivery="",
        topics=topics, started_ms=now, updated_ms=now, host="",
    )  # fmt: skip
    record = job_record(state)
    if not has(cluster, "__kcli_mirror"):
        cluster.create_topic("__kcli_mirror")
    cluster.append("__kcli_mirror", 0, batch(record.value, key=record.key))


def has(cluster: FakeCluster, topic: str) -> bool:
    try:
        cluster.log(topic)
    except KeyError:
        return False
    return True


@pytest.mark.case("M16")
def test_what_a_mirror_copies_the_other_way_later_is_not_copied_back(
    monkeypatch: pytest.MonkeyPatch, clusters: dict[str, FakeCluster]
) -> None:
    """A mirror that begins while this one runs, and creates topics on its source."""
    a, b = clusters["A"], clusters["B"]
    words = ("-t", "*", "--map-topic", r"^(.*)$=a.\1", "-o", "json", "-X", "metadata.max.age.ms=200")
    with running(monkeypatch, *arguments(a, b, *words)) as mirror:
        until(lambda: has(b, "a.t") and len(values(b, "a.t")) == 4)
        write_job(a, "B", {"w": "b.w", "a.back": "back"})
        for name in ("b.w", "back", "fine"):
            a.create_topic(name)
            a.append(name, 0, batch(name.encode()))
        until(lambda: has(b, "a.fine") and values(b, "a.fine") == [b"fine"])
        mirror.stop()
        done = mirror.done()
    assert not has(b, "a.b.w")
    assert not has(b, "a.back")
    assert not done.errors


@pytest.mark.case("M16")
def test_a_new_topic_that_a_running_mirror_copies_back_is_refused_once(
    monkeypatch: pytest.MonkeyPatch, clusters: dict[str, FakeCluster]
) -> None:
    a, b = clusters["A"], clusters["B"]
    with running(
        monkeypatch, *arguments(a, b, "-t", "*", "-o", "json", "--yes", "-X", "metadata.max.age.ms=200")
    ) as mirror:
        until(lambda: len(values(b, "t")) == 8)
        with instance_of(a, JobId("B", "other")):
            write_job(a, "B", {"back": "back"})
            for name in ("back", "fine", "later"):
                a.create_topic(name)
                a.append(name, 0, batch(name.encode()))
                if name != "back":
                    until(lambda name=name: has(b, name) and values(b, name) == [name.encode()])
        mirror.stop()
        (error,) = mirror.done().errors
    assert not has(b, "back")
    assert error["code"] == 6
    assert error["what"] == "topic back has been created since and is not copied"
    assert error["why"] == "mirror job other copies back of the target to back: an endless loop"


@pytest.mark.case("M16")
@pytest.mark.parametrize("place", ["topic", "file"])
def test_all_topics_within_one_cluster_under_other_names_are_copied_again_and_again(
    clusters: dict[str, FakeCluster], tmp_path: Path, place: str
) -> None:
    a = clusters["A"]
    more = ("--checkpoint", str(tmp_path / "job")) if place == "file" else ()
    for count in (4, 5):
        copy({"A": a}, "A>A", "-t", "*", "--map-topic", r"^(.*)$=copy.\1", *more)
        assert len(values(a, "copy.t")) == count
        a.append("t", 0, batch(b"later"))
    assert not has(a, "copy.copy.t")


@pytest.mark.case("M16")
def test_within_one_cluster_a_new_topic_is_copied_and_its_copy_is_not(
    monkeypatch: pytest.MonkeyPatch, clusters: dict[str, FakeCluster]
) -> None:
    a = clusters["A"]
    words = ("-t", "*", "--map-topic", r"^(.*)$=copy.\1", "-o", "json", "-X", "metadata.max.age.ms=200")
    with running(monkeypatch, *arguments(a, a, *words)) as mirror:
        until(lambda: has(a, "copy.t") and len(values(a, "copy.t")) == 4)
        for name in ("u", "v"):
            a.create_topic(name)
            a.append(name, 0, batch(name.encode()))
            until(lambda name=name: has(a, f"copy.{name}") and values(a, f"copy.{name}") == [name.encode()])
        mirror.stop()
        assert not mirror.done().errors
    assert not has(a, "copy.copy.u")


@pytest.mark.case("M16")
def test_within_one_cluster_a_topic_is_not_copied_to_itself_or_to_a_source(
    clusters: dict[str, FakeCluster],
) -> None:
    a = clusters["A"]
    for words in (["-t", "t"], ["-t", "*", "--map-topic", "u=t"]):
        a.create_topic("u") if "u=t" in words else None
        done = mirrored(a, a, "--yes", *words)
        assert done.code == 2, done
    assert len(values(a, "t")) == 4
