"""Random states of a cluster, as the specs of resources, and how a cluster gets one: by requests of an admin client. Not
a test.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from random import Random
from typing import Any

from kcli.core.admin.acls import AclBinding, AclFilter, AclPattern, AclPermission, AclResource
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigChange, ConfigKind, ConfigOp, ConfigResource
from kcli.core.admin.users import ScramCredential, ScramMechanism, mechanism_name, upsertion
from kcli.core.errors import KcliError
from kcli.core.permissions import AclOperation
from kcli.core.secret import Secret
from kcli.core.types import TopicSpec
from kcli.flows.resources.names import acl_ref, acl_spec, quota_entity, quota_ref
from kcli.flows.resources.resource import Kind, Ref
from kcli.flows.resources.state import read_state

State = dict[Ref, dict[str, Any]]
KINDS = (Kind.TOPIC, Kind.ACL_BINDING, Kind.USER, Kind.QUOTA, Kind.BROKER_CONFIG, Kind.GROUP_CONFIG)

_TOPIC_KEYS = {
    "retention.ms": ("3600000", "604800000", "-1"),
    "cleanup.policy": ("compact", "delete", "compact,delete"),
    "segment.bytes": ("1048576", "1073741824"),
    "compression.type": ("lz4", "producer", "zstd"),
    "min.insync.replicas": ("1",),
    "message.timestamp.type": ("LogAppendTime", "CreateTime"),
    "min.cleanable.dirty.ratio": ("0.1", "0.75"),
    "max.compaction.lag.ms": ("86400000",),
    "min.compaction.lag.ms": ("1000", "0"),
    "unclean.leader.election.enable": ("true", "false"),
}
_BROKER_KEYS = {
    "1": {"log.cleaner.delete.retention.ms": ("3600000", "86400000"), "max.connections.per.ip": ("100000",)},
    "default": {"log.cleaner.threads": ("1", "2"), "max.connections": ("100000", "200000")},
}
_GROUP_KEYS = {
    "consumer.session.timeout.ms": ("45000", "50000"),
    "consumer.heartbeat.interval.ms": ("5000", "6000"),
    "share.session.timeout.ms": ("45000", "46000"),
    "streams.session.timeout.ms": ("45000", "47000"),
}
_DEFAULTS = {
    ("retention.ms", "604800000"),
    ("cleanup.policy", "delete"),
    ("segment.bytes", "1073741824"),
    ("compression.type", "producer"),
    ("min.insync.replicas", "1"),
    ("message.timestamp.type", "CreateTime"),
    ("min.cleanable.dirty.ratio", "0.5"),
    ("min.compaction.lag.ms", "0"),
    ("unclean.leader.election.enable", "false"),
    ("log.cleaner.delete.retention.ms", "86400000"),
    ("log.cleaner.threads", "1"),
    ("consumer.session.timeout.ms", "45000"),
    ("consumer.heartbeat.interval.ms", "5000"),
    ("share.session.timeout.ms", "45000"),
    ("streams.session.timeout.ms", "45000"),
}
"""What a key is that is not set: an apply need not set it, unless it is to be exact."""
_OPERATIONS = {
    AclResource.TOPIC: ("READ", "WRITE", "DESCRIBE", "ALTER_CONFIGS", "ALL"),
    AclResource.GROUP: ("READ", "DESCRIBE", "DELETE"),
    AclResource.CLUSTER: ("CREATE", "ALTER", "DESCRIBE_CONFIGS"),
    AclResource.TRANSACTIONAL_ID: ("WRITE", "DESCRIBE"),
    AclResource.DELEGATION_TOKEN: ("DESCRIBE",),
    AclResource.USER: ("CREATE_TOKENS",),
}
_ENTITIES: tuple[dict[str, str | None], ...] = (
    {"user": "a"},
    {"user": "b c"},
    {"user": None},
    {"user": "a", "client-id": "one"},
    {"user": "a", "client-id": None},
    {"client-id": "one"},
    {"client-id": None},
    {"ip": "10.0.0.1"},
)
_LIMITS = {
    "producer_byte_rate": (10_000_000, 20_000_000),
    "consumer_byte_rate": (10_000_000, 20_000_000),
    "request_percentage": (500, 750.5),
}
_HOSTS, _PRINCIPALS = ("*", "10.0.0.1", "0:0:0:0:0:0:0:1"), ("User:a", "User:b c", "User:*", "User:CN=x,O=y")


NOTHING: State = {Ref(Kind.BROKER_CONFIG, "default"): {"config": {"min.insync.replicas": "1"}}}
"""What there is without anybody's doing."""


def random_state(rng: Random) -> State:
    """Of every kind some resources, or none."""
    state: State = {}
    for name in rng.sample(["t-0", "t-1", "t_2", "ta", "tb", "x.y", "other"], rng.randrange(6)):
        state[Ref(Kind.TOPIC, name)] = {
            "partitions": rng.randint(1, 3),
            "replication_factor": 1,
            "config": _some(rng, _TOPIC_KEYS),
        }
    for _ in range(rng.randrange(7)):
        spec = acl_spec(_random_acl(rng))
        state[acl_ref(spec)] = spec
    for name in rng.sample(["a", "b c", "ünï", "User:d"], rng.randrange(4)):
        chosen = rng.sample(list(ScramMechanism), rng.randint(1, 2))
        state[Ref(Kind.USER, name)] = {
            "mechanisms": {
                mechanism_name(one): {"iterations": rng.choice((4096, 4200))} for one in sorted(chosen)
            }
        }
    for entity in rng.sample(_ENTITIES, rng.randrange(5)):
        keys = (
            {"connection_creation_rate": 100_000}
            if "ip" in entity
            else {key: rng.choice(_LIMITS[key]) for key in rng.sample(list(_LIMITS), 2)}
        )
        state[quota_ref(entity)] = {"entity": entity, "limits": dict(sorted(keys.items()))}
    for kind, keys_of in (
        (Kind.BROKER_CONFIG, _BROKER_KEYS),
        (Kind.GROUP_CONFIG, dict.fromkeys(("g0", "g1"), _GROUP_KEYS)),
    ):
        for name, known in keys_of.items():
            if rng.random() < 0.6 and (found := _some(rng, known)):
                state[Ref(kind, name)] = {"config": found}
    every = state.setdefault(Ref(Kind.BROKER_CONFIG, "default"), {"config": {}})
    every["config"] = {**every["config"], "min.insync.replicas": "1"}  # which Kafka sets, and does not let go
    return state


def changed(rng: Random, state: State) -> State:
    """Another state that may have the same resources. No topic has more partitions: they could not be removed."""
    other = random_state(rng)
    for ref, spec in state.items():
        if rng.random() < 0.4:
            other[ref] = spec
        elif ref.kind is Kind.TOPIC and ref in other:
            other[ref]["partitions"] = min(other[ref]["partitions"], spec["partitions"])
    return other


def merged(state: State, files: State) -> State:
    """What is to be after the files were applied to the state: what they do not name stays."""
    found = dict(state)
    for ref, spec in files.items():
        before = state.get(ref, {})
        found[ref] = {
            key: {**before.get(key, {}), **value} if key in ("config", "mechanisms", "limits") else value
            for key, value in {**before, **spec}.items()
        }
    return found


def in_effect(state: State) -> State:
    """Without the keys that have their default, and the resources of which nothing is left."""
    found: State = {}
    for ref, spec in state.items():
        config = {
            key: value for key, value in spec.get("config", {}).items() if (key, value) not in _DEFAULTS
        }
        if ref.kind is Kind.TOPIC or config or "config" not in spec:
            found[ref] = {**spec, "config": config}
    return found


def is_called(ref: Ref, spec: Mapping[str, Any], glob: str) -> bool:
    """Whether ``--match`` selects it."""
    names: list[Any] = [ref.name]
    if ref.kind is Kind.ACL_BINDING:
        names = [spec["resource_name"]]
    elif ref.kind is Kind.QUOTA:
        names = list(spec["entity"].values())
    return any(name is not None and fnmatchcase(name, glob) for name in names)


def current(admin: Admin) -> State:
    """What the cluster has."""
    found = read_state(admin, KINDS)
    assert not found.missing
    return {ref: dict(one.spec) for ref, one in found.items.items()}


def set_state(admin: Admin, wanted: State) -> None:
    """Gives the cluster the state, and waits until it shows it."""
    now = current(admin)
    gone = [ref for ref in now if ref not in wanted]
    fewer = [
        ref
        for ref, spec in wanted.items()
        if ref.kind is Kind.TOPIC and ref in now and now[ref]["partitions"] > spec["partitions"]
    ]
    _check(admin.delete_topics([ref.name for ref in (*gone, *fewer) if ref.kind is Kind.TOPIC]))
    now = {ref: spec for ref, spec in now.items() if ref not in fewer}
    absent = {ref for ref in (*gone, *fewer) if ref.kind is Kind.TOPIC}
    _wait(admin, lambda state: [ref for ref in state if ref in absent])
    _set_topics(admin, wanted, now)
    acls = {_binding(spec) for ref, spec in wanted.items() if ref.kind is Kind.ACL_BINDING}
    have = {_binding(spec) for ref, spec in now.items() if ref.kind is Kind.ACL_BINDING}
    _check(admin.create_acls(list(acls - have)) if acls - have else {})
    filters: list[AclFilter] = [one.filter for one in have - acls]
    if filters:
        admin.delete_acls(filters)
    _set_users(admin, wanted, now)
    for ref in {**now, **wanted}:
        if ref.kind is Kind.QUOTA:
            new, old = wanted.get(ref, {}).get("limits", {}), now.get(ref, {}).get("limits", {})
            entity = quota_entity(wanted.get(ref) or now[ref])
            if new != old:
                admin.alter_quotas(entity, {**dict.fromkeys(old), **new})
    configured = [
        ref for ref in {**now, **wanted} if ref.kind not in (Kind.ACL_BINDING, Kind.USER, Kind.QUOTA)
    ]
    changes = {
        _resource(ref): found
        for ref in configured
        if ref in wanted or ref.kind is not Kind.TOPIC
        if (found := _changes(wanted.get(ref, {}).get("config", {}), now.get(ref, {}).get("config", {})))
    }
    _check(admin.alter_configs(changes) if changes else {})
    _wait(admin, lambda state: different(state, wanted))


def _set_topics(admin: Admin, wanted: State, now: State) -> None:
    specs, grown = [], {}
    for ref, spec in wanted.items():
        if ref.kind is not Kind.TOPIC:
            continue
        if ref not in now:
            specs.append(TopicSpec(ref.name, spec["partitions"], 1, spec["config"]))
            now[ref] = spec
        elif spec["partitions"] > now[ref]["partitions"]:
            grown[ref.name] = spec["partitions"]
    _check(admin.create_topics(specs) if specs else {})
    _check(admin.create_partitions(grown) if grown else {})


def _set_users(admin: Admin, wanted: State, now: State) -> None:
    changes: dict[ScramCredential, Any] = {}
    for ref in {**now, **wanted}:
        if ref.kind is Kind.USER:
            new = wanted.get(ref, {}).get("mechanisms", {})
            old = now.get(ref, {}).get("mechanisms", {})
            for mechanism in ScramMechanism:
                name, key = mechanism_name(mechanism), ScramCredential(ref.name, mechanism)
                if name in new and new[name] != old.get(name):
                    changes[key] = upsertion(Secret("pw"), mechanism, new[name]["iterations"])
                elif name in old and name not in new:
                    changes[key] = None
    for key, change in changes.items():  # Kafka 4.4.0 may lose one of several in a request
        _check(admin.alter_scram_credentials({key: change}))


def different(state: State, other: State) -> dict[Ref, Any]:
    """What differs, and how."""
    refs = {**state, **other}
    return {ref: (state.get(ref), other.get(ref)) for ref in refs if state.get(ref) != other.get(ref)}


def _wait(admin: Admin, wrong: Callable[[State], Collection[Any]]) -> None:
    until = time.monotonic() + 120
    while found := wrong(current(admin)):
        assert time.monotonic() < until, found
        time.sleep(0.05)


def _check(outcome: Mapping[Any, KcliError | None]) -> None:
    errors = [error for error in outcome.values() if error is not None]
    assert not errors, [f"{error}: {error.why}" for error in errors]


def _some(rng: Random, known: Mapping[str, Iterable[str]]) -> dict[str, str]:
    names = rng.sample(list(known), rng.randrange(len(known) // 2 + 1))
    return {name: rng.choice(list(known[name])) for name in sorted(names)}


def _random_acl(rng: Random) -> AclBinding:
    kind = rng.choice(list(AclResource))
    name, pattern = (
        rng.choice(["t-0", "*", "other", "a b"]),
        rng.choice([AclPattern.LITERAL, AclPattern.PREFIXED]),
    )
    if kind is AclResource.CLUSTER:
        name, pattern = "kafka-cluster", AclPattern.LITERAL
    if kind is AclResource.USER:
        name, pattern = "User:z", AclPattern.LITERAL
    if name == "*":
        pattern = AclPattern.LITERAL
    return AclBinding(
        kind,
        name,
        pattern,
        rng.choice(_PRINCIPALS),
        rng.choice(list(AclPermission)),
        AclOperation[rng.choice(_OPERATIONS[kind])],
        rng.choice(_HOSTS),
    )


def _binding(spec: Mapping[str, Any]) -> AclBinding:
    return AclBinding(
        AclResource[spec["resource_type"].upper()],
        spec["resource_name"],
        AclPattern[spec["pattern"].upper()],
        spec["principal"],
        AclPermission[spec["permission"].upper()],
        AclOperation[spec["operation"].upper()],
        spec["host"],
    )


def _resource(ref: Ref) -> ConfigResource:
    kinds = {
        Kind.TOPIC: ConfigKind.TOPIC,
        Kind.BROKER_CONFIG: ConfigKind.BROKER,
        Kind.GROUP_CONFIG: ConfigKind.GROUP,
    }
    return ConfigResource(kinds[ref.kind], "" if ref == Ref(Kind.BROKER_CONFIG, "default") else ref.name)


def _changes(new: Mapping[str, str], old: Mapping[str, str]) -> list[ConfigChange]:
    unset = [ConfigChange(key, None, ConfigOp.DELETE) for key in old if key not in new]
    return [*unset, *(ConfigChange(key, value) for key, value in new.items() if old.get(key) != value)]
