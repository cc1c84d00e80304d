"""What stands in the way of a mirror, found before the first record is copied. Pure.

A conflict is something that the copy could not undo or would only meet half-way: fewer partitions, timestamps that the
target would replace, a clean-up that removes what the source keeps, batches that are too large, a message format without
headers. A missing permission is reported for all topics at once. Warnings leave the copy exact but cost something.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.names import STATE_TOPIC
from kcli.core.permissions import AclOperation, Permission, grant_command, granted_to, is_allowed, on_topic
from kcli.core.types import TopicSpec
from kcli.flows.mirror.topics.configs import (
    APPENDED,
    BATCH_BYTES,
    CLEANUP,
    TIMESTAMPS,
    ConfigSync,
    Difference,
    Values,
    differences,
    number,
    policies,
    written_to_existing,
    written_to_new,
)
from kcli.flows.mirror.topics.routes import Route
from kcli.output.progress import counted

NO_TOPICS: Mapping[str, str] = {}
_NOTHING_KNOWN: Mapping[str, int | KcliError | None] = {}
_TOPIC_LEVEL = ConfigSync()


class ConflictError(KcliError):
    """The target does not allow an exact copy."""

    exit_code = ExitCode.REFUSED


class TopicFacts(NamedTuple):
    """What is known of a topic. ``configs`` are the effective values, ``own`` those set on the topic itself.

    ``operations`` are the bits of what this client may do with it (KIP-430); None if brokers do not report them.
    """

    topic_id: str
    partitions: int
    replicas: int
    configs: Mapping[str, str]
    own: Mapping[str, str]
    operations: int | None = None


HIDDEN = TopicFacts("", 0, 1, {}, {}, operations=0)
"""A topic that this client may not describe."""


class Finding(NamedTuple):
    """A conflict, a missing permission or a warning about one route. ``do`` is the remedy."""

    route: Route
    what: str
    do: str = ""


class Denied(NamedTuple):
    """A permission that is missing for one route, or all (None), on a topic of the ``source``, or else of the target."""

    route: Route | None
    what: str
    need: Permission
    of_source: bool


class Findings(NamedTuple):
    """The result of all checks. ``create`` are the topics that the target lacks.

    ``grow`` are the target's topics that get as many partitions as the source has now: those that the job copies already.
    ``alter``: what is set on topics that the target has. ``differences`` remain, or are set; ``in_force`` are the
    values of all target topics when the copy begins, as far as they are known.
    """

    conflicts: list[Finding]
    denied: list[Denied]
    warnings: list[Finding]
    create: list[TopicSpec]
    grow: dict[str, int]
    alter: dict[str, dict[str, str]]
    differences: list[Difference]
    in_force: dict[str, Values]


def check_routes(
    routes: Sequence[Route],
    sources: Mapping[str, TopicFacts],
    targets: Mapping[str, TopicFacts],
    *,
    by_key: bool,
    brokers: int,
    cluster_operations: int | None,
    new_operations: Mapping[str, int | KcliError | None] = _NOTHING_KNOWN,
    continues: Mapping[str, str] = NO_TOPICS,
    sync: ConfigSync = _TOPIC_LEVEL,
    defaults: Values = NO_TOPICS,
    wanted_replicas: int | None = None,
) -> Findings:
    """Checks all routes; ``targets`` lacks the topics that do not exist. ``brokers``: of the target.

    ``new_operations``: what this client may do with topics of the names that ``targets`` lacks; an error where it may not
    even describe them.
    ``continues``: the topics that the job copies already, from source to target.
    ``defaults``: the values in force of a new topic that sets nothing; empty where they are not known.
    ``wanted_replicas``: of new topics; None: as many as the source has, and the target can hold.
    """
    found = Findings([], [], [], [], {}, {}, [], {})
    for route in routes:
        source, target = sources[route.source], targets.get(route.target)
        if not is_allowed(source.operations, AclOperation.READ):
            found.denied.append(_denied("READ", route, of_source=True))
        if target is None:
            own = new_operations.get(route.target)
            found.denied.extend(_denied_to_new(route, own, cluster_operations))
            if source is not HIDDEN and not isinstance(own, KcliError):
                replicas = wanted_replicas or min(source.replicas, brokers)
                configs = written_to_new(sync, source.configs, source.own, defaults, replicas)
                found.create.append(TopicSpec(route.target, source.partitions, replicas, configs))
                made = TopicFacts("", source.partitions, replicas, {**defaults, **configs}, configs)
                _compare(found, route, source, made, given=sync.given, by_key=by_key)
        if source is HIDDEN or target is None:
            continue
        if not is_allowed(target.operations, AclOperation.WRITE):
            found.denied.append(_denied("WRITE", route, of_source=False))
        if (
            target.partitions < source.partitions
            and not by_key
            and continues.get(route.source) == route.target
        ):
            found.grow[route.target] = source.partitions
            if not is_allowed(target.operations, AclOperation.ALTER):
                found.denied.append(_denied("ALTER", route, of_source=False))
            target = target._replace(partitions=source.partitions)
        written = written_to_existing(sync, source.configs, source.own, target.configs, target.replicas)
        if written:
            found.alter[route.target] = written
            if not is_allowed(target.operations, AclOperation.ALTER_CONFIGS):
                found.denied.append(_denied("ALTER_CONFIGS", route, of_source=False))
        _compare(found, route, source, target, written, given=sync.given, by_key=by_key)
    return found


def _compare(
    found: Findings,
    route: Route,
    source: TopicFacts,
    target: TopicFacts,
    written: Values = NO_TOPICS,
    *,
    given: Collection[str],
    by_key: bool,
) -> None:
    """Adds what a target topic does to the copy, after ``written`` was set. ``given``: the keys of ``--config``."""
    found.differences.extend(differences(route, source.configs, target.configs, written))
    target = target._replace(configs={**target.configs, **written})
    found.in_force[route.target] = target.configs
    found.conflicts.extend(_conflicts(route, source, target, given=given, by_key=by_key))
    found.warnings.extend(_warnings(route, source, target, by_key=by_key))


def denied_state(own: int | KcliError | None, *, creates: bool) -> list[Denied]:
    """What this client may not do with the topic of the state, which a job reads and writes. ``own``: the operations
    with it, an error where it may not even be described; ``creates``: it does not exist, and CREATE on the
    cluster is missing.
    """
    found = 0 if isinstance(own, KcliError) else own
    missing = [one for one in ("READ", "WRITE") if not is_allowed(found, AclOperation[one])]
    denied = [
        Denied(
            None, f"{one} on topic {STATE_TOPIC} of the target", on_topic(one, STATE_TOPIC), of_source=False
        )
        for one in missing
    ]
    if creates and (found is None or not is_allowed(found, AclOperation.CREATE)):
        denied.append(_denied_creation(None, STATE_TOPIC))
    return denied


def _denied(operation: str, route: Route, *, of_source: bool) -> Denied:
    name = route.source if of_source else route.target
    what = f"{operation} on topic {name} of the {'source' if of_source else 'target'}"
    return Denied(route, what, on_topic(operation, name), of_source)


def _denied_to_new(route: Route, own: int | KcliError | None, cluster: int | None) -> Iterator[Denied]:
    """A topic may be created with CREATE on the cluster, or on its own name; then it must be written to."""
    if isinstance(own, KcliError):  # it may not be described, and may exist
        yield _denied("WRITE", route, of_source=False)
        return
    if not is_allowed(cluster, AclOperation.CREATE) and (
        own is None or not is_allowed(own, AclOperation.CREATE)
    ):
        yield _denied_creation(route, route.target)
    if not is_allowed(own, AclOperation.WRITE):
        yield _denied("WRITE", route, of_source=False)


def _denied_creation(route: Route | None, topic: str) -> Denied:
    what = f"CREATE on the target cluster, for topic {topic}"
    return Denied(route, what, on_topic("CREATE", topic), of_source=False)


class Login(NamedTuple):
    """How a cluster is named on a command line, and the user there, empty where it is not known."""

    option: str
    user: str


def grant_commands(denied: Sequence[Denied], source: Login, target: Login) -> list[str]:
    """The commands that grant what is missing, one for each operation and cluster."""
    needs: dict[tuple[Login, str], list[Permission]] = {}
    for one in denied:
        needs.setdefault((source if one.of_source else target, one.need.operation), []).append(one.need)
    return [
        granted_to(login.user, grant_command(operation, each, login.option))
        for (login, operation), each in needs.items()
    ]


def _conflicts(
    route: Route, source: TopicFacts, target: TopicFacts, *, given: Collection[str], by_key: bool
) -> list[Finding]:
    def with_value(key: str, value: object) -> str:
        return f"leave --config {key} out" if key in given else f"set {key}={value} on topic {route.target}"

    found = []
    if target.partitions < source.partitions and not by_key:
        found.append(
            Finding(
                route,
                f"the target has {counted(target.partitions, 'partition')}, the source {source.partitions:,}",
                f"add partitions to topic {route.target}, or choose partitions by key: --partitions by-key",
            )
        )
    if target.configs.get(TIMESTAMPS) == APPENDED:
        found.append(
            Finding(
                route,
                "the target replaces timestamps (message.timestamp.type=LogAppendTime)",
                with_value(TIMESTAMPS, "CreateTime"),
            )
        )
    version = target.configs.get("message.format.version", "")
    if _is_old_format(version):
        found.append(
            Finding(
                route,
                f"the target stores a format without headers and producer ids (message.format.version={version})",
                with_value("message.format.version", "0.11.0 or later"),
            )
        )
    here, there = policies(source.configs), policies(target.configs)
    if here and there and not there <= here:
        found.append(
            Finding(
                route,
                f"the target removes records that the source keeps (cleanup.policy={','.join(sorted(there))}, "
                f"the source has {','.join(sorted(here))})",
                with_value(CLEANUP, ",".join(sorted(here))),
            )
        )
    largest, limit = (number(one.configs, BATCH_BYTES, -1) for one in (source, target))
    if largest >= 0 and 0 <= limit < largest:
        found.append(
            Finding(
                route,
                f"the target accepts batches of {limit} bytes, the source of {largest} (max.message.bytes)",
                with_value(BATCH_BYTES, largest),
            )
        )
    return found


def _warnings(route: Route, source: TopicFacts, target: TopicFacts, *, by_key: bool) -> list[Finding]:
    found = []
    if target.partitions > source.partitions and not by_key:
        found.append(
            Finding(
                route,
                f"partitions {source.partitions} to {target.partitions - 1} of the target stay empty: "
                f"the source has {counted(source.partitions, 'partition')}",
            )
        )
    codec = target.configs.get("compression.type", "producer")
    if codec not in ("producer", source.configs.get("compression.type")):
        found.append(
            Finding(route, f"the target's brokers compress all batches again (compression.type={codec})")
        )
    return found


def _is_old_format(version: str) -> bool:
    """Whether ``version``, such as ``0.10.2-IV0``, is one before magic 2."""
    numbers = version.partition("-")[0].split(".")[:2]
    return len(numbers) == 2 and all(map(str.isdigit, numbers)) and [*map(int, numbers)] < [0, 11]
