"""Groups and topics of kcli's own: left out wherever all are meant, shown when they are named, changed by name only."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kcli.core import Admin
from kcli.core.hooks import NO_HOOKS
from kcli.core.names import (
    CHECKPOINTS,
    IMPORTS,
    MIRRORS,
    REPLAYS,
    STATE_TOPIC,
    is_own_group,
    is_own_topic,
    means_own_groups,
    own_group_note,
    own_topic_purpose,
)
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.lag.sample import Wanted, take_sample
from kcli.flows.monitor.cluster_reading import View
from kcli.flows.monitor.latencies import Latencies
from kcli.flows.monitor.monitor import Monitor
from kcli.flows.monitor.topic_lines import topic_lines
from tests.committing import commit, committed
from tests.fake.cluster import FakeCluster
from tests.run import kcli, kcli_process

GROUPS = (
    f"{CHECKPOINTS}t1",
    f"{IMPORTS}load.QxSource",
    f"{MIRRORS}default.QxSource",
    f"{MIRRORS}default.QxSource.ended",
    f"{REPLAYS}redrive",
    "__kcli.later.job",
)
TOPICS = (STATE_TOPIC, "__kcli_later")
OWN = (*GROUPS, *TOPICS)
T0 = TopicPartition("one", 0)


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    """Nothing below changes it."""
    with FakeCluster(1, topics={"one": 1, **dict.fromkeys(TOPICS, 1)}) as made:
        for group in ("billing", *GROUPS):
            commit(made, group, {T0: OffsetAndMetadata(0)})
        yield made


@pytest.fixture
def changeable() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"one": 1, STATE_TOPIC: 1}) as made:
        yield made


# --- the rule ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_of_kclis_own_is_known_by_its_name_and_says_what_it_is(name: str) -> None:
    assert is_own_group(name)
    assert not is_own_topic(name)
    assert (own_group_note(name) or "").startswith("not a consumer group: stores the ")


@pytest.mark.parametrize(
    "name", ["billing", "kcli", "kcli-produce", "__kcli", "_kcli.x", "x__kcli.import.y", ""]
)
def test_other_groups_are_not(name: str) -> None:
    assert (is_own_group(name), own_group_note(name)) == (False, None)


@pytest.mark.parametrize("name", TOPICS)
def test_a_topic_of_kclis_own_is_known_by_its_name(name: str) -> None:
    assert is_own_topic(name)
    assert own_topic_purpose(name)


@pytest.mark.parametrize("name", ["__consumer_offsets", "__kcli", "kcli_mirror", "one"])
def test_other_topics_are_not(name: str) -> None:
    assert (is_own_topic(name), own_topic_purpose(name)) == (False, None)


@pytest.mark.parametrize(
    ("glob", "own"),
    [
        ("kcli-produce*", True),
        ("__kcli.import.*", True),
        ("__kcli*", True),
        ("*", False),
        ("_*", False),
        (None, False),
    ],
)
def test_a_pattern_that_can_match_no_other_groups_asks_for_them(glob: str | None, own: bool) -> None:
    assert means_own_groups(glob) == own


# --- where all are meant ----------------------------------------------------------------------------------


def command(*line: str) -> Callable[[FakeCluster], str]:
    """What it prints, on both streams. It has something to say of others."""

    def run(cluster: FakeCluster) -> str:
        done = (kcli_process if line[0] == "__complete" else kcli)(*line, bootstrap=cluster.bootstrap)
        text = (done.stdout + done.stderr).decode()
        assert "billing" in text or "one" in text, (done.returncode, text)
        return text

    return run


def monitored(cluster: FakeCluster) -> str:
    """What top and the exporter show."""
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        view = View(topics=True, brokers=True, all_timed=True)
        reading = Monitor(admin, Latencies(NO_HOOKS), Wanted()).read(view)
    lines = topic_lines(reading, {}, {})
    return " ".join([*(one.group for one in reading.sample.groups), *(line.topic for line in lines)])


def sampled(cluster: FakeCluster) -> str:
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        return " ".join(
            one.group for one in take_sample(admin, Wanted(accepts_group=lambda _name: True)).groups
        )


SURFACES: dict[str, Callable[[FakeCluster], str]] = {
    "list": command("groups", "list"),
    "list --match": command("groups", "list", "--match", "*"),
    "list --topic": command("groups", "list", "--topic", "one"),
    "list --sort lag": command("groups", "list", "--sort", "lag"),
    "lag": command("groups", "lag"),
    "lag --match": command("groups", "lag", "--match", "*"),
    "lag --by partition": command("groups", "lag", "--by", "partition", "-o", "json"),
    "lag -o openmetrics": command("groups", "lag", "-o", "openmetrics"),
    "describe --all": command("groups", "describe", "--all"),
    "describe --match": command("groups", "describe", "--match", "*", "--state"),
    "export --all": command("groups", "export", "--all"),
    "export --all ndjson": command("groups", "export", "--all", "--format", "ndjson"),
    "rewind --all-groups": command(
        "groups", "rewind", "--all-groups", "--all-topics", "--to", "earliest", "--dry-run"
    ),
    "delete --match": command("groups", "delete", "--match", "*", "--dry-run"),
    "complete groups": command("__complete", "groups", "zsh", "", "kcli", "groups", "lag"),
    "topics list": command("topics", "list"),
    "topics offsets": command("topics", "offsets"),
    "topics list --match": command("topics", "list", "--match", "*"),
    "complete topics": command("__complete", "topics", "zsh", "", "kcli", "consume"),
    "consume ^regex": command("consume", "^.*", "-e", "-v", "--dry-run"),
    "monitor": monitored,
    "sample": sampled,
}
_seen: dict[tuple[int, str], str] = {}


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("surface", SURFACES)
def test_they_are_left_out_where_all_are_meant(
    surface: str, name: str, cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    key = (id(cluster), surface)
    if key not in _seen:
        _seen[key] = SURFACES[surface](cluster)
    assert name not in _seen[key]


WITH_INTERNAL = {
    "list": ("groups", "list", "--internal"),
    "describe": ("groups", "describe", "--all", "--internal"),
    "export": ("groups", "export", "--all", "--internal"),
    "lag": ("groups", "lag", "--internal"),
    "topics": ("topics", "list", "--internal"),
}


@pytest.mark.parametrize("surface", WITH_INTERNAL)
def test_internal_shows_them(surface: str, cluster: FakeCluster) -> None:
    text = kcli(*WITH_INTERNAL[surface], bootstrap=cluster.bootstrap).stdout.decode()
    names = TOPICS if surface == "topics" else GROUPS[1:] if surface == "lag" else GROUPS
    assert [name for name in names if name not in text] == []


@pytest.mark.parametrize("name", GROUPS)
def test_a_named_group_is_shown_with_what_it_is(name: str, cluster: FakeCluster) -> None:
    for line in (("groups", "describe", name), ("groups", "lag", name)):
        done = kcli(*line, bootstrap=cluster.bootstrap)
        assert own_group_note(name) in done.stderr.decode()
    done = kcli("groups", "export", name, bootstrap=cluster.bootstrap)
    assert done.stdout == b"one,0,0\n"


@pytest.mark.parametrize("line", [("list",), ("describe", "--all"), ("list", "--match", "*")], ids=" ".join)
def test_where_there_are_no_others_a_list_says_so(line: tuple[str, ...], changeable: FakeCluster) -> None:
    commit(changeable, GROUPS[1], {T0: OffsetAndMetadata(0)})
    done = kcli("groups", *line, bootstrap=changeable.bootstrap)
    assert b" but kcli's own, or none that this client may describe" in done.stderr


# --- changes ----------------------------------------------------------------------------------------------

CHANGES = {
    "rewind": ("groups", "rewind", "NAME", "--all-topics", "--to", "0"),
    "import": ("groups", "import", "FILE", "--group", "NAME"),
    "copy": ("groups", "copy", "billing", "NAME"),
    "delete": ("groups", "delete", "NAME"),
    "delete --match": ("groups", "delete", "--match", "NAME"),
    "delete-offsets": ("groups", "delete-offsets", "NAME", "-t", "one"),
    "consume -g": ("consume", "one", "-e", "-g", "NAME"),
    "configs alter": ("configs", "alter", "groups", "NAME", "--set", "consumer.session.timeout.ms=50000"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", GROUPS)
def test_a_change_of_a_group_wants_its_name(
    name: str, change: str, changeable: FakeCluster, tmp_path: Path
) -> None:
    """``--yes`` is not enough; --confirm NAME is."""
    file = tmp_path / "offsets.csv"
    file.write_text("one,0,0\n")
    before = {T0: OffsetAndMetadata(7)}
    commit(changeable, name, before)
    commit(changeable, "billing", {T0: OffsetAndMetadata(0)})
    line = [{"NAME": name, "FILE": str(file)}.get(word, word) for word in CHANGES[change]]
    done = kcli(*line, "--yes", bootstrap=changeable.bootstrap)
    said = done.stderr.decode()
    assert done.returncode == 2, said
    assert f"{name} is kcli's own and {own_group_note(name)}" in said
    assert f"do: give --confirm {name}" in said
    assert committed(changeable, name)[T0].offset == 7
    if name == GROUPS[1]:
        done = kcli(*line, "--confirm", name, bootstrap=changeable.bootstrap)
        assert done.returncode == 0 if change != "consume -g" else done.returncode in (0, 5), done.stderr


@pytest.mark.parametrize("change", ["rewind", "import", "copy", "delete", "delete-offsets", "configs alter"])
def test_the_plan_of_a_dry_run_says_what_a_group_is(
    change: str, changeable: FakeCluster, tmp_path: Path
) -> None:
    file = tmp_path / "offsets.csv"
    file.write_text("one,0,0\n")
    for name in (GROUPS[1], "billing"):
        commit(changeable, name, {T0: OffsetAndMetadata(7)})
    line = [{"NAME": GROUPS[1], "FILE": str(file)}.get(word, word) for word in CHANGES[change]]
    if change == "copy":
        commit(changeable, "billing", {T0: OffsetAndMetadata(0)})
    done = kcli(*line, "--dry-run", bootstrap=changeable.bootstrap)
    assert done.returncode == 0, done.stderr
    assert f"{GROUPS[1]} is kcli's own and {own_group_note(GROUPS[1])}" in done.stdout.decode()


def test_the_positions_of_a_job_are_not_translated_as_those_of_a_group(changeable: FakeCluster) -> None:
    at = changeable.bootstrap
    line = ("mirror", "--from", at, "--to", at, "-t", "one", "--map-topic", "one=two", "--sync-groups")
    done = kcli(*line, GROUPS[1], "--until-caught-up", "--yes", bootstrap=at)
    assert done.returncode == 2
    assert f"it is {own_group_note(GROUPS[1])}" in done.stderr.decode()
    with Admin(bootstrap_servers=at) as admin:
        assert "two" not in {topic.name for topic in admin.list_topics()}


def test_several_groups_are_not_changed_with_one_of_kclis_own_among_them(changeable: FakeCluster) -> None:
    for name in ("billing", GROUPS[1]):
        commit(changeable, name, {T0: OffsetAndMetadata(7)})
    line = ("groups", "rewind", "billing", GROUPS[1], "--all-topics", "--to", "0", "--yes")
    done = kcli(*line, bootstrap=changeable.bootstrap)
    assert done.returncode == 2
    assert f"do: leave out {GROUPS[1]}, or change it alone" in done.stderr.decode()
    assert committed(changeable, "billing")[T0].offset == 7


@pytest.mark.parametrize(
    "line",
    [
        ("topics", "delete", STATE_TOPIC),
        ("topics", "alter", STATE_TOPIC, "--set", "retention.ms=1000"),
        ("configs", "alter", "topics", STATE_TOPIC, "--set", "retention.ms=1000"),
        ("produce", STATE_TOPIC),
    ],
    ids=" ".join,
)
def test_a_change_of_a_topic_wants_its_name(line: tuple[str, ...], changeable: FakeCluster) -> None:
    done = kcli(*line, "--yes", bootstrap=changeable.bootstrap, stdin=b"x\n")
    said = done.stderr.decode()
    assert done.returncode == 2, said
    assert own_topic_purpose(STATE_TOPIC) in said
    assert f"do: give --confirm {STATE_TOPIC}" in said


def test_the_plan_of_a_dry_run_says_what_a_topic_is(changeable: FakeCluster) -> None:
    line = ("topics", "alter", STATE_TOPIC, "--set", "retention.ms=1000", "--dry-run")
    done = kcli(*line, bootstrap=changeable.bootstrap)
    assert own_topic_purpose(STATE_TOPIC) in done.stdout.decode()


def test_a_topic_of_kclis_own_is_internal_in_json(cluster: FakeCluster) -> None:
    done = kcli("topics", "list", "--internal", "-o", "json", bootstrap=cluster.bootstrap)
    found = {row["name"]: row["internal"] for row in json.loads(done.stdout)["items"]}
    assert found == {"one": False, **dict.fromkeys(TOPICS, True)}
