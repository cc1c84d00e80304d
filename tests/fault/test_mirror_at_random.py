"""Mirrors in random stories: kills, stand-bys, brokers that die, partitions of the network, full disks, transactions,
retention, recreated topics, rewound groups; then a promotion and a way back. What a mirror promises holds in all of them.

Each seed is a story of its own, for each mode of delivery. At each kill, and at the end, when everything is repaired and
the job has caught up:

- every committed record of the source below a saved position is on the target, exactly once or at least once, or in a gap
  of the job; the first copies are in the order of the source; nothing else is there, and no aborted record;
- position and lag are an end of the source, or the lag is not known;
- the reports add up, and the offset of a group leads to the record that it would read next on the source;
- what a recovery point calls copied is there, and what it calls missing is not; after the way back the old source has the
  records of both sides, in order, and what only it has is listed.

``KCLI_MIRROR_STORIES=500`` tells so many in each mode, ``KCLI_MIRROR_STORIES_FROM`` where to begin; ``make test-long``
tells more than ``make test``. A failure has the seed and the steps of its story. The mirror is a process with timers of
its own, so a seed repeats the steps and not their moments.
"""

import json
import os
import random
import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any, NamedTuple

import pytest

from kcli.core.admin.topics import id_text
from kcli.core.exit_codes import ExitCode
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.mirror.job.state import JobId, SavedJob, SavedPartition, load_jobs
from kcli.flows.mirror.job.store import STATE
from tests.committing import commit, committed
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.knobs import Hold
from tests.fake.markers import marker
from tests.fake.raw_client import batch
from tests.run import Done, start
from tests.run import kcli_as_set_up as command

HERE = 4
"""So many stories a mode in ``make test``."""
STORIES = int(os.environ.get("KCLI_MIRROR_STORIES", "100"))
FIRST = int(os.environ.get("KCLI_MIRROR_STORIES_FROM", "0"))
PATIENCE = 60.0
"""Seconds after which a story is stuck; no client here waits for so long."""
JOB = JobId("here", "j")
TOPICS = {"t": 2, "u": 1}
PARTITIONS = [TopicPartition(topic, number) for topic, count in TOPICS.items() for number in range(count)]
GROUPS = ("g", "h")
QUICKLY = ["request.timeout.ms=1500", "reconnect.backoff.max.ms=200", "retry.backoff.max.ms=200"]
ALWAYS = 1e9
SOURCE_MOMENTS: list[type[Request]] = [FetchRequest]
TARGET_MOMENTS: list[type[Request]] = [
    ProduceRequest, ProduceRequest, EndTxnRequest, InitProducerIdRequest, JoinGroupRequest, OffsetCommitRequest,
]  # fmt: skip
STEPS = {
    "write": 8, "write transaction": 3, "open transaction": 2, "end transaction": 2, "trim": 1, "recreate": 1,
    "commit": 3, "start": 12, "stand-by": 3, "kill": 5, "stop": 1, "break source": 3, "break target": 4, "repair": 4,
    "wait": 2,
}  # fmt: skip
"""With weights."""
GOOD = ("done", "unchanged")
ENDED = re.compile(r"([\d,]+) of ([\d,]+) committed offsets? set((?:, [\d,]+ [a-z]+)*)")


class Open(NamedTuple):
    """A transaction that has not ended."""

    producer_id: int
    partitions: list[TopicPartition]


class Mirror(NamedTuple):
    """A process of the job. ``follows``: it must not end by itself."""

    number: int
    process: "Popen[bytes]"
    follows: bool


class Story:
    """One seed. ``exactly_once``: the mode."""

    def __init__(self, seed: int, stack: ExitStack, folder: Path, *, exactly_once: bool) -> None:
        self.rng = random.Random(f"{seed} {exactly_once}")
        self.seed = seed
        self.exactly_once = exactly_once
        self.stack = stack
        self.folder = folder
        self._began = time.monotonic()
        self.log: list[str] = []
        self.note(f"seed {seed}, {'exactly' if exactly_once else 'at least'} once")
        nodes = self.rng.choice([2, 3]), self.rng.choice([2, 3])
        self.source = stack.enter_context(FakeCluster(nodes[0], topics=TOPICS, cluster_id="here"))
        self.target = stack.enter_context(FakeCluster(nodes[1], topics={}, cluster_id="there"))
        self.mirrors: list[Mirror] = []
        self.disturbed: set[int] = set()
        """Mirrors that may not have begun when a cluster broke: they may give up."""
        self.started = 0
        self.written = 0
        self.open: list[Open] = []
        self.broken: dict[str, Callable[[], object]] = {}
        """What repairs a cluster, by its name."""
        self.trimmed: dict[TopicPartition, dict[int, bytes]] = {tp: {} for tp in PARTITIONS}
        self.earlier: dict[TopicPartition, list[dict[int, bytes]]] = {tp: [] for tp in PARTITIONS}
        """Committed records of topics that were deleted."""
        self.returned: dict[TopicPartition, list[bytes]] = {tp: [] for tp in PARTITIONS}
        """Written on the target after the promotion."""

    def note(self, text: str) -> None:
        """For whoever looks at a failure."""
        self.log.append(f"{time.monotonic() - self._began:6.2f} {text}")

    # --- the source ----------------------------------------------------------------------------------

    def write(self) -> None:
        tp = self.rng.choice(PARTITIONS)
        for _ in range(self.rng.randrange(1, 6)):
            self.source.append(*tp, batch(*self._values(), codec=self.rng.choice([0, 0, 1])))

    def _values(self) -> list[bytes]:
        count = self.rng.randrange(1, 5)
        self.written += count
        return [b"%d" % number for number in range(self.written - count, self.written)]

    def open_transaction(self) -> Open:
        made = Open(1_000_000 + self.written, self.rng.sample(PARTITIONS, self.rng.randrange(1, 4)))
        for tp in made.partitions:
            sequence = 0
            for _ in range(self.rng.randrange(1, 3)):
                values = self._values()
                raw = batch(
                    *values, producer_id=made.producer_id, epoch=0, sequence=sequence, transactional=True
                )
                self.source.append(*tp, raw)
                sequence += len(values)
        return made

    def end_transaction(self, one: Open) -> None:
        """A tenth is aborted."""
        done = self.rng.random() >= 0.1
        for tp in one.partitions:
            raw = marker(one.producer_id, 0, committed=done, now_ms=int(time.time() * 1000))
            self.source.append(*tp, raw)

    def trim(self) -> None:
        """Retention removes some of what can be read by all."""
        tp = self.rng.choice(PARTITIONS)
        log = self.source.log(*tp)
        before = self.rng.randint(log.start_offset, log.last_stable_offset)
        self.trimmed[tp] |= {at: value for at, value in self.kept(tp).items() if at < before}
        self.source.delete_records(*tp, before)
        self.note(f"{tp} begins at {before}")

    def recreate(self) -> None:
        """Transactions that are open in the topic are gone with it."""
        topic = "u"
        for tp in PARTITIONS:
            if tp.topic == topic:
                self.earlier[tp].append(self.records(tp))
                self.trimmed[tp] = {}
        for one in self.open:
            one.partitions[:] = [tp for tp in one.partitions if tp.topic != topic]
        self.source.recreate_topic(topic)

    def commit(self) -> None:
        """Of some partitions, forwards or backwards."""
        group = self.rng.choice(GROUPS)
        rows = {
            tp: OffsetAndMetadata(self.rng.randint(0, self.source.log(*tp).last_stable_offset))
            for tp in self.rng.sample(PARTITIONS, self.rng.randrange(1, 4))
        }
        commit(self.source, group, rows)
        self.note(f"{group} has { ({str(tp): one.offset for tp, one in rows.items()}) }")

    def kept(self, tp: TopicPartition) -> dict[int, bytes]:
        """The committed records that the log has."""
        return {one.offset: one.value or b"" for one in self.source.log(*tp).records(committed=True)}

    def records(self, tp: TopicPartition) -> dict[int, bytes]:
        """All that were ever committed to the topic of now, by offset."""
        return self.trimmed[tp] | self.kept(tp)

    # --- processes -----------------------------------------------------------------------------------

    def words(self, verb: str, *more: str) -> list[str]:
        both = [
            "--from",
            self.source.bootstrap,
            "--to",
            self.target.bootstrap,
            "--job",
            JOB.job,
            "-o",
            "json",
            "--yes",
        ]
        return ["mirror", verb, *both, *(word for one in QUICKLY for word in ("-X", one)), *more]

    def run_words(self, *more: str) -> list[str]:
        how = ["--exactly-once"] if self.exactly_once else []
        groups = [word for group in GROUPS for word in ("--sync-groups", group)]
        topics = [word for topic in TOPICS for word in ("-t", topic)]
        restart = ["--on-gap", "record", "--on-recreate", "restart"]
        return self.words("run", *topics, *groups, *restart, *how, *more)

    def start(self, *more: str) -> Mirror:
        self.started += 1
        made = Mirror(self.started, start(*self.run_words(*more)), follows=not more)
        self.note(f"mirror {made.number}")
        self.mirrors.append(made)
        return made

    def kill(self) -> None:
        """At a request of one of the clusters, before it is applied or before it is answered, or at any moment."""
        one = self.rng.choice(self.mirrors)
        side = self.rng.choice(["source", "target"])
        hold = None
        if self.rng.random() < 0.7 and side not in self.broken:
            api = self.rng.choice(SOURCE_MOMENTS if side == "source" else TARGET_MOMENTS)
            at, after = self.rng.choice(["request", "answer"]), self.rng.randrange(3)
            hold = self._cluster(side).hold(api, at=at, after=after)
            self.note(f"at {api.api_name} {at}")
            self.write()
            self._pause(0.5, lambda: hold.count)
        self._end(one, signal.SIGKILL)
        if hold is not None:
            self._let_go(hold)
        self.audit()

    def stop(self) -> None:
        one = self.rng.choice(self.mirrors)
        out, err = self._end(one, signal.SIGTERM)
        if one.process.returncode == 128 + signal.SIGTERM and out:  # a stand-by has no report
            self.check_report(out, err)

    def _end(self, one: Mirror, how: signal.Signals) -> tuple[str, str]:
        self.mirrors.remove(one)
        ended = one.process.poll()
        one.process.send_signal(how)
        out, err = (text.decode() for text in one.process.communicate(timeout=PATIENCE))
        self.note(f"{how.name} of mirror {one.number}: {one.process.returncode}")
        excused = one.number in self.disturbed and ended == ExitCode.UNREACHABLE
        assert not one.follows or ended is None or excused, (
            f"mirror {one.number} has ended by itself: {ended}, {err}"
        )
        assert "Traceback" not in err, err
        return out, err

    def _pause(self, seconds: float, condition: Callable[[], object] = lambda: False) -> None:
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.005)

    def until(self, what: str, condition: Callable[[], object]) -> None:
        """Waits for a state that has to come."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"{what}: not reached"
            time.sleep(0.02)

    # --- faults --------------------------------------------------------------------------------------

    def _cluster(self, side: str) -> FakeCluster:
        return self.source if side == "source" else self.target

    def _let_go(self, hold: Hold) -> None:
        """What was held comes late, or never."""
        hold.remove()
        if self.rng.random() < 0.5:
            hold.lose()
        hold.release()

    def disturb(self, side: str) -> None:
        """Until it is repaired."""
        rng, cluster = self.rng, self._cluster(side)
        if "target" in self.broken:
            begun = set()
        else:
            begun = {
                pid for row in self.status() for pid in (row["pid"], *(one["pid"] for one in row["standbys"]))
            }
        self.disturbed |= {one.number for one in self.mirrors if one.process.pid not in begun}
        tp = rng.choice(PARTITIONS)
        kinds = ["broker", "broker", "all brokers", "paused", "held", "dropped", "answers lost", "no leader"]
        if side == "target":
            kinds += ["disk full", "disk full", "too few replicas", "too few replicas"]
        kind = rng.choice(kinds)
        if kind in ("no leader", "disk full", "too few replicas") and not self._has(cluster, tp):
            kind = "dropped"
        self.note(f"{side}: {kind}")
        node = rng.choice(cluster.node_ids)
        match kind:
            case "broker":
                cluster.stop(node, fail_over=rng.random() < 0.6)
                self.broken[side] = lambda: cluster.start(node)
            case "all brokers":
                self.broken[side] = self._each(cluster, cluster.stop, cluster.start)
            case "paused":
                self.broken[side] = self._each(cluster, cluster.pause, cluster.resume)
            case "held":
                hold = cluster.hold(None, at=rng.choice(["request", "answer"]), times=ALWAYS)
                self.broken[side] = lambda: self._let_go(hold)
            case "dropped":
                self.broken[side] = cluster.drop(None, "reset", times=ALWAYS).remove
            case "answers lost":
                self.broken[side] = cluster.swallow(
                    None, "reset", times=ALWAYS, after=rng.randrange(4)
                ).remove
            case "no leader":
                before = cluster.leader(*tp)
                cluster.move_leader(*tp, -1)
                self.broken[side] = lambda: cluster.move_leader(*tp, before)
            case "disk full":
                self.broken[side] = cluster.fail(
                    ProduceRequest, Code.KAFKA_STORAGE_ERROR, where=tp, times=ALWAYS
                ).remove
            case _:
                cluster.configure(tp.topic, min_insync_replicas="2")
                cluster.set_isr(*tp, [cluster.leader(*tp)])
                self.broken[side] = lambda: cluster.set_isr(*tp, cluster.node_ids)

    def _each(
        self, cluster: FakeCluster, act: Callable[[int], object], undo: Callable[[int], object]
    ) -> Callable[[], object]:
        for node in cluster.node_ids:
            act(node)
        return lambda: [undo(node) for node in cluster.node_ids]

    def repair(self, side: str) -> None:
        self.note(f"{side}: repaired")
        self.broken.pop(side)()

    def _has(self, cluster: FakeCluster, tp: TopicPartition) -> bool:
        try:
            cluster.topic_id(tp.topic)
        except KeyError:
            return False
        return True

    # --- the story -----------------------------------------------------------------------------------

    def tell(self) -> None:
        for _ in range(3):
            self.write()
        self.begin()
        for _ in range(self.rng.randrange(10, 16)):
            possible = [name for name in STEPS if self.is_possible(name)]
            self.step(self.rng.choices(possible, [STEPS[name] for name in possible])[0])
            self._pause(self.rng.choice([0.0, 0.02, 0.1, 0.2]))
        if self.seed % 2 and self.is_of_these_topics():
            self.promote()
        else:
            self.catch_up()

    def is_possible(self, step: str) -> bool:
        match step:
            case "end transaction":
                return bool(self.open)
            case "kill" | "stop":
                return bool(self.mirrors)
            case "wait":
                return bool(self.mirrors) and not self.broken
            case "start":
                return not self.mirrors
            case "stand-by":
                return len(self.mirrors) == 1
            case "break source" | "break target":
                return step.split()[1] not in self.broken and bool(self.positions())
            case "repair":
                return bool(self.broken)
            case "recreate":
                return not any(self.earlier.values())
            case "commit":
                return "source" not in self.broken
        return True

    def step(self, name: str) -> None:
        self.note(name)
        match name:
            case "write":
                self.write()
            case "write transaction":
                self.end_transaction(self.open_transaction())
            case "open transaction":
                self.open.append(self.open_transaction())
            case "end transaction":
                self.end_transaction(self.open.pop(self.rng.randrange(len(self.open))))
            case "kill":
                self.kill()
            case "start" | "stand-by":
                self.begin()
            case "stop":
                self.stop()
            case "break source" | "break target":
                self.disturb(name.split()[1])
            case "repair":
                self.repair(self.rng.choice([*self.broken]))
            case "trim":
                self.trim()
            case "recreate":
                self.recreate()
            case "commit":
                self.commit()
            case _:
                before = self.positions()
                self._pause(1.0, lambda: self.positions() != before)

    def begin(self) -> None:
        """A mirror that cannot reach a cluster at its start ends, so they are repaired before."""
        for side in [*self.broken]:
            self.repair(side)
        self.start()
        if self.rng.random() < 0.7:
            self._pause(1.0, self.positions)

    def settle(self) -> None:
        """Nothing disturbs any more, and all transactions end."""
        for side in [*self.broken]:
            self.repair(side)
        while self.open:
            self.end_transaction(self.open.pop())

    def catch_up(self) -> None:
        """By those that still run, and by a run to the end; then everything is there."""
        self.settle()
        for group in GROUPS:
            rows = {
                tp: OffsetAndMetadata(self.rng.randint(0, self.source.log(*tp).end_offset))
                for tp in PARTITIONS
            }
            commit(self.source, group, rows)
        if self.rng.random() < 0.5 and any(one.process.poll() is None for one in self.mirrors):
            self.note("they go on by themselves")
            self.until("caught up", self.is_caught_up)
            self.audit()
        while self.mirrors:
            self.stop()
        done = self.start("--until-caught-up")
        out, err = (text.decode() for text in done.process.communicate(timeout=PATIENCE))
        self.mirrors.remove(done)
        document = json.loads(out)
        refused = [row for row in document["groups"] if row["status"] not in GOOD]
        assert done.process.returncode == (6 if refused or document["gaps"] else 0), (
            done.process.returncode,
            err,
        )
        self.check_report(out, err)
        assert self.is_caught_up()
        self.audit()
        self.check_groups(document["groups"])
        for row in self.status():
            tp = TopicPartition(row["topic"], row["partition"])
            assert (row["position"], row["lag_records"]) == (self.source.log(*tp).end_offset, 0), row

    # --- what holds ----------------------------------------------------------------------------------

    def saved(self) -> SavedJob | None:
        """The job as its records say now."""
        if not self._has(self.target, STATE):
            return None
        log = self.target.log(*STATE)
        return load_jobs((one.key, one.value) for one in log.records(committed=True)).get(JOB)

    def current(self, saved: SavedJob | None) -> dict[TopicPartition, SavedPartition]:
        """Of the topics that the source has now."""
        ids = {topic: id_text(self.source.topic_id(topic)) for topic in TOPICS}
        found = {} if saved is None else saved.partitions
        return {tp: one for tp, one in found.items() if one.progress.topic_id == ids[tp.topic]}

    def positions(self) -> dict[TopicPartition, int]:
        return {tp: one.progress.position for tp, one in self.current(self.saved()).items()}

    def is_of_these_topics(self) -> bool:
        return len(self.positions()) == len(PARTITIONS)

    def is_caught_up(self) -> bool:
        return self.positions() == {tp: self.source.log(*tp).end_offset for tp in PARTITIONS}

    def copies(self, tp: TopicPartition) -> list[tuple[int, bytes]]:
        """Offset and value of all that readers of the target get."""
        if not self._has(self.target, tp):
            return []
        return [(one.offset, one.value or b"") for one in self.target.log(*tp).records(committed=True)]

    def audit(self) -> None:
        """The saved positions are read before the records, so that those are there which they promise."""
        now = self.current(self.saved())
        for tp in PARTITIONS:
            values = [value for _, value in self.copies(tp)]
            records = self.records(tp)
            first_copies = list(dict.fromkeys(values))
            if self.exactly_once:
                assert values == first_copies, f"{tp}: records are there twice"
            at = 0
            for part in (*self.earlier[tp], records):
                order = {value: number for number, value in part.items()}
                own = [order[value] for value in first_copies if value in order]
                assert own == sorted(own), f"{tp}: not in order"
                at += len(own)
            assert at == len(first_copies), f"{tp}: the target has what the source never committed"
            if tp in now:
                self._check_position(tp, now[tp], records, set(values))

    def _check_position(
        self, tp: TopicPartition, one: SavedPartition, records: Mapping[int, bytes], there: set[bytes]
    ) -> None:
        position, gaps = one.progress.position, [*one.progress.gaps, *one.accepted]
        left_out = {at for at in records if any(gap.first <= at <= gap.last for gap in gaps)}
        absent = {
            at
            for at, value in records.items()
            if one.progress.start <= at < position and value not in there and at not in left_out
        }
        if self.exactly_once:
            assert not [at for at in left_out if records[at] in there], f"{tp}: {gaps} are there"
        assert not absent, f"{tp}: position {position}, gaps {gaps}, and {sorted(absent)} are not there"
        assert position + max(0, one.progress.source_end - position) <= self.source.log(*tp).end_offset, tp

    def status(self) -> list[dict[str, Any]]:
        done = command("mirror", "status", "--to", self.target.bootstrap, "-o", "json")
        assert done.code == 0, done
        rows: list[dict[str, Any]] = json.loads(done.out)["items"]
        return rows

    def check_report(self, out: str, err: str) -> None:
        """Sums are those of the parts; of what was asked for, nothing is without an outcome."""
        document = json.loads(out)
        items = document["items"]
        assert {(row["topic"], row["partition"]) for row in items} == {*PARTITIONS}, items
        assert document["records"] == sum(row["records"] for row in items)
        assert document["gaps"] == sum(len(row["gaps"]) for row in items)
        for row in items:
            tp = TopicPartition(row["topic"], row["partition"])
            if row["lag_records"] is not None and not self.earlier[tp]:
                assert row["to_offset"] + row["lag_records"] <= self.source.log(*tp).end_offset, row
        told = ENDED.search(err)
        groups = document.get("groups", [])
        assert bool(told) == bool(groups), err
        if told:
            numbers = [int(text.replace(",", "")) for text in re.findall(r"\d[\d,]*", told[3])]
            set_, total = (int(text.replace(",", "")) for text in told.group(1, 2))
            assert total == set_ + sum(numbers) == len(groups), told[0]
            assert set_ == sum(row["status"] == "done" for row in groups)

    def check_groups(self, rows: list[dict[str, Any]]) -> None:
        """Each group has its offsets of now, and reads on the target what it would read next on the source."""
        now = self.current(self.saved())
        at_target = {group: committed(self.target, group) for group in GROUPS}
        at_source = {group: committed(self.source, group) for group in GROUPS}
        assert len(rows) == sum(map(len, at_source.values())), rows
        for row in rows:
            tp, group = TopicPartition(row["topic"], row["partition"]), row["group"]
            assert row["source_offset"] == at_source[group][tp].offset
            if row["status"] not in GOOD:
                assert row["source_offset"] < now[tp].progress.start, row
                continue
            assert at_target[group][tp].offset == row["target_offset"], row
            gaps = [*now[tp].progress.gaps, *now[tp].accepted]
            left = {
                value
                for at, value in self.records(tp).items()
                if any(gap.first <= at <= gap.last for gap in gaps)
            }
            after = [value for at, value in self.records(tp).items() if at >= row["source_offset"]]
            read = [value for at, value in self.copies(tp) if at >= row["target_offset"]]
            expected = next((value for value in after if value not in left), None)
            assert next((value for value in read if value not in left), None) == expected, row

    # --- promotion and return ------------------------------------------------------------------------

    def promote(self) -> None:
        lost = self.rng.random() < 0.6
        self.note(f"promote, {'source lost' if lost else 'with the source'}")
        if lost:
            for side in [*self.broken]:
                self.repair(side)
            self._each(self.source, self.source.stop, self.source.start)
        else:
            self.settle()
        words = self.words("promote", *(["--source-lost"] if lost else []))
        done = command(*words)
        document = json.loads(done.out)
        missing = self.check_recovery_point(document, lost=lost)
        gaps = [gap for row in document["items"] for gap in row["gaps"]]
        partial = lost or gaps or any(row["status"] not in GOOD for row in document["groups"])
        assert done.code == (6 if partial else 0), done
        if not lost:
            assert missing == {}, "with the source all is there"
        for one in [*self.mirrors]:
            self.mirrors.remove(one)
            one.process.communicate(timeout=PATIENCE)
            self.note(f"mirror {one.number} has ended: {one.process.returncode}")
            assert one.process.returncode in (3, 5, 6, 7), one.process.returncode
        self.check_recovery_point(document, lost=lost)
        self.reverse(document)

    def check_recovery_point(
        self, document: dict[str, Any], *, lost: bool
    ) -> dict[TopicPartition, list[bytes]]:
        """What is copied is there, what is missing is not; returns the missing records."""
        assert {(row["topic"], row["partition"]) for row in document["items"]} == {*PARTITIONS}
        missing, now = {}, self.current(self.saved())
        for row in document["items"]:
            tp = TopicPartition(row["topic"], row["partition"])
            copied = {value for at, value in self.copies(tp) if at < row["target_offset"]}
            records, to = self.records(tp), row["copied_to"]
            gone = {
                at
                for at, value in records.items()
                if now[tp].progress.start <= at < to
                and value not in copied
                and not any(low <= at <= high for low, high in row["gaps"])
            }
            assert not gone, f"{tp}: copied to {to}, and {sorted(gone)} are not there: {row}"
            later = {at: value for at, value in records.items() if at >= to}
            beyond = sum(value in later.values() for _, value in self.copies(tp))
            assert beyond <= row["stored_beyond"], f"{tp}: {beyond} records of which nothing is said: {row}"
            assert not (self.exactly_once and row["stored_beyond"]), row
            absent = {at: value for at, value in later.items() if value not in copied}
            if absent:
                missing[tp] = [*absent.values()]
            seen = row["source_end_seen"] or 0  # null: never
            assert max(seen, to) <= self.source.log(*tp).end_offset, row
            most = row["may_be_missing"]
            assert most is None or most >= sum(at < seen for at in absent), row
            assert most != 0 or not absent, row
            assert lost or most is not None, row
        return missing

    def reverse(self, document: dict[str, Any]) -> None:
        """Applications write on the target; the source returns, with transactions that end now."""
        for tp in PARTITIONS:
            for _ in range(self.rng.randrange(4)):
                values = self._values()
                self.returned[tp] += values
                self.target.append(*tp, batch(*values))
        for node in self.source.node_ids:
            self.source.start(node)
        self.settle()
        before = {tp: [*self.kept(tp).values()] for tp in PARTITIONS}
        stranded: dict[TopicPartition, list[bytes]] = {}
        for row in document["items"]:
            tp = TopicPartition(row["topic"], row["partition"])
            there = {value for _, value in self.copies(tp)}
            stranded[tp] = [
                value for at, value in self.kept(tp).items() if at >= row["copied_to"] and value not in there
            ]
        path = self.folder / "stranded.ndjson"
        words = self.words("reverse", "--stranded", str(path))
        killed = self.rng.random() < 0.5
        if killed:
            self._kill_reversal(words)
        done = command(*words)
        groups = json.loads(done.out).get("groups", [])
        assert done.code == (6 if any(row["status"] not in GOOD for row in groups) else 0), done
        self.check_returned(done, before, stranded, killed=killed)
        listed: dict[TopicPartition, list[bytes]] = {tp: [] for tp in PARTITIONS}
        for line in path.read_text().splitlines():
            one = json.loads(line)
            listed[TopicPartition(one["topic"], one["partition"])].append(one["value"].encode())
        assert listed == stranded

    def _kill_reversal(self, words: list[str]) -> None:
        api, at = self.rng.choice([ProduceRequest, EndTxnRequest]), self.rng.choice(["request", "answer"])
        hold = self.source.hold(api, at=at, after=self.rng.randrange(5))
        process = start(*words)
        self.until("the way back", lambda: hold.count or process.poll() is not None)
        process.kill()
        process.communicate(timeout=PATIENCE)
        self.note(f"the way back is killed at {api.api_name} {at}: {process.returncode}")
        self._let_go(hold)

    def check_returned(
        self,
        done: Done,
        before: Mapping[TopicPartition, list[bytes]],
        stranded: Mapping[TopicPartition, list[bytes]],
        *,
        killed: bool,
    ) -> None:
        for tp in PARTITIONS:
            union = [*self.kept(tp).values()]
            if killed and not self.exactly_once:
                union = list(dict.fromkeys(union))
            assert union == before[tp] + self.returned[tp], tp
            assert done.rows[tp]["stranded"] == len(stranded[tp]), done.rows[tp]

    def describe(self) -> None:
        """What a failure has left."""
        saved = self.saved()
        for tp, one in {} if saved is None else saved.partitions.items():
            self.note(
                f"{tp}, source {self.source.log(*tp).start_offset} to {self.source.log(*tp).end_offset}: {one.progress}"
            )

    def close(self) -> None:
        while self.mirrors:
            one = self.mirrors.pop()
            one.process.kill()
            _, err = one.process.communicate(timeout=PATIENCE)
            self.note(f"mirror {one.number}: {err.decode()}")


@contextmanager
def story(seed: int, folder: Path, *, exactly_once: bool) -> Iterator[Story]:
    with ExitStack() as stack:
        made = Story(seed, stack, folder, exactly_once=exactly_once)
        try:
            yield made
        except BaseException as error:
            made.describe()
            made.close()
            error.add_note("\n".join(made.log))
            raise
        finally:
            made.close()


@pytest.mark.case("M1", "M2", "M17", "R7")
@pytest.mark.parametrize("exactly_once", [False, True], ids=["at least once", "exactly once"])
@pytest.mark.parametrize(
    "seed",
    [pytest.param(n, marks=[pytest.mark.long] * (n >= HERE)) for n in range(FIRST, FIRST + STORIES)],
)
def test_what_a_mirror_promises_holds_whatever_happens(
    seed: int, exactly_once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kcli.flows.mirror.promotion.promote._QUIET", 0.1)
    with story(seed, tmp_path, exactly_once=exactly_once) as one:
        one.tell()
