"""``--dry-run`` of every command changes nothing: no request that could is in the log of the cluster.

Commands are those of the command tree: a new one needs a line in ``test_every_option.py`` or ``test_read_only.py``.
"""

import json
import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from kcli.core.permissions import AclOperation
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcli.core.types import TopicPartition
from tests.cli.test_questions import LINES, MEMBER, World
from tests.cli.test_read_only import COMMANDS, line_of
from tests.committing import put
from tests.effects import CHANGES, CHANGES_UNLESS_CHECKED, CREATES_TOPICS, READS, changes
from tests.fake.codes import Code
from tests.fake.journal import Seen
from tests.fake.script import FOREVER
from tests.lines import NO_CLUSTER
from tests.protocol.tables import requests
from tests.run import Done

BETWEEN = "--from {broker} --to {broker} -t t --map-topic t=copy"
OWN_LINES = LINES | {
    "mirror accept-gap": "mirror accept-gap --all --to {broker}",
    "mirror promote": "mirror promote --from {broker} --to {broker}",
    "mirror check": "mirror check --from {broker} --to {broker}",
    "mirror reset": "mirror reset t --from {broker} --to {broker} --offset earliest",
    "mirror reverse": "mirror reverse --from {broker} --to {broker}",
    "mirror run": f"mirror run {BETWEEN} --sync-groups g --exactly-once --until-caught-up",
    "mirror status": "mirror status --to {broker}",
    "mirror verify": "mirror verify --from {broker} --to {broker} -t t --map-topic t=other",
    "perf consume": "perf consume -t t -g readers",
    "pipeline export": "pipeline export t {dir}/files --format ndjson --runner inline",
    "pipeline import": "pipeline import {dir}/exported --map-topic t=copy --runner inline --force",
    "pipeline mirror": f"pipeline mirror {BETWEEN} --runner inline",
    "pipeline perf": "pipeline perf -t t --num-records 1 --runner inline",
    "pipeline profile": "pipeline profile t --runner inline",
    "pipeline replay": "pipeline replay t --to other --runner inline --force",
    "pipeline verify": f"pipeline verify {BETWEEN} --repair --runner inline",
    "segments restore": "segments restore {dir}/gone-0 --to {broker}",
    "topics copy": "topics copy t made --config retention.ms=5",
    "topics create": "topics create made --partitions 2 --replication-factor 2 --config retention.ms=5",
}
OTHERWISE = (
    "configs alter brokers 1 default --set log.retention.ms=5",
    "configs alter groups g --set consumer.session.timeout.ms=50000",
    "consume t -e -g g",
    "consume t -e -g new -X group.protocol=consumer",
    "groups import {dir}/offsets.csv --group new --by offset",
    "groups rewind g --to earliest --all-topics",
    "groups rewind live --to earliest --live",
    "produce new {dir}/lines.txt --allow-auto-topic-creation",
    "produce t {dir}/lines.txt --transactional-id x",
    "produce t {dir}/lines.txt --transactional-id x --transaction-every 1 --checkpoint {dir}/checkpoint",
    "quotas alter --user a --unset request_percentage --set producer_byte_rate=5",
    "reassign run {dir}/moves.json --throttle 5MB/s",
    "topics alter t --partitions 20000",
    "topics create huge --partitions 20000",
    "topics create t --if-not-exists --partitions 3",
    "users set new --password-file {dir}/password --mechanism scram-sha-256 --allow-plaintext-secrets",
)
"""Further lines of commands that send different requests with other options."""
OTHER_CODES = {
    "acls check --principal User:a --operation read --topic t": 8,  # nothing allows it
    "cluster check": 8,  # a broker is fenced
    "cluster describe --log-dirs": 6,  # a broker is fenced
    "groups why g": 6,  # there is no topic of commits
    OWN_LINES["pipeline verify"]: 8,  # they differ
    OWN_LINES["mirror accept-gap"]: 1,  # there is no job: tests/fault/test_mirror_jobs.py
    OWN_LINES["mirror promote"]: 1,
    OWN_LINES["mirror check"]: 1,
    OWN_LINES["mirror reset"]: 1,
    OWN_LINES["mirror reverse"]: 1,
}
ONLY_READ = {
    "exporter": "reads until it is stopped",
    "pipeline query": "only reads: tests/pipeline/test_query_command.py",
    "query": "only reads: tests/pipeline/test_query_here.py",
    "top": "reads until it is stopped: tests/cli/test_top.py",
}
PATHS = sorted(COMMANDS.keys() - NO_CLUSTER - ONLY_READ.keys())
EVERY = [*(OWN_LINES.get(path, line_of(path)) for path in PATHS), *OTHERWISE]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr("kcli.commands.produce.run.TOPIC_PATIENCE", 0.1)
    with ExitStack() as stack:
        made = World(tmp_path, stack)
        made.cluster.settings.auto_create_topics = True
        yield made


@pytest.fixture
def old_world(world: World) -> World:
    """Kafka 3.1 with KRaft: it reports no features, and makes what it should only check."""
    world.cluster.settings.metadata_version = 0
    world.cluster.settings.honours_validate_only = False
    return world


def test_every_exception_is_a_command_that_changes_nothing() -> None:
    assert {COMMANDS[path].changes for path in ONLY_READ} == {False}


def test_each_api_is_in_one_table() -> None:
    tables = [CHANGES, CHANGES_UNLESS_CHECKED, CREATES_TOPICS, READS]
    assert sorted(one.api_name for one in requests()) == sorted(name for table in tables for name in table)
    checked = {one.api_name for one in requests() if "validate_only" in one.__annotations__}
    assert checked == CHANGES_UNLESS_CHECKED


def dry_run(world: World, line: str) -> tuple[Done, list[Seen]]:
    path = next(path for path in sorted(COMMANDS, key=len, reverse=True) if line.startswith(path))
    world.prepare("groups remove-members" if "live" in line else path)
    world.prepare("users set")
    if path == "pipeline import":
        done = world.run("pipeline export t {dir}/exported --format ndjson --runner inline")
        assert done.code == 0, done.err
    since = len(world.cluster.requests)
    words = shlex.split(line.format(dir=world.folder, broker=world.cluster.bootstrap))
    done = world.run("", *words, "--dry-run")
    return done, [one for one in world.cluster.requests[since:] if one.client_id != MEMBER]


def content(world: World) -> Any:
    topics = world.cluster._state.topics.by_name.values()
    return [(topic.name, len(topic.partitions), dict(topic.configs)) for topic in topics]


@pytest.mark.parametrize("line", EVERY)
def test_a_dry_run_sends_nothing_that_could_change_the_cluster(world: World, line: str) -> None:
    done, seen = dry_run(world, line)
    assert done.code == OTHER_CODES.get(line, 0), done.err
    assert changes(seen) == []


@pytest.mark.parametrize("line", EVERY)
def test_nothing_is_checked_by_a_broker_that_may_not_honour_validate_only(
    old_world: World, line: str
) -> None:
    before = content(old_world)
    done, seen = dry_run(old_world, line)
    assert done.code == OTHER_CODES.get(line, 0), done.err
    assert changes(seen) == []
    assert not [one.api for one in seen if getattr(one.request, "validate_only", False)]
    assert content(old_world) == before


CHECKED = [
    "configs alter topics t --set retention.ms=5",
    "configs alter brokers 1 default --set log.retention.ms=5",
    "quotas alter --user a --set request_percentage=5",
    "topics alter t --partitions 5",
    "topics alter t --set retention.ms=5 --partitions 5",
    "topics create made",
    "topics create made new --partitions 3",
]
UNCHECKED = "not checked by the broker: it is not known to honour validateOnly"


@pytest.mark.parametrize("line", CHECKED)
def test_the_plan_says_what_no_broker_has_checked(old_world: World, line: str) -> None:
    shown = dry_run(old_world, line)[0]
    assert (shown.out + shown.err).count(UNCHECKED) == 1
    (warning,) = json.loads(dry_run(old_world, f"{line} -o json")[0].out)["warnings"]
    assert warning.startswith(UNCHECKED)


@pytest.mark.parametrize("line", CHECKED)
def test_a_broker_that_honours_validate_only_is_asked(world: World, line: str) -> None:
    shown, seen = dry_run(world, line)
    assert [one for one in seen if getattr(one.request, "validate_only", False)]
    assert "not checked" not in shown.out + shown.err


@pytest.mark.parametrize("line", [line for line in CHECKED if not line.startswith("topics create")])
def test_a_question_is_preceded_by_no_change(old_world: World, line: str) -> None:
    """The check before it is a request with validateOnly."""
    before = content(old_world)
    asked = old_world.run(line)
    assert (asked.code, UNCHECKED in asked.err, content(old_world)) == (2, True, before)
    assert old_world.run(line, "--yes").code == 0


@pytest.mark.parametrize(
    ("line", "code", "why"),
    [
        ("topics create t", 7, "TOPIC_ALREADY_EXISTS"),
        ("topics create t --if-not-exists --partitions 5", 7, "partitions 3, not 5"),
        ("topics create a.b", 1, "its metrics would be those of topic a_b"),
        ("topics create made --replication-factor 5", 1, "the cluster has 4 brokers"),
        ("topics alter t --partitions 2", 7, "it cannot have 2"),
        ("topics alter t --set retention.ms=x", 2, "x is no long for retention.ms"),
        ("configs alter topics t --set retention.mss=5", 2, "no configuration key 'retention.mss'"),
    ],
)
def test_what_metadata_shows_is_refused_with_the_code_of_the_broker(
    world: World, line: str, code: int, why: str
) -> None:
    world.cluster.create_topic("a_b")
    by_broker = dry_run(world, line)[0]
    world.cluster.settings.metadata_version = 0
    found = dry_run(world, line)[0]
    assert (by_broker.code, found.code, why in found.err) == (code, code, True), found.err


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("retention.mss=5", "there is no key retention.mss"),
        ("retention.ms=x", "x is no long for retention.ms"),
    ],
)
def test_the_configuration_of_a_new_topic_is_compared_with_that_of_others(
    old_world: World, config: str, why: str
) -> None:
    done = dry_run(old_world, f"topics create made --config {config}")[0]
    assert (done.code, f"INVALID_CONFIG (40): {why}" in done.err) == (2, True), done.err


@pytest.mark.parametrize("line", [*CHECKED, "topics create huge --partitions 20000"])
def test_a_missing_permission_is_seen_without_the_broker_s_check(old_world: World, line: str) -> None:
    settings = old_world.cluster.settings
    settings.topic_operations = settings.cluster_operations = 1 << AclOperation.DESCRIBE
    done = dry_run(old_world, line)[0]
    assert done.code == 4, done.err
    assert "AUTHORIZATION_FAILED" in done.err


@pytest.mark.parametrize(
    ("line", "api", "lacks"),
    [
        ("produce t {dir}/lines.txt", "Produce", "WRITE permission on topic t"),
        ("perf produce -t t --num-records 1", "Produce", "WRITE permission on topic t"),
        ("perf e2e -t t --num-records 1", "Produce", "WRITE permission on topic t"),
        ("consume t -e", "Fetch", "READ permission on topic t"),
        ("consume t -e --tail 1", "Fetch", "READ permission on topic t"),
        ("perf consume -t t --num-records 1", "Fetch", "READ permission on topic t"),
    ],
)
def test_what_a_stream_would_be_refused_is_the_code_of_its_dry_run(
    world: World, line: str, api: str, lacks: str
) -> None:
    world.cluster.settings.topic_operations = 1 << AclOperation.DESCRIBE
    dry = dry_run(world, line)[0]
    request = next(one for one in requests() if one.api_name == api)
    world.cluster.fail(request, Code.TOPIC_AUTHORIZATION_FAILED, times=FOREVER)
    done = world.run("", *shlex.split(line.format(dir=world.folder)), "--yes")
    assert (dry.code, done.code) == (4, 4), dry.err + done.err
    assert lacks in dry.err


def test_a_topic_that_may_not_be_read_is_missing_beside_others_as_in_the_act(world: World) -> None:
    def deny(request: MetadataRequest, answer: MetadataResponse) -> None:
        for topic in answer.topics if request.include_topic_authorized_operations else ():
            if topic.name == "other":
                topic.topic_authorized_operations = 1 << AclOperation.DESCRIBE

    put(world.cluster, "other", 0)
    world.cluster.replace(MetadataRequest, deny, times=FOREVER)
    fetch = next(one for one in requests() if one.api_name == "Fetch")
    tp = TopicPartition("other", 0)
    world.cluster.fail(fetch, Code.TOPIC_AUTHORIZATION_FAILED, where=tp, times=FOREVER)
    dry, act = (world.run("consume t other -e", *more) for more in (["--dry-run"], []))
    assert (dry.code, act.code) == (6, 6), dry.err + act.err
    for done in (dry, act):
        assert "no READ permission on topic other" in done.err
    assert "t-0: from 0" in dry.out
    assert "other-0" not in dry.out


@pytest.mark.parametrize(("creates", "code"), [(True, 0), (False, 1)])
def test_a_dry_run_of_produce_knows_whether_brokers_would_create_the_topic(
    world: World, creates: bool, code: int
) -> None:
    world.cluster.settings.auto_create_topics = creates
    done = dry_run(world, "produce new {dir}/lines.txt --allow-auto-topic-creation")[0]
    assert (done.code, "the brokers would create it" in done.err) == (code, creates)
