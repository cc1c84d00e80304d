"""``kcli topics create``: creates topics, and compares existing ones with the request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.commands.topics import _rows as view
from kcli.core.admin.acls import AclOperation, is_allowed
from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import CreatedTopic, TopicInfo
from kcli.core.error_codes import (
    INVALID_CONFIG,
    INVALID_REPLICATION_FACTOR,
    INVALID_TOPIC_EXCEPTION,
    TOPIC_ALREADY_EXISTS,
    TOPIC_AUTHORIZATION_FAILED,
)
from kcli.core.errors import BrokerError, KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.permissions import on_topic
from kcli.core.types import TopicSpec
from kcli.flows.config_values import is_valid, same_value
from kcli.output.progress import counted
from kcli.output.tables import Column

if TYPE_CHECKING:
    from kcli.core.admin.configs import ConfigEntry

COLUMNS = (
    Column("name"),
    Column("partitions", "number"),
    Column("replication_factor", "number"),
    Column("topic_id", spare=1),
    Column("configs", spare=2),
    Column("created"),
)


class TopicDiffersError(KcliError):
    """A topic exists, and differs from the request."""

    exit_code = ExitCode.REFUSED


class Outcome(NamedTuple):
    """Rows by name: ``created`` and ``existing`` topics match the request; ``failed`` are the errors of the others."""

    created: Mapping[str, view.Row]
    existing: Mapping[str, view.Row]
    failed: Sequence[KcliError]

    def with_more(self, more: Outcome) -> Outcome:
        """Both: of different topics."""
        return Outcome(
            {**self.created, **more.created},
            {**self.existing, **more.existing},
            [*self.failed, *more.failed],
        )


def create(admin: Admin, specs: Sequence[TopicSpec], *, may_exist: bool, dry_run: bool) -> Outcome:
    """Creates topics; with ``dry_run`` the broker only validates. ``may_exist``: matching topics may exist already."""
    made: dict[str, CreatedTopic] = {}
    answers = admin.create_topics(specs, validate_only=dry_run, made=made) if specs else {}
    exist = [name for name, error in answers.items() if _exists(error)] if may_exist else []
    failed = [
        _with_remedy(error) for name, error in answers.items() if error is not None and name not in exist
    ]
    created = {name: _row(name, made.get(name), dry_run=dry_run) for name in answers if answers[name] is None}
    existing, wrong = _compared(admin, [spec for spec in specs if spec.name in exist])
    return Outcome(created, existing, [*failed, *wrong])


def known_without_check(
    admin: Admin, specs: Sequence[TopicSpec], *, may_exist: bool
) -> tuple[Outcome, list[TopicSpec]]:
    """Which topics exist, and which cannot be created, without asking for the creation; and the other topics.

    A topic is compared with the topics, the brokers, the permissions, and the keys that the other topics have.
    """
    names = [spec.name for spec in specs]
    found = admin.describe_topics(names)
    exist = [spec for spec in specs if isinstance(found[spec.name], TopicInfo)]
    existing, failed = _compared(admin, exist) if may_exist else ({}, [_taken(spec.name) for spec in exist])
    new = [spec for spec in specs if spec not in exist]
    wrong = _denied(admin, new)
    wrong |= _impossible(admin, [spec for spec in new if spec.name not in wrong])
    left = [spec for spec in new if spec.name not in wrong]
    return Outcome({}, existing, [*failed, *wrong.values()]), left


def _impossible(admin: Admin, specs: Sequence[TopicSpec]) -> dict[str, KcliError]:
    """Errors for topics that the cluster, as it is, cannot have: with the broker's codes."""
    if not specs:
        return {}
    topics, brokers = [topic.name for topic in admin.list_topics()], len(admin.cluster.view.nodes)
    keys = _keys_of_topics(admin, topics) if any(spec.configs for spec in specs) else {}
    wrong: dict[str, KcliError] = {}
    for spec in specs:
        clash = next((name for name in topics if _same_metric(name, spec.name)), None)
        if clash is not None:
            code, message = INVALID_TOPIC_EXCEPTION, f"its metrics would be those of topic {clash}"
        elif spec.replication_factor > brokers:
            code, message = INVALID_REPLICATION_FACTOR, f"the cluster has {counted(brokers, 'broker')}"
        elif refused := [text for key, value in spec.configs.items() if (text := _refused(keys, key, value))]:
            code, message = INVALID_CONFIG, "; ".join(refused)
        else:
            continue
        wrong[spec.name] = BrokerError(code, _failed(spec.name), message=message)
    return wrong


def _same_metric(one: str, other: str) -> bool:
    """Whether brokers take the names for the same in metrics, where ``.`` is ``_``."""
    return one.replace(".", "_") == other.replace(".", "_")


def _keys_of_topics(admin: Admin, topics: Sequence[str]) -> dict[str, ConfigEntry]:
    """The configuration keys that topics have, as one of them shows; empty where none can be described."""
    for entries in admin.describe_topic_configs(topics[:1]).values():
        if not isinstance(entries, KcliError):
            return {entry.name: entry for entry in entries}
    return {}


def _refused(keys: Mapping[str, ConfigEntry], key: str, value: str) -> str:
    """Why a topic cannot have this configuration; empty if it can, or if the keys are not known."""
    if keys and key not in keys:
        return f"there is no key {key}"
    return "" if not keys or is_valid(keys[key].type, value) else f"{value} is no {keys[key].type} for {key}"


def _denied(admin: Admin, specs: Sequence[TopicSpec]) -> dict[str, KcliError]:
    """Errors for topics that may not be created: CREATE is needed on the cluster, or on the topic's name."""
    if not specs or is_allowed(
        admin.describe_cluster(include_operations=True).operations, AclOperation.CREATE
    ):
        return {}
    own = admin.topic_operations([spec.name for spec in specs], missing_too=True)
    return {
        name: BrokerError(TOPIC_AUTHORIZATION_FAILED, _failed(name), needs=[on_topic("CREATE", name)])
        for name, operations in own.items()
        if not isinstance(operations, KcliError)  # hidden: only the creation shows what is allowed
        and not is_allowed(operations, AclOperation.CREATE)
    }


def _taken(name: str) -> KcliError:
    return _with_remedy(BrokerError(TOPIC_ALREADY_EXISTS, _failed(name)))


def _failed(name: str) -> str:
    return f"could not create topic {name}"


def plan_text(specs: Sequence[TopicSpec]) -> str:
    """The topics with the numbers that were requested."""
    lines = ["Create topics:"]
    for spec in specs:
        copies = f" of {counted(spec.replication_factor, 'replica')}" if spec.replication_factor > 0 else ""
        lines.append(f"  {spec.name}: {counted(spec.partitions, 'partition')}{copies}")
    return "\n".join(lines)


def unchecked(specs: Sequence[TopicSpec]) -> Outcome:
    """What a dry run knows without the brokers."""
    rows = {
        spec.name: _row(spec.name, None, dry_run=True) | {"partitions": max(spec.partitions, 0) or None}
        for spec in specs
    }
    return Outcome(rows, {}, [])


def print_topics(inv: Invocation, cluster: str, outcome: Outcome) -> None:
    """Prints the topics that match the request, if ``-o`` was given."""
    if inv.out.kind is None:
        return
    rows = [*outcome.created.values(), *outcome.existing.values()]
    print_rows(inv, "TopicList", COLUMNS, rows, cluster, item="Topic")


def differences(spec: TopicSpec, topic: TopicInfo, entries: Sequence[ConfigEntry]) -> list[str]:
    """The differences: ``partitions 3, not 6``. Values of secrets cannot be compared."""
    copies = view.replication_factor(topic)
    found = []
    if spec.partitions not in (-1, len(topic.partitions)):
        found.append(f"partitions {len(topic.partitions)}, not {spec.partitions}")
    if spec.replication_factor not in (-1, copies):
        found.append(f"replication factor {copies}, not {spec.replication_factor}")
    values = {entry.name: entry for entry in entries}
    for key, wanted in spec.configs.items():
        entry = values.get(key)
        if entry is None:
            found.append(f"no configuration {key}")
        elif not entry.is_sensitive and not same_value(entry.type, entry.value, wanted):
            found.append(f"{key}={entry.value}, not {wanted}")
    return found


def _compared(admin: Admin, specs: Sequence[TopicSpec]) -> tuple[dict[str, view.Row], list[KcliError]]:
    names = [spec.name for spec in specs]
    topics = admin.describe_topics(names) if names else {}
    configs = admin.describe_topic_configs(names) if names else {}
    rows: dict[str, view.Row] = {}
    wrong: list[KcliError] = []
    for spec in specs:
        topic, entries = topics[spec.name], configs[spec.name]
        if isinstance(topic, KcliError):
            wrong.append(topic)
        elif isinstance(entries, KcliError) and spec.configs:
            wrong.append(entries)
        elif differs := differences(spec, topic, [] if isinstance(entries, KcliError) else entries):
            wrong.append(_differs(spec.name, differs))
        else:
            rows[spec.name] = _existing_row(topic, None if isinstance(entries, KcliError) else entries)
    return rows, wrong


def _differs(name: str, differs: Sequence[str]) -> TopicDiffersError:
    return TopicDiffersError(
        f"topic {name} exists, and differs from what was requested: {'; '.join(differs)}",
        why="--if-not-exists leaves a topic that exists as it is",
        do=f"see `kcli topics describe {name}`; or leave out the options that need not match",
    )


def _exists(error: KcliError | None) -> bool:
    return isinstance(error, BrokerError) and error.code == TOPIC_ALREADY_EXISTS


def _with_remedy(error: KcliError) -> KcliError:
    if _exists(error) and not error.do:
        error.do = (
            "use --if-not-exists to accept a topic that already exists; `kcli topics describe TOPIC` shows it"
        )
    return error


def _row(name: str, made: CreatedTopic | None, *, dry_run: bool) -> view.Row:
    """A created topic; what an old broker does not report is unknown."""
    return {
        "name": name,
        "partitions": made.partitions if made else None,
        "replication_factor": made.replication_factor if made else None,
        "topic_id": (made.topic_id or None) if made else None,
        "configs": made.configs if made else None,
        "created": not dry_run,
    }


def _existing_row(topic: TopicInfo, entries: list[ConfigEntry] | None) -> view.Row:
    return {
        "name": topic.name,
        "partitions": len(topic.partitions),
        "replication_factor": view.replication_factor(topic),
        "topic_id": topic.topic_id or None,
        "configs": view.overrides(entries),
        "created": False,
    }
