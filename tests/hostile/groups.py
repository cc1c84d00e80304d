"""Targets: what members of a group send one another, and the records of brokers' own topics. Not a test."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from random import Random
from typing import Any

from kcli.core.errors import CorruptRecordsError, ProtocolError
from kcli.core.group.assignors.cooperative_sticky import CooperativeStickyAssignor
from kcli.core.group.assignors.leading import assignments, read_members
from kcli.core.group.assignors.range import RangeAssignor
from kcli.core.group.assignors.roundrobin import RoundRobinAssignor
from kcli.core.group.assignors.sticky import StickyAssignor, StickyUserData
from kcli.core.group.consumer_protocol import (
    Subscription,
    decode_assignment,
    encode_subscription,
)
from kcli.core.offline.coordinator_log import CoordinatorLog, StoredValue
from kcli.core.offline.group_state import GroupState
from kcli.core.offline.image import MetadataImage
from kcli.core.offline.share_state import ShareState
from kcli.core.offline.transaction_state import StoredTransactions
from kcli.core.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kcli.core.protocol.messages.join_group import JoinGroupResponseMember
from kcli.core.protocol.schema import Struct
from kcli.core.protocol.stored.kinds import KINDS
from kcli.core.protocol.stored.metadata_records import KINDS as METADATA_KINDS
from kcli.core.types import Record, TopicPartition
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.job.state import JobState, PartitionProgress, job_record, load_jobs, partition_records
from kcli.serde.errors import DecodeError
from kcli.serde.internal.metadata_serde import MetadataSerde
from kcli.serde.internal.serde import InternalTopicSerde
from kcli.serde.json_text import dump_json
from kcli.serde.serde import SerdeContext
from tests.batches import batch_of
from tests.hostile.mutator import Mark, Sample, mutate, packed, zigzag
from tests.hostile.responses import after, body_sample
from tests.hostile.target import Family, Target

_SAMPLES = 8
_SIZES = {"t": 4, "u": 1, "a": 2}
_ASSIGNORS = (RangeAssignor(), RoundRobinAssignor(), StickyAssignor(), CooperativeStickyAssignor())
_HONEST = encode_subscription(Subscription(("t", "u"), (TopicPartition("t", 1),), 4))


def _samples_of(
    cls: type[Struct], version: int, flexible: bool, edit: Callable[[Any], None] | None = None
) -> tuple[Sample, ...]:
    """Filled structs behind their version, as clients and brokers write them."""
    rng = Random(f"{cls.__name__} {version}")
    head = Sample(packed("h", version), (Mark(0, "h"),))
    return tuple(after(head, body_sample(cls, version, flexible, rng)) for _ in range(_SAMPLES))


@cache
def _subscriptions(version: int) -> tuple[Sample, ...]:
    """Random ones, and some about topics that exist, with the user data of ``sticky``."""
    plain = [
        Sample(encode_subscription(_subscription(Random(index)), version), (Mark(2, "i"), Mark(6, "h")))
        for index in range(_SAMPLES)
    ]
    return (*_samples_of(ConsumerProtocolSubscription, version, False), *plain)


def _subscription(rng: Random) -> Subscription:
    owned = tuple(TopicPartition(rng.choice("tuax"), rng.randrange(-1, 5)) for _ in range(rng.randrange(6)))
    data = StickyAssignor().user_data(owned, rng.randrange(-1, 6))
    return Subscription(tuple(rng.sample("tuax", 2)), owned, rng.randrange(-1, 6), "r", data)


def _lead(data: bytes) -> None:
    """As the leader of a group, with every assignor: unreadable members are left out and the rest is assigned."""
    joined = [
        JoinGroupResponseMember(member_id=name, metadata=blob)
        for name, blob in (("hostile", data), ("honest", _HONEST), ("hostile", data), ("twin", data))
    ]
    members = read_members(joined)
    for assignor in _ASSIGNORS:
        for member, blob in assignments(assignor, members.subscriptions, _SIZES).items():
            decode_assignment(memoryview(blob), member)
    if members.unreadable:
        raise next(iter(members.unreadable.values()))


def _sticky_data(data: bytes) -> None:
    members: Mapping[str, Subscription] = {"m": Subscription(("t",), (), -1, None, data)}
    assignments(StickyAssignor(), members, _SIZES)


def _make(samples: Callable[[], tuple[Sample, ...]], rng: Random) -> bytes:
    some = samples()
    return mutate(rng.choice(some), rng, some)


def _members() -> Iterator[Target]:
    for version in range(ConsumerProtocolSubscription.versions[1] + 1):
        samples = partial(_subscriptions, version)
        yield Target(f"subscription-v{version}", "groups", partial(_make, samples), _lead)
    for version in range(ConsumerProtocolAssignment.versions[1] + 1):
        samples = partial(_cached, ConsumerProtocolAssignment, version, False)
        run = partial(decode_assignment, member="m")
        yield Target(f"assignment-v{version}", "groups", partial(_make, samples), run)
    for version in (0, 1):
        samples = partial(_sticky_samples, version)
        yield Target(f"sticky-user-data-v{version}", "groups", partial(_make, samples), _sticky_data)


@cache
def _cached(cls: type[Struct], version: int, flexible: bool) -> tuple[Sample, ...]:
    return _samples_of(cls, version, flexible)


@cache
def _sticky_samples(version: int) -> tuple[Sample, ...]:
    rng = Random(version)
    return tuple(body_sample(StickyUserData, version, False, rng) for _ in range(_SAMPLES))


def _internal_run(serde: InternalTopicSerde, part: str, data: bytes) -> None:
    """The first byte of a value is the length of its key."""
    key: bytes | None = None
    if part == "value":
        if not data:
            return
        key, data = data[1 : 1 + data[0]], data[1 + data[0] :]
        _replay(serde.name, key, data)
    dump_json(serde.decode(data, SerdeContext("__topic", part, (), key))).encode()


def _replay(name: str, key: bytes, value: bytes) -> None:
    """As a reader of log directories does it."""
    log = CoordinatorLog()
    log.values[key] = StoredValue(0, value)
    state = {
        "consumer_offsets": GroupState,
        "transaction_state": StoredTransactions,
        "share_group_state": ShareState,
    }[name]()
    with suppress(ProtocolError):
        state.add(log)


@cache
def _keyed_samples(number: int, cls: type[Struct], version: int, flexible: bool) -> tuple[Sample, ...]:
    head = Sample(b"\2" + packed("h", number), ())
    return tuple(after(head, one) for one in _samples_of(cls, version, flexible))


def _internal() -> Iterator[Target]:
    for name, kinds in KINDS.items():
        serde = InternalTopicSerde(name)
        for kind in kinds.values():
            samples = partial(_key_samples, kind.number, kind.key)
            yield Target(
                f"{name}-key{kind.number}",
                "groups",
                partial(_make, samples),
                partial(_internal_run, serde, "key"),
                (DecodeError,),
            )
            value: Any = kind.value
            for version in range(value.versions[0], value.versions[1] + 1):
                values = partial(_keyed_samples, kind.number, value, version, version >= value.flexible)
                yield Target(
                    f"{name}-value{kind.number}-v{version}",
                    "groups",
                    partial(_make, values),
                    partial(_internal_run, serde, "value"),
                    (DecodeError,),
                )


def _metadata() -> Iterator[Target]:
    """The log of the controllers."""
    serde = MetadataSerde()
    for number, value in METADATA_KINDS.items():
        cls: Any = value
        for version in range(cls.versions[0], cls.versions[1] + 1):
            yield Target(
                f"cluster_metadata-value{number}-v{version}",
                "groups",
                partial(_make, partial(_metadata_samples, number, cls, version)),
                partial(_metadata_run, serde),
                (DecodeError,),
            )


def _metadata_run(serde: MetadataSerde, data: bytes) -> None:
    with suppress(ProtocolError):  # its replay stops, too
        MetadataImage().replay([batch_of([Record("__cluster_metadata", 0, 0, 0, 0, None, data)])])
    dump_json(serde.decode(data, SerdeContext("__cluster_metadata", "value"))).encode()


@cache
def _metadata_samples(number: int, cls: type[Struct], version: int) -> tuple[Sample, ...]:
    head = Sample(bytes([1, number, version]), ())
    rng = Random(f"{cls.__name__} {version}")
    return tuple(after(head, body_sample(cls, version, True, rng)) for _ in range(_SAMPLES))


@cache
def _key_samples(number: int, cls: type[Struct]) -> tuple[Sample, ...]:
    rng = Random(number)
    head = Sample(packed("h", number), (Mark(0, "h"),))
    return tuple(after(head, body_sample(cls, 0, False, rng)) for _ in range(_SAMPLES))


def _mirror() -> Iterator[Target]:
    """The state of ``kcli mirror``, which anyone may write who can write to its topic."""
    yield Target("mirror-offset-map", "groups", partial(_make, _map_samples), _map_run)
    yield Target("mirror-state", "groups", partial(_make, _state_samples), _state_run, (CorruptRecordsError,))


@cache
def _map_samples() -> tuple[Sample, ...]:
    rng = Random(1)
    samples = []
    for _ in range(_SAMPLES):
        data, marks = bytearray(), []
        for _ in range(rng.randrange(1, 20)):
            for number in (rng.randrange(3), rng.randrange(3), rng.randrange(1, 400)):
                marks.append(Mark(len(data), "z"))
                data += zigzag(number)
        samples.append(Sample(bytes(data), tuple(marks)))
    return tuple(samples)


def _map_run(data: bytes) -> None:
    found = OffsetMap(0, 0)
    found.load([data])
    list(found.runs())


@cache
def _state_samples() -> tuple[Sample, ...]:
    """Keys and values with a zero byte between any two."""
    tp = TopicPartition("t", 0)
    offsets = OffsetMap(0, 0)
    for first in range(0, 90, 3):
        offsets.append(first, first * 2, 2)
    job = JobState(
        job="j", run="r", source="s", target="d", source_servers="h:1", delivery="at-least-once", partitions="same",
        topics={"t": "t"}, started_ms=1, updated_ms=2, host="h",
    )  # fmt: skip
    progress = PartitionProgress(
        target="t", target_partition=0, topic_id="", target_topic_id="", start=0, target_start=0, position=90,
        leader_epoch=0, source_end=90, records=60, bytes=600, segments=0, runs="", updated_ms=3,
    )  # fmt: skip
    records = [job_record(job), *partition_records(job.id, tp, progress, offsets)]
    return (Sample(b"\0".join(piece or b"" for record in records for piece in record)),)


def _state_run(data: bytes) -> None:
    pieces = data.split(b"\0")
    load_jobs(list(zip(pieces[::2], [*pieces[1::2], None], strict=False)))


def family() -> Family:
    """All of them."""
    return Family("groups", 0.1, (*_members(), *_internal(), *_metadata(), *_mirror()))
