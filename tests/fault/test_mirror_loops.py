"""Mirrors in both directions, in a ring, of a mirror: nothing goes round, and what clusters keep for themselves stays."""

import signal
from collections.abc import Iterator

import pytest

from tests.command import start
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.mirror_command import Done, arguments, command, mirrored, stored, until, values
from tests.fault.producing import PATIENCE

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


@pytest.fixture(params=[(), ("--exactly-once",)], ids=["at least once", "exactly once"])
def delivery(request: pytest.FixtureRequest) -> tuple[str, ...]:
    found: tuple[str, ...] = request.param
    return found


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
    mirrors = [start(*arguments(a, b), *words, "there"), start(*arguments(b, a), *words, "back")]
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
    copy(clusters, "A>B")
    warning = "t → t: job A>B copies t to t: records go round without --headers"
    assert warning in mirrored(clusters["B"], clusters["A"], "--dry-run").err
    assert warning not in mirrored(clusters["B"], clusters["A"], "--dry-run", "--headers").err


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
