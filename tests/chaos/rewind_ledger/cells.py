"""What a cell is, and how one is drawn: the same seed and number give the same cell."""

from dataclasses import dataclass
from random import Random

CLIENTS = {"confluent": 34, "java": 17, "kafka-python": 24, "aiokafka": 25}
"""And how often each is drawn. A Java member takes a second of a processor to start."""
ASSIGNORS = {
    "confluent": ("range", "roundrobin", "cooperative-sticky"),
    "java": ("range", "roundrobin", "sticky", "cooperative-sticky"),
    "kafka-python": ("range", "roundrobin", "sticky", "cooperative-sticky"),
    "aiokafka": ("range", "roundrobin", "sticky"),
}
NEW_PROTOCOL = ("confluent", "java")
MIXED = {
    "range": ("confluent", "kafka-python", "aiokafka", "java"),
    "roundrobin": ("confluent", "kafka-python", "aiokafka"),
    "cooperative-sticky": ("confluent", "java"),
    "": NEW_PROTOCOL,
}
HABITS = {"auto": 33, "record": 8, "batch": 15, "explicit": 14, "retry": 9, "callback": 9, "worker": 12}
"""How members commit: every so often by themselves; after each record; the client's positions, or explicit offsets, after
each batch; those that were refused again after the next poll; explicit offsets every 2 s and when partitions are revoked;
a worker that commits explicit offsets late.
"""
AT_LATE_COMMIT = "a kill at the late commit"


@dataclass(frozen=True)
class Event:
    """``member`` is killed, terminated, stopped, or joins, ``at`` seconds after the start of the rewind.

    ``back``: seconds until it is started again, or continued; 0: never.
    """

    kind: str
    at: float
    member: int = 0
    back: float = 0.0

    def __str__(self) -> str:
        back = f", back after {self.back:.1f}" if self.back else ""
        who = "" if self.kind == "join" else f" {self.member}"
        return f"{self.kind}{who} at {self.at:.1f}{back}"


@dataclass(frozen=True)
class Cell:
    """``clients``: one for each member. ``assignor`` is empty in groups of the new protocol (KIP-848).

    ``busy``: seconds that a batch takes. ``long_batch``: the member whose batch of ``long_seconds`` is in work when the
    rewind begins. ``exposure``: how a rebalance is brought about afterwards, so that a late commit shows; it shows best
    when the member is killed that has just made it, before the next commit hides it.
    """

    number: int
    clients: tuple[str, ...]
    assignor: str
    habit: str
    auto_ms: int
    busy: float
    long_batch: int | None
    long_seconds: float
    static: bool
    same_client_id: bool
    partitions: int
    rate: int
    session_ms: int
    heartbeat_ms: int
    target: str
    settle: float
    events: tuple[Event, ...]
    exposure: str

    @property
    def protocol(self) -> str:
        return "classic" if self.assignor else "consumer"

    @property
    def calm(self) -> bool:
        """Whether nobody is killed, terminated or stopped while the rewind runs."""
        return self.exposure != AT_LATE_COMMIT and all(event.kind == "join" for event in self.events)

    @property
    def quickest(self) -> float:
        """Seconds that a batch takes until its commit, at least."""
        return self.busy if self.habit != "worker" else max(1.0, self.busy)

    def __str__(self) -> str:
        kinds = (
            "+".join(self.clients) if len(set(self.clients)) > 1 else f"{len(self.clients)} {self.clients[0]}"
        )
        habit = f"auto {self.auto_ms / 1000:g} s" if self.habit == "auto" else self.habit
        words = [kinds, self.assignor or "KIP-848", habit]
        words += [f"busy {self.busy:g} s"] if self.busy else []
        words += (
            [f"a batch of {self.long_seconds} s at member {self.long_batch}"]
            if self.long_batch is not None
            else []
        )
        words += ["static"] if self.static else []
        words += ["one client id"] if self.same_client_id else []
        words += [f"{self.partitions} partitions", f"to {self.target}", *map(str, self.events)]
        return f"{', '.join(words)}; then {self.exposure}"


def draw(seed: int, number: int) -> Cell:
    """One cell."""
    rng = Random(f"{seed}:{number}")
    late_joiner = rng.random() < 0.07
    new_protocol = not late_joiner and rng.random() < 0.33
    kind = rng.choice(NEW_PROTOCOL) if new_protocol else _weighted(rng, CLIENTS)
    if new_protocol and kind == "java" and rng.random() < 0.35:
        kind = "confluent"
    assignor = "" if new_protocol else rng.choice(ASSIGNORS[kind])
    members = rng.choice((1, 2, 2, 2, 3)) if not late_joiner else 2
    clients = (kind,) * members
    if members > 1 and assignor in MIXED and kind in MIXED[assignor] and rng.random() < 0.15:
        clients = (kind, *(rng.choice(MIXED[assignor][:3]) for _ in range(members - 1)))
    habit = (
        _weighted(rng, HABITS) if not late_joiner else rng.choice(("retry", "retry", "explicit", "worker"))
    )
    long_batch = rng.randrange(members) if late_joiner or rng.random() < 0.12 else None
    quick = long_batch is not None or habit == "record"
    return Cell(
        number,
        clients,
        assignor,
        habit,
        rng.choice((100, 1_000, 5_000)),
        0.0 if quick else rng.choice((0.0, 0.0, 0.0, 0.05, 0.5, round(rng.uniform(2.0, 2.5), 2))),
        long_batch,
        round(rng.uniform(11.0, 15.0) if late_joiner else rng.uniform(8.0, 12.0), 1),
        rng.random() < 0.2,
        rng.random() < 0.5,
        rng.randint(max(2, members), 6),
        20 if habit == "record" else rng.randint(100, 200),
        rng.choice((6_000, 10_000)),
        rng.choice((300, 1_000, 3_000)),
        _target(rng, habit),
        round(rng.uniform(1.0, 5.0), 1),
        (Event("join", round(rng.uniform(7.0, 9.5), 2)),) if late_joiner else _events(rng, members),
        _exposure(rng, long_batch),
    )


def _exposure(rng: Random, long_batch: int | None) -> str:
    late = 150 if long_batch is not None else 0
    return rng.choices(("a join", "a restart", "a kill", AT_LATE_COMMIT), (45, 35, 20, late))[0]


def _weighted(rng: Random, weights: dict[str, int]) -> str:
    return rng.choices(list(weights), list(weights.values()))[0]


def _target(rng: Random, habit: str) -> str:
    small, far = ("-20", "10") if habit == "record" else ("-200", str(rng.choice((0, 200, 500))))
    return rng.choices((small, far, "latest", "+150"), (40, 36, 12, 12))[0]


def _events(rng: Random, members: int) -> tuple[Event, ...]:
    """Nothing in half of the cells."""
    if rng.random() < 0.5:
        return ()
    kind = rng.choice(("kill", "kill", "terminate", "stop", "join", "join"))
    if kind == "join":
        at = rng.choice((rng.uniform(-1.0, -0.1), rng.uniform(0.2, 3.0), rng.uniform(8.0, 10.0)))
        return (Event("join", round(at, 2)),)
    back = round(rng.uniform(1.0, 8.0), 1) if kind == "stop" or rng.random() < 0.5 else 0.0
    if kind == "stop" and rng.random() < 0.3:
        back += 7.0  # beyond its session
    return (Event(kind, round(rng.uniform(0.0, 6.0), 2), rng.randrange(members), back),)
