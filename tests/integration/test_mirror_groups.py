"""Committed offsets, translated by ``kcli mirror --sync-groups`` and judged record by record on a real Kafka."""

import json
import random
from bisect import bisect_left
from contextlib import closing
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer as Judge
from confluent_kafka.admin import AdminClient

from tests.integration.mirroring import (
    COMPACTED,
    PATIENCE,
    Content,
    Offsets,
    Place,
    commit,
    committed,
    contents,
    judged,
    mirror,
    numbered,
    wait_until_compacted,
    write,
    write_in_transactions,
    write_to_be_compacted,
)
from tests.kafka import Kafka
from tests.run import kcli_process, ok

PARTITIONS = 10
GROUPS = 50
START = 7  # the offset at which the mirrors begin
MODES = pytest.mark.parametrize("mode", [(), ("--exactly-once",)], ids=["at least once", "exactly once"])


class Log(NamedTuple):
    """A partition as the judge reads it: its committed records, and the end of the log."""

    records: list[Content]
    end: int

    def index(self, offset: int) -> int:
        """The index of the first record at or after ``offset``."""
        return bisect_left(self.records, offset, key=lambda record: record.offset)


def logs(kafka: Kafka, topic: str) -> list[Log]:
    options = {"bootstrap.servers": kafka.bootstrap, "group.id": "judge", "isolation.level": "read_committed"}
    with closing(Judge(options)) as judge:
        return [
            Log(records, judge.get_watermark_offsets(Place(topic, partition), timeout=PATIENCE)[1])
            for partition, records in judged(kafka, topic).items()
        ]


def lags(kafka: Kafka, group: str, topics: tuple[str, ...]) -> list[int]:
    """As ``kcli groups lag`` reports them."""
    out = ok(kcli_process("groups", "lag", group, "-o", "json", bootstrap=kafka.bootstrap))
    rows = [row for row in json.loads(out)["items"] if row["topic"] in topics]
    return [row["lag_records"] for row in rows if row["committed"] is not None]


def synced_by(
    kafka: Kafka, *arguments: str
) -> tuple[dict[tuple[str, str | None, int | None], dict[str, Any]], str]:
    """The offsets in the report of a mirror that cannot set all of them, and its stderr."""
    at = kafka.bootstrap
    done = kcli_process("mirror", "--from", at, "--to", at, "--yes", "-o", "json", *arguments)
    groups = json.loads(ok(done, [6]))["groups"]
    return {(row["group"], row["topic"], row["partition"]): row for row in groups}, done.stderr.decode()


@pytest.fixture(scope="module")
def sources(kafka: Kafka) -> tuple[str, str]:
    """A compacted topic, which is compacted no more, and one of transactions; tests write to the second one."""
    compacted = kafka.topic("compacted", partitions=PARTITIONS, config=COMPACTED)
    write_to_be_compacted(kafka, compacted, PARTITIONS, 6)
    transactional = kafka.topic("transactional", partitions=PARTITIONS)
    write_in_transactions(kafka, transactional, PARTITIONS, 20)
    wait_until_compacted(kafka, compacted)
    return compacted, transactional


@MODES
@pytest.mark.case("M14", "M20", "R9")
def test_a_thousand_random_offsets_are_exact_or_unknown(
    kafka: Kafka, sources: tuple[str, str], mode: tuple[str, ...]
) -> None:
    """The mirror is started three times; the source is written to in between."""
    copies = {topic: f"{topic}-copy{len(mode)}" for topic in sources}
    arguments = [*mode, "--until-caught-up", "--offset", f"{START}:", "--job", f"to-copy{len(mode)}"]
    for topic, copy in copies.items():
        arguments += ["-t", topic, "--map-topic", f"{topic}={copy}"]
    mirror(kafka, kafka, *arguments)
    write_in_transactions(kafka, sources[1], PARTITIONS, 10, first=5_000, name=f"{len(mode)}-")

    here = {topic: logs(kafka, topic) for topic in sources}
    choose = random.Random(len(mode))
    wanted: dict[str, Offsets] = {
        kafka.unused_name("group"): {
            (topic, partition): choose.randint(0, found[partition].end + 5)
            for topic, found in here.items()
            for partition in range(PARTITIONS)
        }
        for _ in range(GROUPS)
    }
    assert sum(map(len, wanted.values())) == 1_000
    commit(kafka, wanted)
    named = [part for group in wanted for part in ("--sync-groups", group)]
    rows, text = synced_by(kafka, *arguments, *named)

    there = {copy: logs(kafka, copy) for copy in copies.values()}
    for topic, copy in copies.items():
        kept = {p: log.records[log.index(START) :] for p, log in enumerate(here[topic])}
        assert contents(kept) == contents({p: log.records for p, log in enumerate(there[copy])})
    unknown = 0
    synced: dict[str, Offsets] = {}
    for group, offsets in wanted.items():
        synced[group] = committed(kafka, group, tuple(copies.values()))
        for (topic, partition), offset in offsets.items():
            translated = synced[group].get((copies[topic], partition))
            source, target = here[topic][partition], there[copies[topic]][partition]
            if not START <= offset <= source.end:
                assert translated is None
                row = rows.pop((group, topic, partition))
                assert (row["status"], row["source_offset"], row["target_offset"]) == (
                    "refused" if offset < START else "missing",
                    offset,
                    None,
                )
                unknown += 1
                continue
            assert translated is not None, (group, topic, partition, offset)
            assert translated <= target.end
            assert source.index(offset) - source.index(START) == target.index(translated)
            if source.index(offset) < len(
                source.records
            ):  # the offset of the record itself, not one before it
                assert target.records[target.index(translated)].offset == translated
    assert 10 < unknown < 200
    assert {row["status"] for row in rows.values()} == {"done"}
    assert len(rows) == 1_000 - unknown
    assert f"{1_000 - unknown} of 1,000 committed offsets set" in text

    for group in list(wanted)[:3]:
        found = lags(kafka, group, tuple(copies.values()))
        assert len(found) == len(synced[group])
        assert all(0 <= lag <= 500 for lag in found)

    # offsets that others have committed on the target, further and not so far: the mirror is started again
    group, other, rewound = list(wanted)[:3]
    ahead = {place: there[place[0]][place[1]].end for place in synced[group]}
    behind = dict.fromkeys(synced[other], 0)
    commit(kafka, {group: ahead, other: behind})
    # and one that was rewound on the source
    commit(kafka, {rewound: dict.fromkeys(wanted[rewound], START)})
    mirror(kafka, kafka, *arguments, *named, code=6)
    assert committed(kafka, group, tuple(copies.values())) == ahead
    assert committed(kafka, other, tuple(copies.values())) == behind
    assert committed(kafka, rewound, tuple(copies.values())) == {
        (copies[topic], partition): there[copies[topic]][partition].records[0].offset
        for topic, partition in wanted[rewound]
    }
    for group in list(wanted)[3:]:
        assert committed(kafka, group, tuple(copies.values())) == synced[group]


@pytest.mark.case("M14")
def test_offsets_of_partitions_without_records(kafka: Kafka) -> None:
    """Partition 0 never had a record, 1 has lost all, 2 has lost the first ones; those that are gone are unknown."""
    topic = kafka.topic("empty", partitions=3)
    copy, group = f"{topic}-copy", kafka.unused_name("group")
    for partition in (1, 2):
        write(kafka, topic, numbered(10), partition=partition)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for future in admin.delete_records([Place(topic, 1, 10), Place(topic, 2, 4)]).values():
        future.result(PATIENCE)
    early, late = f"{group}-early", f"{group}-late"
    commit(
        kafka,
        {
            group: {(topic, 0): 0, (topic, 1): 10, (topic, 2): 6},
            early: {(topic, 1): 9, (topic, 2): 3},
            late: {(topic, 0): 1, (topic, 1): 11, (topic, 2): 11},
        },
    )
    names = ["--sync-groups", group, "--sync-groups", early, "--sync-groups", late]
    arguments = ["-t", topic, "--map-topic", f"{topic}={copy}", "--until-caught-up", *names]
    for _ in range(2):
        rows, _ = synced_by(kafka, *arguments)
        assert committed(kafka, group, (copy,)) == {(copy, 0): 0, (copy, 1): 0, (copy, 2): 2}
        assert committed(kafka, early, (copy,)) == committed(kafka, late, (copy,)) == {}
        assert {place for place, row in rows.items() if row["status"] == "refused"} == {
            (early, topic, 1),
            (early, topic, 2),
        }
        assert {place for place, row in rows.items() if row["status"] == "missing"} == {
            (late, topic, partition) for partition in range(3)
        }
    assert sorted(lags(kafka, group, (copy,))) == [0, 0, 4]


@pytest.mark.case("M15", "M14")
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_is_followed_until_it_has_members_or_commits_of_its_own(kafka: Kafka, protocol: str) -> None:
    """A group that the mirror has made is joined by members of either protocol; it moves on and back as on the source
    while it has none, and what they commit is never moved backwards when they have left.
    """
    if protocol == "consumer" and kafka.version.startswith(("2.", "3.")):
        pytest.skip("brokers before 4.0 have no consumer protocol (KIP-848)")
    topic = kafka.topic("live")
    copy, group = f"{topic}-copy", kafka.unused_name("group")
    write(kafka, topic, numbered(20))
    arguments = [
        "-t",
        topic,
        "--map-topic",
        f"{topic}={copy}",
        "--until-caught-up",
        "--sync-groups",
        f"{group}*",
    ]
    options = {
        "bootstrap.servers": kafka.bootstrap,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "group.protocol": protocol,
    }
    for offset in (12, 17, 4):
        commit(kafka, {group: {(topic, 0): offset}})
        mirror(kafka, kafka, *arguments)
        assert committed(kafka, group, (copy,)) == {(copy, 0): offset}
        if offset == 4:
            commit(kafka, {group: {(topic, 0): 2}, f"{group}-idle": {(topic, 0): 3}})
        with closing(Judge(options)) as member:
            member.subscribe([copy])
            (record,) = member.consume(1, PATIENCE)
            assert (record.error(), record.offset()) == (None, offset)
            if offset == 4:
                _, text = mirror(kafka, kafka, *arguments, code=6)
                assert f"group {group}, {topic}-0: offset 2 was not set" in text
                assert "the group has members on the target" in text
                assert committed(kafka, f"{group}-idle", (copy,)) == {(copy, 0): 3}
                assert committed(kafka, group, (copy,)) == {(copy, 0): 4}
                member.commit(offsets=[Place(copy, 0, 15)], asynchronous=False)
    _, text = mirror(kafka, kafka, *arguments, code=6)
    assert "its consumers have moved over" in text
    assert committed(kafka, group, (copy,)) == {(copy, 0): 15}
