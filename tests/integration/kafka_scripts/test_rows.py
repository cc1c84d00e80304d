"""Each row of the page on a real broker: kcli says what the script says, or changes what the script changes."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.commands.registry import BY_FLAGS, CHANGES, ROWS
from tests.integration.kafka_scripts.page import Row, rows
from tests.integration.kafka_scripts.scripts import shared
from tests.integration.kafka_scripts.test_options import command_of
from tests.integration.kafka_scripts.world import GROUP, TOPICS, World
from tests.kafka import QUICK_JVM, TEST_PROPERTIES, sandboxed

pytestmark = [pytest.mark.integration, pytest.mark.long]
AUTHORIZED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "allow.everyone.if.no.acl.found": "true",
    # A consumer that is still being closed would create a topic again that was deleted for the next row.
    "auto.create.topics.enable": "false",
}
INPUT = b"a:1\nb:2\n"
WITH_TABS = b"a\t1\nb\t2\n"
NO_OUTPUT = "org.apache.kafka.tools.consumer.NoOpMessageFormatter"
OFFSETS = "org.apache.kafka.tools.consumer.OffsetsMessageFormatter"
WITH_HEADERS = b"h:1;a\nh:2;b\n"
NAMES = {*TOPICS, GROUP}

NO_CHANGE = {"--dry-run", "--to-current", "--if-not-exists", "--if-exists", "--election-type"}
"""Options of lines that change nothing in this world."""

_CLUSTER = "a cluster of its own: tests/integration/test_cluster_scripts.py"
_STREAMS = (
    "an application of Kafka Streams: tests/integration/test_reset_app.py, test_share_and_streams_groups.py"
)
DIFFERS = {"--generate-name", "--idempotent", "--all-groups"}
"""Options of lines whose result is another one, as the page says: a name is made up, an ACL less, groups of all types."""

ELSEWHERE = {
    "kafka-delegation-tokens": "brokers give tokens to authenticated clients: tests/integration/test_token_commands.py",
    "kafka-streams-groups": _STREAMS,
    "kafka-streams-application-reset": _STREAMS,
    "kafka-reassign-partitions": "three brokers: tests/integration/test_reassign_command.py",
    "kafka-metadata-quorum": _CLUSTER,
    "kafka-features": _CLUSTER,
    "kafka-cluster": _CLUSTER,
    "kafka-broker-api-versions": _CLUSTER,
    "kafka-dump-log": "files of a broker: tests/integration/test_segments_command.py",
}
"""Scripts whose rows need something else: the test that runs them beside the script."""
COMMANDS_ELSEWHERE = {
    "users set": "a connection with TLS: tests/integration/test_access_commands.py",
    "txn abort": "a transaction that hangs: tests/integration/test_hanging_transactions.py",
    "txn describe": "a transactional id: tests/integration/test_txn_command.py",
    "topics who": "an open transaction: tests/integration/test_txn_command.py",
    "brokers move-log-dir": "two log directories: tests/integration/test_drain_under_load.py",
}
"""Likewise, by the command of a row."""


def is_run_here(row: Row) -> bool:
    return (
        bool(row.kcli)
        and row.script not in ELSEWHERE
        and command_of(list(row.kcli)) not in COMMANDS_ELSEWHERE
    )


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with sandboxed(extra={**TEST_PROPERTIES, **AUTHORIZED}, jvm_options=QUICK_JVM) as kafka:
        yield World(kafka, shared(), tmp_path_factory.mktemp("files"))


def test_the_tests_that_run_other_rows_are_there() -> None:
    named = re.findall(r"test_\w+\.py", " ".join((*ELSEWHERE.values(), *COMMANDS_ELSEWHERE.values())))
    assert [name for name in named if not (Path(__file__).parents[1] / name).exists()] == []


@pytest.mark.parametrize("row", list(filter(is_run_here, rows())), ids=str)
def test_row(world: World, row: Row) -> None:
    world.begin()
    if row.kcli[0] == "consume":
        same_records(world, row)
    elif row.kcli[0] == "produce":
        same_records_stored(world, row)
    elif row.kcli[0] == "perf":
        same_figures(world, row)
    elif ROWS[command_of(list(row.kcli))][1] in (CHANGES, BY_FLAGS):
        same_after(world, row)
    elif row.script == "kafka-log-dirs":
        same_sizes(world, row)
    else:
        same_words(world, row)


def same_records(world: World, row: Row) -> None:
    theirs = world.script(row.script, row.words)
    world.changed()
    world.begin()
    ours = world.kcli(row.kcli)
    assert ours.code == 0, ours.err
    told = [line for line in theirs.out.splitlines() if not line.startswith("Option --")]
    if NO_OUTPUT in row.words:
        assert told == []
    elif OFFSETS in row.words:
        assert GROUP in ours.out
        assert GROUP in theirs.out
    else:
        assert records(ours.out) == records("\n".join(told))
    world.changed()


def records(text: str) -> list[str]:
    """In any order, since partitions have none among them."""
    return sorted(re.split(r"[\n;]", text.strip("\n;")))


def same_after(world: World, row: Row) -> None:
    """Whatever both have changed is the same, and something has changed unless the row says so."""
    before = world.state()
    theirs = world.script(row.script, row.words)
    found = world.state()
    world.changed()
    world.begin()
    ours = world.kcli(row.kcli)
    world.changed()
    assert ours.code == 0, ours.err
    if "the script refuses it" in row.differs:
        assert theirs.status != 0
        assert world.state() != found
        return
    if DIFFERS & {*row.words}:
        assert row.differs
        assert world.state() != before
        return
    assert world.state() == found, theirs.out + theirs.err
    assert (found == before) == bool(NO_CHANGE & {*row.words}), theirs.out + theirs.err


def same_records_stored(world: World, row: Row) -> None:
    """Both have stored the same records of the same input, whatever the partitions of those without keys."""
    before = world.records("orders")
    by_tab = "parse.key=true" in row.words and "key.separator=:" not in row.words
    given = WITH_HEADERS if "parse.headers=true" in row.words else WITH_TABS if by_tab else INPUT
    theirs = world.script(row.script, row.words, given)
    stored = world.records("orders")
    world.changed()
    world.begin()
    ours = world.kcli(row.kcli, given)
    world.changed()
    assert ours.code == 0, ours.err
    assert world.records("orders") == stored, theirs.err
    assert len(stored) == len(before) + given.count(b"\n"), theirs.err


def same_figures(world: World, row: Row) -> None:
    theirs = world.script(row.script, row.words)
    world.changed()
    world.begin()
    ours = world.kcli(row.kcli)
    world.changed()
    # Nothing is written meanwhile: kcli says that the records did not come, the script does not.
    assert (theirs.status, ours.code) == (0, int("--from-latest" in row.words)), theirs.err + ours.err
    if "kafka" in row.kcli and not {"--from-latest", "--show-detailed-stats"} & {*row.words}:
        assert len(ours.out.splitlines()) >= 1
        assert re.sub(r"[\d.:, -]+", "#", ours.out.splitlines()[-1]) == re.sub(
            r"[\d.:, -]+", "#", theirs.out.splitlines()[-1]
        )


def same_sizes(world: World, row: Row) -> None:
    """kcli adds up what the script says of each partition."""
    theirs = world.script(row.script, row.words)
    ours = world.kcli(row.kcli)
    assert ours.code == 0, ours.err
    sizes = [int(size) for size in re.findall(r'"size":(\d+)', theirs.out)]
    assert sizes
    assert str(sum(sizes)) in words(ours.out), theirs.out + ours.out


def same_words(world: World, row: Row) -> None:
    """Each name and number of the script's table is in kcli's, too."""
    theirs = world.script(row.script, row.words)
    ours = world.kcli(row.kcli)
    assert (theirs.status, ours.code) == (0, 0), theirs.err + ours.err
    missing = words(theirs.out) - words(ours.out)
    assert not missing, f"{sorted(missing)}\n{theirs.out}\n{theirs.err}\n{ours.out}"


def words(text: str) -> set[str]:
    """Names and numbers, without labels and headings."""
    found = re.findall(r"[^\s,=:()\[\]{}\"|]+", text)
    return {word for word in found if any(map(str.isdigit, word)) or word in NAMES}
