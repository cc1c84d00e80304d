"""A small model of a group that is rewound as it runs: members that are quick or slow, join in the foreground or in the
background, commit by themselves, after each batch, or from a worker thread; that are killed, stopped, and joined by
others. Seen by a judge as kcli would see it. Not a test.

What is true of a partition the model knows: after the members were released it is read from the new offset on, one record
after the other, unless somebody begins beyond what was read again by then.
"""

from dataclasses import dataclass, field
from random import Random

from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.group.barrier.arrivals import ArrivalLog, ListedMember
from kcli.core.types import TopicPartition
from kcli.flows.rewind.attendance import LONGEST_BATCH, Attendance, EvictedMember
from kcli.flows.rewind.judge import HELD, OPEN, Judge, Observation
from kcli.flows.rewind.live import hold_times
from kcli.flows.rewind.trail import Rewound

STEP = 0.05
NEVER = float("inf")


@dataclass
class Habit:
    """``batch``: seconds that one takes, of ``size`` records of each partition; ``kind``: ``auto`` (every ``auto``
    seconds), ``batch`` or ``worker``. ``late_fetch``: it asks where to begin when its batch is done,
    even if it has joined before. ``retries``: a commit that was refused is kept, and sent as soon as it may be.
    """

    kind: str
    batch: float
    auto: float
    background: bool
    size: int
    late_fetch: bool
    retries: bool = False

    @property
    def pace(self) -> float:
        """The longest time between two commits, as a history shows it."""
        return max(self.batch, self.auto if self.kind == "auto" else 0.0) + 0.1


@dataclass
class Member:
    """One process. ``positions`` are those of its generation; ``hands`` what is in work and not committed."""

    number: int
    name: str
    habit: Habit
    heartbeat: float
    id: str = ""
    generation: int = -1
    positions: dict[int, int] = field(default_factory=dict)
    hands: dict[int, int] = field(default_factory=dict)
    kept: dict[int, int] = field(default_factory=dict)
    queue: list[tuple[float, dict[int, int]]] = field(default_factory=list)
    busy_until: float = -NEVER
    next_beat: float = -NEVER
    next_auto: float = -NEVER
    fetch_at: float = NEVER
    to_fetch: set[int] = field(default_factory=set)
    dead: bool = False
    stopped_until: float = -NEVER
    must_join: bool = False
    waiting: bool = False
    silent_since: float = -NEVER

    def listed(self) -> ListedMember:
        return ListedMember(self.id, None, self.name, "/h")


class World:
    """One rewind. Everything happens in ``run``; then ``held`` and ``jumped`` are compared.

    ``bound``: for how long the group may be held for batches that members have in hand.
    """

    def __init__(self, rng: Random, *, protocol: str, accidents: bool, bound: float = LONGEST_BATCH) -> None:
        self.rng, self.classic, self.bound = rng, protocol == "classic", bound
        self.time, self.ids = 0.0, 0
        self.partitions = rng.randint(1, 4)
        self.rate = rng.choice((0, 20, 150))
        self.base = 3_000
        self.session = rng.choice((6.0, 10.0))
        same = rng.random() < 0.6
        habits = [self._habit() for _ in range(2)]
        count = rng.randint(1, 3)
        self.members = [
            Member(n, "app" if same else f"app-{n}", rng.choice(habits), rng.choice((0.3, 1.0, 3.0)))
            for n in range(count)
        ]
        self.committed = dict.fromkeys(range(self.partitions), self.base)
        self.history: dict[int, list[int | None]] = {p: [self.base] for p in range(self.partitions)}
        self.owner: dict[int, Member | None] = dict.fromkeys(range(self.partitions))
        self.group: list[Member] = []
        self.generation, self.preparing = 0, False
        self.barrier = False
        self.unassigned = False  # whether the barrier lets the members of a classic group in to own nothing
        self.released_at: float | None = None
        self.cover: dict[int, int] = {}
        self.jumped: dict[int, str] = {}
        self.log: list[str] = []
        self._accidents = self._draw_accidents(count) if accidents else []
        if rng.random() < (0.65 if accidents else 0.3):
            self._accidents.append((rng.uniform(0.5, 30.0), "join", 0, 0.0))
        self.long = rng.randrange(count) if rng.random() < 0.35 else None

    def _habit(self) -> Habit:
        rng = self.rng
        kind = rng.choice(("auto", "batch", "batch", "worker"))
        batch = rng.choice((0.0, 0.0, 0.3, 2.3, 6.0))
        if kind == "worker":
            batch = max(batch, 1.0)
        return Habit(
            kind,
            batch,
            rng.choice((0.1, 1.0, 5.0)),
            rng.random() < 0.6,
            rng.choice((50, 500)),
            rng.random() < 0.5,
            retries=kind != "auto" and rng.random() < 0.4,
        )

    def _draw_accidents(self, count: int) -> list[tuple[float, str, int, float]]:
        rng = self.rng
        return [
            (
                rng.uniform(-0.5, 30.0),
                rng.choice(("kill", "stop", "restart")),
                rng.randrange(count),
                rng.uniform(2, 15),
            )
            for _ in range(rng.randint(1, 3))
        ]

    # --- the group ---------------------------------------------------------------------------------------

    def end(self) -> int:
        return self.base + int(self.rate * (self.time + 40))

    def enter(self, member: Member) -> None:
        """It asks to join."""
        if not member.id or (self.classic and member not in self.group):
            self.ids += 1
            member.id = f"{member.name}-{self.ids}"
        member.must_join, member.positions = False, {}
        member.to_fetch.clear()
        member.generation, member.fetch_at = -1, NEVER
        if member not in self.group:
            self.group.append(member)
        member.waiting = self.classic
        member.silent_since = self.time
        if self.classic:
            self.preparing = True
        else:
            member.generation = self.generation

    def leave(self, member: Member) -> None:
        if member in self.group:
            self.group.remove(member)
            for partition, owner in self.owner.items():
                if owner is member:
                    self.owner[partition] = None
            member.waiting = False
            if self.classic:
                self.preparing = True

    def settle(self) -> None:
        """Classic: a generation when all have joined; else partitions go one by one."""
        if self.unassigned and self.group and self.preparing and all(one.waiting for one in self.group):
            self.generation += 1
            self.preparing = False
            self.note("a generation in which nobody owns anything")
            for one in self.group:
                one.waiting, one.generation = False, self.generation
        if self.barrier or not self.group:
            return
        if self.classic:
            if self.preparing and all(one.waiting for one in self.group):
                self.generation += 1
                self.preparing = False
                order = self.group[:]
                self.rng.shuffle(order)
                for partition in range(self.partitions):
                    self.owner[partition] = order[partition % len(order)]
                for one in self.group:
                    one.waiting, one.generation = False, self.generation
                    one.fetch_at = self.time + self.rng.uniform(0.0, 0.15)
            return
        for partition, wanted in self._targets().items():
            owner = self.owner[partition]
            if owner is wanted:
                continue
            if owner is None:
                if self.time >= wanted.next_beat - STEP and not self._still(wanted):
                    self.owner[partition] = wanted
                    wanted.to_fetch.add(partition)
            elif self.time >= owner.next_beat - STEP and not self._still(owner):
                if owner.habit.kind == "auto" and partition in owner.positions:
                    self.commit(owner, {partition: owner.positions[partition]}, owner.generation)
                owner.positions.pop(partition, None)
                self.owner[partition] = None

    def _targets(self) -> dict[int, Member]:
        """Of a group of the new protocol that has members."""
        order = sorted(self.group, key=lambda one: one.id)
        return {partition: order[partition % len(order)] for partition in range(self.partitions)}

    def commit(self, member: Member, offsets: dict[int, int], _generation: int) -> bool:
        """A member may commit for any partition; a member waiting to rejoin a classic group may not."""
        allowed = self.may_commit(member)
        if not allowed and member.habit.retries:
            member.kept |= offsets
        if allowed:
            for partition, offset in offsets.items():
                if self.committed[partition] != offset:
                    self.note(f"{member.id} commits {partition}: {offset}")
                    self.history[partition].append(offset)
                self.committed[partition] = offset
        return allowed

    def may_commit(self, member: Member) -> bool:
        allowed = member in self.group and not member.waiting
        if self.classic:
            shut = self.barrier and not self.unassigned
            allowed = allowed and member.generation == self.generation and not shut
        return allowed

    # --- members -----------------------------------------------------------------------------------------

    def _still(self, member: Member) -> bool:
        return member.dead or self.time < member.stopped_until

    def begun(self, member: Member, partition: int) -> None:
        """A reader begins at what is committed."""
        offset = member.positions[partition]
        self.note(f"{member.id} begins {partition} at {offset}")
        if self.released_at is None:
            return
        if partition not in self.cover:
            self.cover[partition] = self.new[partition]
        if offset > self.cover[partition] or offset < self.new[partition]:
            self.jumped.setdefault(partition, f"{self.time:.2f}: {member.id} begins at {offset}")

    def step(self, member: Member) -> None:
        if self._still(member):
            if member in self.group and self.time - member.silent_since > self.session:
                self.note(f"{member.id} is missed")
                self.leave(member)
            return
        if self.time >= member.next_beat:
            member.next_beat = self.time + member.heartbeat
            member.silent_since = self.time
            self.beat(member)
        if member.kept and self.may_commit(member):
            kept, member.kept = member.kept, {}
            self.commit(member, kept, member.generation)
        self.work(member)

    def beat(self, member: Member) -> None:
        evicted = member not in self.group
        rebalance = self.classic and self.preparing and not member.waiting and not evicted
        if not (evicted or rebalance):
            return
        if member.habit.background or member.busy_until <= self.time:
            self.rejoin(member, evicted=evicted)
        else:
            member.must_join = True

    def rejoin(self, member: Member, *, evicted: bool) -> None:
        if not evicted and member.habit.kind == "auto":
            self.commit(member, dict(member.positions), member.generation)
        self.note(f"{member.id} joins again")
        self.enter(member)

    def work(self, member: Member) -> None:
        while member.queue and member.queue[0][0] <= self.time:
            self.commit(member, member.queue.pop(0)[1], member.generation)
        if not member.habit.late_fetch:
            self.fetch(member)
        if member.busy_until > self.time:
            return
        if member.hands:
            self.commit(member, member.hands, member.generation)
            member.hands = {}
        self.fetch(member)
        if member.must_join:
            self.rejoin(member, evicted=member not in self.group)
        self.read(member)

    def fetch(self, member: Member) -> None:
        """It asks where to begin."""
        for partition in member.to_fetch:
            if self.owner[partition] is member and member in self.group:
                member.positions[partition] = self.committed[partition]
                self.begun(member, partition)
        member.to_fetch.clear()
        if member.fetch_at > self.time:
            return
        member.fetch_at = NEVER
        if member.generation == self.generation:
            for partition, owner in self.owner.items():
                if owner is member:
                    member.positions[partition] = self.committed[partition]
                    self.begun(member, partition)

    def read(self, member: Member) -> None:
        habit = member.habit
        if habit.kind == "auto" and self.time >= member.next_auto:
            member.next_auto = self.time + habit.auto
            self.commit(member, dict(member.positions), member.generation)
        if habit.kind == "worker" and len(member.queue) > 1:
            return
        batch = {}
        for partition, position in member.positions.items():
            stop = min(self.end(), position + habit.size)
            if stop > position:
                batch[partition] = stop
                if self.released_at is not None and member.generation >= self.released_generation:
                    start = self.cover.get(partition, position)
                    if position <= start:
                        self.cover[partition] = max(start, stop)
        if not batch:
            return
        member.positions.update(batch)
        if habit.kind == "worker":
            begin = max(self.time, member.queue[-1][0] if member.queue else 0.0)
            member.queue.append((begin + habit.batch, batch))
        else:
            member.busy_until = self.time + habit.batch
            if habit.kind == "batch":
                member.hands = batch

    def note(self, text: str) -> None:
        self.log.append(f"{self.time:7.2f} {text}")

    # --- a run -------------------------------------------------------------------------------------------

    def tick(self) -> None:
        self.time = round(self.time + STEP, 6)
        for member in self.members[:]:
            self.step(member)
        self.settle()

    def happen(self) -> None:
        for accident in self._accidents[:]:
            at, kind, number, back = accident
            if self.time < at:
                continue
            self._accidents.remove(accident)
            self.note(f"{kind} {number}")
            if kind == "join":
                self._newcomer(self.members[0].name)
                continue
            member = self.members[number]
            if kind == "stop":
                member.stopped_until = self.time + back
            else:
                member.dead = True
                if kind == "restart":
                    self._accidents.append((self.time + back / 4, "join", 0, 0.0))

    def _newcomer(self, name: str) -> None:
        made = Member(len(self.members), name, self.members[0].habit, self.members[0].heartbeat)
        self.members.append(made)
        self.enter(made)

    def run(self) -> None:
        """Until the judge has decided, and much longer."""
        self.time = -30.0
        for member in self.members:
            self.enter(member)
        while self.time < 0.0:
            self.tick()
        self.released_generation = 10**9
        if self.long is not None:
            member = self.members[self.long]
            late = {p: min(self.end(), at + 300) for p, at in member.positions.items() if at < self.end()}
            long = self.rng.uniform(0.0, 10.0)
            if member.habit.kind == "worker":
                member.queue = [(long, late)]
            else:
                member.hands, member.busy_until = late, long
                member.positions.update(late)
            self.note(f"{member.id} is at work until {long:.2f} on {late}")
        self._rewind()
        self._watch()

    def _rewind(self) -> None:
        log = ArrivalLog(keeps_id=not self.classic)
        before = {p: (None if one is None else one.id) for p, one in self.owner.items()}
        evicted = self.group[:]
        self.barrier = True
        log.record_eviction([one.listed() for one in evicted], self.time)
        had = {
            one.id: frozenset(TopicPartition("t", p) for p, i in before.items() if i == one.id)
            for one in evicted
        }
        paces = {one.id: one.habit.pace for one in evicted}
        for member in evicted:
            self.leave(member)
        old = dict(self.committed)
        choice = self.rng.choice((200, 1_000, 2_500, -100))
        self.new = {p: max(0, min(at - choice, self.end())) for p, at in old.items()}
        self._set()
        began = self.time
        patience = hold_times(paces.values(), bound=self.bound)
        corrected = began
        horizon, seen = self.end(), began
        while True:
            self.happen()
            self.unassigned = (
                self.classic
                and patience.since_eviction > 0
                and (self.unassigned or log.all_back or self.time > began + 8.0)
            )
            self.tick()
            if self.unassigned and not self.preparing:
                log.record_unassigned([one.id for one in self.group], self.time)
            if self.committed != self.new:
                corrected = self.time
                self._set()
            log.record_listing([one.listed() for one in self.group], self.time)
            if log.last_arrival > seen:
                horizon, seen = self.end(), log.last_arrival
            waited = log.all_back or self.time > began + 8.0
            quiet_since = max(corrected, log.last_arrival)
            if waited and self.time > max(quiet_since + patience.quiet, began + patience.since_eviction):
                break
        self.released_at, self.barrier, self.unassigned = self.time, False, False
        self.preparing = self.classic
        self.note("released")
        self.generation += 1
        self.released_generation = self.generation
        if not self.classic:
            for one in self.group:
                one.generation = self.generation
        shift = self.time
        arrivals = [one.since(shift) for one in log.arrivals]
        outs = [
            EvictedMember(one, had[one.member_id], paces[one.member_id], self.session) for one in log.evicted
        ]
        attendance = Attendance(outs, log.evicted_at - shift, arrivals, keeps_id=not self.classic)
        rewound = {}
        for p in self.new:
            tp = TopicPartition("t", p)
            rewound[tp] = Rewound(self.new[p], old[p], horizon)
        self.old = old
        self.judge = Judge(rewound, attendance, assignor="range" if self.classic else "")
        self.held: dict[int, float] = {}
        self.verdicts: dict[int, str] = {}
        self.over = False

    def _set(self) -> None:
        """The barrier commits."""
        self.committed = dict(self.new)
        for partition, offset in self.new.items():
            self.history[partition].append(offset)

    def _watch(self) -> None:
        assert self.released_at is not None
        bound, next_look = self.released_at + 90.0, self.time
        exposed = False
        while self.time < self.released_at + 100.0:
            self.happen()
            self.tick()
            if self.time >= next_look and self.time <= bound and not self.over:
                next_look = self.time + 0.1
                self._look()
                self.over = self._decided() or self.time + 0.1 > bound
            if self.over and not exposed:  # what is committed now, shows
                exposed = True
                when = self.time + self.rng.uniform(0.1, 3.0)
                if self.rng.random() < 0.5:
                    self._accidents.append((when, "join", 0, 0.0))
                else:
                    self._accidents.append((when, "kill", self.rng.randrange(len(self.members)), 0.0))
                    self._accidents.append((when + 0.1, "join", 0, 0.0))

    def _look(self) -> None:
        assert self.released_at is not None
        since = self.time - self.released_at
        places = {p: TopicPartition("t", p) for p in range(self.partitions)}
        described = []
        for one in self.group:
            own = tuple(
                places[p]
                for p, owner in self.owner.items()
                if owner is one and not (self.classic and self.preparing)
            )
            described.append(MemberDescription(one.id, None, one.name, "/h", assignment=own))
        if self.classic:
            state = "PreparingRebalance" if self.preparing else "Stable"
        else:
            state = "Stable" if not self.group or self.owner == self._targets() else "Reconciling"
        kind = "classic" if self.classic else "consumer"
        group = GroupDescription("g", kind, state, "consumer", "range", 1, tuple(described))
        commits = {places[p]: at for p, at in self.committed.items()}
        self.judge.observe(Observation(since, commits, group, dict.fromkeys(places.values(), self.end())))

    def _decided(self) -> bool:
        """As ``Watcher`` has it: what is left to the history is looked up there when nothing else is waited for."""
        assert self.released_at is not None
        since = self.time - self.released_at
        for confirmed in (False, True):
            said = {p: self.judge.verdict(TopicPartition("t", p), since) for p in range(self.partitions)}
            open_ = [one.awaited for one in said.values() if one.status == OPEN and one.awaited is not None]
            if not confirmed and self.judge.unconfirmed and all(one.history for one in open_):
                self.judge.confirm({TopicPartition("t", p): log for p, log in self.history.items()})
        self.verdicts = {p: one.status for p, one in said.items()}
        self.held = {p: since for p, verdict in self.verdicts.items() if verdict == HELD}
        return not open_
