"""What ``kcli cluster check --if-stopped`` foresees, beside what becomes of the cluster when the broker really stops.

Situations are made by chance, from a seed: topics of one to three replicas, min.insync.replicas up to more than there
are, unclean elections, followers that lag, moves that do not end, coordinators with a single replica, brokers that are
down. Foreseen and seen have to be equal: which partitions can be read, which take records with acks=all, which groups
answer and take commits, which transactional ids have a coordinator, and whether the controllers elect.

What is foreseen holds for the replicas that are in sync when it is said: it is asked for again until they are the same
just before the stop. Where a replica joins the ISR or leaves it by itself between the stop and the first record, that
partition is not judged, and the stop is not counted.
"""

import json
import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import confluent_kafka
import pytest

from kcli.core import Admin
from kcli.core.admin.configs import ConfigChange, ConfigKind, ConfigOp, ConfigResource
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import PartitionView
from kcli.core.cluster.offsets import EARLIEST
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.types import OffsetAndMetadata, TopicPartition, TopicSpec
from tests.kafka import FAST_FAILOVER, QUICK_JVM, TEST_PROPERTIES, Kafka, sandboxed
from tests.run import kcli_process

pytestmark = pytest.mark.integration

SEED = 38
PATIENCE = 120.0
SLOW = {"replica.fetch.max.bytes": "65536", "replica.fetch.response.max.bytes": "65536"}
"""With a throttle of a byte a second a follower gets as much at once, and then nothing for ten seconds."""
WAITS = 12
"""Seconds for which a record waits for followers before it is asked again."""
CALM = 3.0
"""Seconds without a change of any partition, before a situation is judged."""
RESIGNED = 8.0
"""Seconds: a leader of the controllers that no majority follows has resigned."""
LAG_BYTES = 3_000_000
GROUPS = [f"outlook-{number}" for number in range(8)]
IDS = [f"outlook-{number}" for number in range(4)]
COORDINATORS = ("__consumer_offsets", "__transaction_state")


class Fate(NamedTuple):
    """What is so, or would be, without a broker."""

    offline: frozenset[TopicPartition]
    refusing: frozenset[TopicPartition]
    orphans: frozenset[str]
    deaf: frozenset[str]
    lost_ids: frozenset[str]
    elects: bool


class Answer(NamedTuple):
    """To a record with acks=all, and how the partition was just after it."""

    is_refused: bool
    view: PartitionView


class Drift(NamedTuple):
    """Replicas that came into the ISR, or left it, by themselves: not because a broker was stopped."""

    joined: frozenset[int]
    left: frozenset[int]


def drift(before: PartitionView, down: Collection[int], *later: PartitionView) -> Drift:
    """``before``: just before the last of ``down`` was stopped; ``later``: since then. Without a leader nothing moves;
    without a controller what is gone stays in the ISR.
    """
    led = [part for part in later if part.leader >= 0]
    ghosts = all(down_in_sync(part, down) for part in led)
    kept = (
        set(before.isr) if ghosts else set(before.isr).difference(down) or {part.leader for part in led[:1]}
    )
    seen = [set(part.isr) for part in led]
    return Drift(
        frozenset(set[int]().union(*seen) - kept), frozenset(kept - kept.intersection(*seen) if seen else ())
    )


def down_in_sync(part: PartitionView, down: Collection[int]) -> bool:
    """Whether there is no controller that takes what is gone out of the ISR."""
    return bool(set(part.isr).intersection(down))


def until(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.2)


class Drill:
    """Situations on a cluster of three nodes, and what they come to. ``coordinators``: theirs are moved, too."""

    def __init__(self, kafka: Kafka, seed: int, *, voters: int = 0, coordinators: bool) -> None:
        self.kafka, self.random, self.voters = kafka, random.Random(seed), voters
        self.coordinators = coordinators
        self.nodes = {node.node_id: node for node in kafka.nodes}
        self.down: set[int] = set()
        self.topics: list[str] = []
        self.made = 0
        self.led = True
        self.moved = 0
        self.wrong: list[str] = []
        self.story: list[str] = []

    # the cluster

    @contextmanager
    def admin(self, timeout: float = 20.0) -> Iterator[Admin]:
        up = [node.bootstrap for number, node in self.nodes.items() if number not in self.down]
        with Admin(bootstrap_servers=",".join(up), timeout=timeout) as admin:
            yield admin

    def prepare(self) -> None:
        """The groups and transactional ids, and a throttle that stops those followers for which topics demand it."""
        with self.admin() as admin:
            self.topic(admin, "commits", [(1, 2, 3)], {})
            at = {TopicPartition(self.topics.pop(), 0): OffsetAndMetadata(0, "")}
            stored = admin.commit_offsets(dict.fromkeys(GROUPS, at))
            assert all(error is None for rows in stored.values() for error in rows.values())
        self.throttle("1")
        self.commits = at
        for name in IDS:
            producer = confluent_kafka.Producer(
                {"bootstrap.servers": self.kafka.bootstrap, "transactional.id": name}
            )
            producer.init_transactions(PATIENCE)

    def throttle(self, rate: str | None) -> None:
        """Of followers, on all brokers; None: no more."""
        change = [
            ConfigChange(
                "follower.replication.throttled.rate", rate, ConfigOp.SET if rate else ConfigOp.DELETE
            )
        ]
        resources = [ConfigResource(ConfigKind.BROKER, str(number)) for number in self.nodes]
        with self.admin() as admin:
            assert not any(admin.alter_configs(dict.fromkeys(resources, change)).values())

    def topic(
        self, admin: Admin, hint: str, replicas: Sequence[tuple[int, ...]], configs: dict[str, str]
    ) -> str:
        self.made += 1
        name = f"outlook-{self.made}-{hint}"
        made = admin.create_topics([TopicSpec(name, configs=configs, assignment=tuple(replicas))])
        assert made == {name: None}
        self.topics.append(name)
        return name

    def replica_lists(self, count: int) -> list[tuple[int, ...]]:
        """Of as many replicas in each partition, as Kafka demands it of a new topic."""
        factor = self.random.choice((1, 2, 2, 3, 3))
        return [tuple(self.random.sample(sorted(self.nodes), factor)) for _ in range(count)]

    # a situation

    def situation(self) -> None:
        """Another one; what the one before has left to lag stays for this one."""
        chance = self.random
        old, self.topics = self.topics, []
        with self.admin() as admin:
            for _ in range(chance.randint(1, 3)):
                lists = self.replica_lists(chance.randint(1, 3))
                configs = {
                    "min.insync.replicas": str(chance.randint(1, len(lists[0]) + (chance.random() < 0.2)))
                }
                if chance.random() < 0.2:
                    configs["unclean.leader.election.enable"] = "true"
                hint = "t"
                if chance.random() < 0.5:
                    configs["follower.replication.throttled.replicas"] = "*"
                    hint = "slow"
                self.topic(admin, hint, lists, configs)
            if self.coordinators and chance.random() < 0.6:
                self.move_coordinators(admin)
            if chance.random() < 0.4:
                self.begin_moves(admin)
        if chance.random() < 0.25:
            self.stop_another()
        self.topics += old

    def move_coordinators(self, admin: Admin) -> None:
        wanted: dict[TopicPartition, Sequence[int] | None] = {}
        changes: dict[ConfigResource, list[ConfigChange]] = {}
        for name in COORDINATORS:
            for part in self.described(admin, [name])[name].partitions:
                factor = self.random.choice((1, 1, 2, 3))
                wanted[TopicPartition(name, part.partition)] = self.random.sample(sorted(self.nodes), factor)
            value = str(self.random.randint(1, 2))
            changes[ConfigResource(ConfigKind.TOPIC, name)] = [ConfigChange("min.insync.replicas", value)]
        assert not any(admin.alter_configs(changes).values())
        assert not any(admin.alter_reassignments(wanted).values())
        self.story.append("coordinators moved")
        until(lambda: not admin.list_reassignments(wanted), "the coordinators are being moved for too long")
        until(
            lambda: all(
                set(part.isr) == set(wanted[TopicPartition(name, part.partition)] or ()) and part.leader >= 0
                for name, topic in self.described(admin, COORDINATORS).items()
                for part in topic.partitions
            ),
            "the coordinators are not in sync",
        )

    def begin_moves(self, admin: Admin) -> None:
        """Moves that do not end: of slow topics with more than a follower gets."""
        for name in [name for name in self.topics if name.endswith("slow")]:
            self.fill(name)
            parts = self.described(admin, [name])[name].partitions
            moves: dict[TopicPartition, Sequence[int] | None] = {}
            for part in parts:
                others = [number for number in sorted(self.nodes) if number not in part.replicas]
                if others:
                    kept = part.replicas if self.random.random() < 0.5 else part.replicas[1:]
                    moves[TopicPartition(name, part.partition)] = (self.random.choice(others), *kept)
            if moves:
                self.story.append(f"{len(moves)} moves of {name}")
                assert not any(admin.alter_reassignments(moves).values())

    def stop_another(self) -> None:
        number = self.random.choice(sorted(self.nodes))
        kill = self.random.random() < 0.4
        self.story.append(f"{number} {'killed' if kill else 'stopped'}")
        if kill:
            self.nodes[number].kill()
        else:
            self.nodes[number].stop(grace=PATIENCE)
        self.down.add(number)

    def settled(self, *, elects: bool = False) -> None:
        """The controller, if there is one, has noticed all that was done; ``elects``: there has to be one."""

        def calm() -> bool:
            with self.admin(5.0) as admin:
                try:
                    quorum = admin.describe_quorum()
                except KcliError:
                    return not elects  # nobody will change anything
                registered = admin.describe_cluster(include_fenced=True).brokers
                brokers = {one.node.id for one in registered if one.is_fenced}
                topics = self.described(admin, None)
            ghosts = any(
                self.down.intersection(part.isr) and (part.leader >= 0)
                for topic in topics.values()
                for part in topic.partitions
            )
            return quorum.leader not in {-1, *self.down} and brokers == self.down and not ghosts

        until(calm, f"the cluster does not settle without {self.down}")

    def described(self, admin: Admin, names: Sequence[str] | None) -> dict[str, TopicInfo]:
        found = admin.describe_partitions(names)
        assert all(isinstance(topic, TopicInfo) for topic in found.values()), found
        return {name: topic for name, topic in found.items() if isinstance(topic, TopicInfo)}

    def parts(self, admin: Admin) -> dict[TopicPartition, PartitionView]:
        """All partitions, for the message of a failure."""
        topics = self.described(admin, [*self.topics, *COORDINATORS])
        return {
            TopicPartition(name, part.partition): part
            for name, topic in topics.items()
            for part in topic.partitions
        }

    def fill(self, name: str) -> None:
        """More than a throttled follower gets in the time of a situation, without waiting for it."""
        settings = {"bootstrap.servers": self.up, "acks": 1, "message.timeout.ms": 10_000}
        producer = confluent_kafka.Producer(settings)
        with self.admin() as admin:
            parts = [
                part.partition for part in self.described(admin, [name])[name].partitions if part.leader >= 0
            ]
        for part in parts:
            for _ in range(LAG_BYTES // 100_000):
                producer.produce(name, self.random.randbytes(100_000), partition=part)
        producer.flush(30)

    @property
    def up(self) -> str:
        return ",".join(node.bootstrap for number, node in self.nodes.items() if number not in self.down)

    # foreseen and seen

    def foreseen(self, number: int) -> Fate:
        """As the command says it: what is so already, and what would be worse."""
        done = kcli_process("cluster", "check", "--if-stopped", str(number), "-o", "json", bootstrap=self.up)
        assert done.returncode in (0, 8), done.err
        items = json.loads(done.out)["items"]
        now = {item["check"]: item for item in items if not item["if_stopped"]}
        ahead = {item["check"]: item for item in items if item["if_stopped"]}

        def partitions(*some: dict[str, Any]) -> frozenset[TopicPartition]:
            return frozenset(TopicPartition(**part) for item in some for part in item["partitions"])

        offline = partitions(now["offline-partitions"], ahead["offline-partitions"])
        refusing = partitions(now["under-min-isr"], ahead["under-min-isr"]) - offline
        count = {name: self.partition_counts[name] for name in COORDINATORS}
        from kcli.core.names import coordinator_partition as home

        def at(topic: str, names: Sequence[str], some: frozenset[TopicPartition]) -> frozenset[str]:
            return frozenset(
                name for name in names if TopicPartition(topic, home(name, count[topic])) in some
            )

        offsets, state = COORDINATORS
        orphans = at(offsets, GROUPS, offline)
        named = set(ahead["group-coordinators"]["groups"])
        before = at(offsets, GROUPS, partitions(now["offline-partitions"], now["under-min-isr"]))
        assert named.intersection(GROUPS) - before == (orphans | at(offsets, GROUPS, refusing)) - before, (
            done.out
        )
        can = now["quorum"]["status"] == "ok" or "caught up" in now["quorum"]["reason"]
        self.led = can and "a majority is not" not in now["quorum"]["reason"]
        keeps = ahead["quorum"]["status"] != "failed" and self.led
        own = {*self.topics, *COORDINATORS}
        return Fate(
            frozenset(tp for tp in offline if tp.topic in own),
            frozenset(tp for tp in refusing if tp.topic in self.topics),
            orphans,
            at(offsets, GROUPS, refusing),
            at(state, IDS, offline),
            keeps,
        )

    def seen(
        self, parts: Mapping[TopicPartition, PartitionView]
    ) -> tuple[Fate, dict[TopicPartition, Answer]]:
        """What clients get from the brokers that are left; each of them waits for what is not there."""
        every, mine = list(parts), self.writable(parts)
        stuck = any(down_in_sync(parts[tp], self.down) for tp in mine)
        patience = 2.0 * WAITS if stuck else PATIENCE

        def ends(admin: Admin) -> Iterator[object]:
            # The first offset: a new leader below min.insync.replicas cannot tell its end, and is there all the same.
            found = admin.list_offsets(dict.fromkeys(every, EARLIEST), leader_patience=2.0)
            return (tp for tp, one in found.items() if isinstance(one, KcliError))

        def orphans(admin: Admin) -> Iterator[object]:
            return (name for name, one in admin.describe_groups(GROUPS).items() if is_away(one))

        def lost(admin: Admin) -> Iterator[object]:
            return (name for name, one in admin.describe_transactions(IDS).items() if is_away(one))

        def is_deaf(name: str) -> bool:
            # On a connection of its own: a broker answers no further request of one while a commit waits.
            with self.admin(12.0) as admin:
                return any(admin.commit_offsets({name: self.commits})[name].values())

        def ask(reader: Callable[[Admin], Iterator[object]]) -> frozenset[Any]:
            with self.admin(12.0) as admin:
                return frozenset(reader(admin))

        with ThreadPoolExecutor(len(GROUPS) + 2) as pool:
            # At once, before a follower that lags joins the ISR, or leaves it.
            answers = pool.submit(self.produced, mine, patience)
            elects = pool.submit(self.elects)
            deaf = list(pool.map(is_deaf, GROUPS))
            offline, alone, gone = pool.map(ask, (ends, orphans, lost))
        mute = frozenset(name for name, failed in zip(GROUPS, deaf, strict=True) if failed)
        found = answers.result()
        refused = frozenset(tp for tp, one in found.items() if one.is_refused)
        fate = Fate(offline, refused - offline, alone, mute - alone, gone, elects.result())
        return fate, found

    def writable(self, parts: Mapping[TopicPartition, PartitionView]) -> list[TopicPartition]:
        """Those whose leader runs: without a controller metadata names the one that is gone."""
        up = self.nodes.keys() - self.down
        return [tp for tp, part in parts.items() if tp.topic in self.topics and part.leader in up]

    def elects(self) -> bool:
        """Whether there is a leader of the controllers, when one that has lost its followers would have noticed."""
        if len(self.down) > 1 or self.voters == 1:
            time.sleep(RESIGNED)
        with self.admin(6.0) as admin:
            try:
                return admin.describe_quorum().leader >= 0
            except KcliError:
                return False

    def produced(
        self, partitions: Collection[TopicPartition], patience: float
    ) -> dict[TopicPartition, Answer]:
        """A record with acks=all to each: what was answered in time.

        The leader judges by the ISR that it has when the record comes: NOT_ENOUGH_REPLICAS is its word for too few
        replicas. Any other end is asked again: the record waited for a follower, which may leave the ISR meanwhile.
        """
        settings = {"acks": "all", "retries": 0, "message.timeout.ms": WAITS * 1000}
        producer = confluent_kafka.Producer({"bootstrap.servers": self.up, **settings})
        answers: dict[TopicPartition, Answer] = {}
        codes: dict[TopicPartition, int | None] = {}

        def keep(error: confluent_kafka.KafkaError | None, message: confluent_kafka.Message) -> None:
            tp = TopicPartition(str(message.topic()), int(message.partition() or 0))
            codes[tp] = None if error is None else error.code()

        end = time.monotonic() + patience
        while (left := set(partitions) - answers.keys()) and time.monotonic() < end:
            for tp in left:
                producer.produce(tp.topic, b"x", partition=tp.partition, on_delivery=keep)
            assert producer.flush(PATIENCE) == 0
            with self.admin() as admin:
                views = self.parts(admin)
            for tp in left:
                if codes[tp] in (None, confluent_kafka.KafkaError.NOT_ENOUGH_REPLICAS):
                    answers[tp] = Answer(codes[tp] is not None, views[tp])
        return answers

    def run(self, times: int) -> list[Fate]:
        """Situations until as many stops could be judged; what was seen in each."""
        self.prepare()
        with self.admin() as admin:
            found = self.described(admin, COORDINATORS)
            self.partition_counts = {name: len(topic.partitions) for name, topic in found.items()}
        fates = list[Fate]()
        while len(fates) < times:
            self.story = []
            self.situation()
            while len(fates) < times and len(self.nodes.keys() - self.down) > 1:
                self.story = [f"situation {len(fates)}", *self.story[-2:]]
                fates += self.stop_one()
                assert self.moved <= times, "the situations do not keep still"
            self.mend()
        self.throttle(None)
        print(
            f"{times + self.moved} stops, {self.moved} moved, {len(self.wrong)} of {times} differ", flush=True
        )
        assert not self.wrong, f"{len(self.wrong)} of {times}:\n" + "\n\n".join(self.wrong)
        return fates

    def still(self) -> dict[TopicPartition, PartitionView]:
        """The partitions, when they have not changed for a while."""
        since, before = 0.0, dict[TopicPartition, PartitionView]()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with self.admin() as admin:
                now = self.parts(admin)
            if now != before:
                since, before = time.monotonic(), now
            elif time.monotonic() - since >= CALM:
                break
            time.sleep(0.3)
        return before

    def predicted(self, number: int) -> tuple[Fate, dict[TopicPartition, PartitionView]]:
        """What is foreseen, from partitions that still are so when it has been said."""
        for _ in range(20):
            before = self.still()
            foreseen = self.foreseen(number)
            with self.admin() as admin:
                if self.parts(admin) == before:
                    return foreseen, before
            self.story.append("moved while it was foreseen")
        raise AssertionError("the partitions do not keep still")

    def stop_one(self) -> list[Fate]:
        """Another broker stops; what was seen, or nothing where the replicas in sync changed by themselves meanwhile."""
        self.settled()
        number = self.random.choice(sorted(self.nodes.keys() - self.down))
        foreseen, before = self.predicted(number)
        self.story.append(f"{number} stops")
        self.nodes[number].stop(grace=PATIENCE if self.led else 10.0)  # without a controller it never ends
        self.down.add(number)
        if foreseen.elects:
            self.settled()
        with self.admin() as admin:
            after = self.parts(admin)
        seen, answers = self.seen(after)
        with self.admin() as admin:
            later = self.parts(admin) | {tp: one.view for tp, one in answers.items()}
        waiting = set(self.writable(after)) - answers.keys()
        stuck = {tp for tp in waiting if down_in_sync(later[tp], self.down)}
        seen = seen._replace(refusing=seen.refusing | stuck)
        drifts = {tp: drift(before[tp], self.down, after[tp], later[tp]) for tp in before}
        moved = {tp for tp, one in drifts.items() if any(one)}
        home = moved & {tp for tp in before if tp.topic in COORDINATORS}
        judged, expected = (
            fate._replace(offline=fate.offline - moved, refusing=fate.refusing - moved)
            for fate in (seen, foreseen)
        )
        equal = judged == expected or bool(home)
        verdict = "equal" if equal else "DIFFERS"
        counts = map(len, seen[:5])
        print(*self.story, *counts, seen.elects, verdict, f"{len(moved)} moved", sep="; ", flush=True)
        odd = (judged.offline ^ expected.offline) | (judged.refusing ^ expected.refusing)
        views = [
            f"  {tp}: {before[tp]} → {after[tp]} → {later[tp]}{' waits' * (tp in waiting)}"
            for tp in sorted(odd | moved | waiting)
        ]
        print(*views, sep="\n", flush=True)
        if not equal:
            self.wrong.append("\n".join([*self.story, f"foreseen {foreseen}", f"seen     {seen}", *views]))
            print(self.wrong[-1], flush=True)
        self.moved += bool(moved)
        return [] if moved else [seen]

    def mend(self) -> None:
        """All nodes run; the slow topics lag on those that were away."""
        for name in [name for name in self.topics if name.endswith("slow")]:
            self.fill(name)
        for number in sorted(self.down):
            self.nodes[number].start(timeout=None)
        self.down.clear()
        self.settled(elects=True)
        with self.admin() as admin:
            moving = admin.list_reassignments()
            admin.alter_reassignments(dict.fromkeys(moving))
            keep = [name for name in self.topics if name.endswith("slow")][:2]
            gone = [name for name in self.topics if name not in keep]
            assert not any(admin.delete_topics(gone).values())
            self.topics = keep
            until(lambda: self.whole(admin), "the coordinators do not come back")

    def whole(self, admin: Admin) -> bool:
        """Whether the coordinators are. A partition may stay without a leader when its last replica was killed and its
        ELR has brokers that were replicas before a move: then an unclean election ends that.
        """
        parts = {tp: part for tp, part in self.parts(admin).items() if tp.topic in COORDINATORS}
        leaderless = [tp for tp, part in parts.items() if part.leader < 0]
        if leaderless:
            admin.elect_leaders(leaderless, unclean=True)
        return all(part.leader >= 0 and len(part.isr) == len(part.replicas) for part in parts.values())


def is_away(found: object) -> bool:
    return isinstance(found, KcliError) and not isinstance(found, NotFoundError)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_what_is_foreseen_comes_true(kafka3: Kafka) -> None:
    """Two brokers stop, one after the other; the coordinators are as they are."""
    fates = Drill(kafka3, SEED, coordinators=False).run(2)
    assert {fate.elects for fate in fates} == {True, False}
    assert any(fate.offline for fate in fates), "stops that harm nothing prove nothing"
    assert any(fate.refusing for fate in fates)


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("voters", "times"), [(0, 40), (1, 10)])
def test_what_is_foreseen_comes_true_in_fifty_situations(voters: int, times: int) -> None:
    """``voters``: all nodes are, or only the first."""
    extra = {
        **TEST_PROPERTIES,
        **FAST_FAILOVER,
        **SLOW,
        "offsets.topic.num.partitions": "5",
        "transaction.state.log.num.partitions": "5",
    }
    with sandboxed(brokers=3, controllers=voters or None, extra=extra, jvm_options=QUICK_JVM) as kafka:
        fates = Drill(kafka, SEED + voters, voters=voters, coordinators=True).run(times)
    assert sum(bool(fate.offline) for fate in fates) >= times // 5
    assert sum(bool(fate.refusing) for fate in fates) >= times // 5
    assert any(fate.orphans for fate in fates)
    assert any(fate.deaf for fate in fates)
    assert any(fate.lost_ids for fate in fates)
    assert any(not fate.elects for fate in fates)
