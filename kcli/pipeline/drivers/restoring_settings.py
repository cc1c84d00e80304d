"""Sets the configuration of topics after an import, as the export has it: what of it was not written when a topic was
created, such as a setting that would have changed records on their way, or what a topic that was there has otherwise.

Nothing is removed: what a topic has beside it stays. Partitions and replicas are those that the topic was created with.
"""

from collections.abc import Collection, Mapping
from typing import Any

from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigChange, ConfigEntry, ConfigKind, ConfigResource
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.flows.mirror.topics.configs import IN_SYNC
from kcli.output.progress import counted
from kcli.pipeline.saved_state import PARTITIONS, REPLICATION, SavedSettings, TopicSettings

_OF_BROKERS = ("follower.replication.throttled.replicas", "leader.replication.throttled.replicas")


class NotSetError(KcliError):
    """A setting of the export is not in force on the target."""

    exit_code = ExitCode.PARTLY


class RestoredSetting(NamedTuple):
    """A setting of a topic: its ``value`` in the export, None where that has none, and what the target has now."""

    topic: str
    target: str
    setting: str
    value: str | None
    target_value: str | None
    status: Outcome
    why: str = ""

    def row(self) -> dict[str, Any]:
        """The values in reports."""
        return {
            "topic": self.topic,
            "target_topic": self.target,
            "setting": self.setting,
            "value": self.value,
            "target_value": self.target_value,
            "status": str(self.status),
            "why": self.why or None,
        }

    @property
    def error(self) -> KcliError | None:
        """Why it is not as in the export."""
        if self.status in (Outcome.DONE, Outcome.UNCHANGED):
            return None
        what = f"topic {self.target}: {self.setting} is not {self.value}, as in the export"
        return NotSetError(what, why=self.why)


def restore_settings(
    admin: Admin,
    saved: SavedSettings,
    targets: Mapping[str, str],
    *,
    before: Mapping[str, Mapping[str, str]],
    extended: Collection[str],
    by_key: bool,
) -> list[RestoredSetting]:
    """Sets what differs, and returns what became of each setting. ``before``: what the targets that were there had in
    force; ``extended``: those whose retention an option has extended. Errors of brokers are in the result.
    """
    names = [targets[one.topic] for one in saved.topics if one.topic in targets]
    topics = admin.describe_topics(names) if names else {}
    rows: list[RestoredSetting] = []
    for one in saved.topics:
        target = targets.get(one.topic)
        if target is not None:
            old = before.get(target)
            rows += _shape(one, target, topics[target], is_new=old is None, by_key=by_key)
            rows += _config(admin, one, target, topics[target], old, is_extended=target in extended)
    return rows


def _shape(
    one: TopicSettings, target: str, found: TopicInfo | KcliError, *, is_new: bool, by_key: bool
) -> list[RestoredSetting]:
    wanted = {PARTITIONS: one.partitions, REPLICATION: one.replication_factor}
    if isinstance(found, KcliError):
        return [
            RestoredSetting(one.topic, target, name, str(value), None, Outcome.UNKNOWN, str(found))
            for name, value in wanted.items()
        ]
    good = Outcome.DONE if is_new else Outcome.UNCHANGED
    there, replicas = len(found.partitions), max(len(part.replicas) for part in found.partitions)
    status, why = good, ""
    if there != one.partitions and not by_key:
        status, why = Outcome.REFUSED, f"the topic was there, with {counted(there, 'partition')}"
    rows = [RestoredSetting(one.topic, target, PARTITIONS, str(one.partitions), str(there), status, why)]
    why = (
        ""
        if replicas == one.replication_factor
        else f"the topic was there, with {counted(replicas, 'replica')}"
    )
    if is_new and why:
        why = f"the cluster has brokers for {counted(replicas, 'replica')} only"
    return [
        *rows,
        RestoredSetting(
            one.topic, target, REPLICATION, str(one.replication_factor), str(replicas), good, why
        ),
    ]


def _config(
    admin: Admin,
    one: TopicSettings,
    target: str,
    topic: TopicInfo | KcliError,
    old: Mapping[str, str] | None,
    *,
    is_extended: bool,
) -> list[RestoredSetting]:
    in_force = _in_force(admin, target)
    replicas = 1 if isinstance(topic, KcliError) else max(len(part.replicas) for part in topic.partitions)
    rows = []
    for key, value in sorted(one.config.items()):
        found = RestoredSetting(one.topic, target, key, value, None, Outcome.UNKNOWN)
        if isinstance(in_force, KcliError):
            rows.append(found._replace(why=str(in_force)))
            continue
        entry = in_force.get(key)
        now = None if entry is None else entry.value
        found = found._replace(target_value=now)
        if entry is not None and now == value and not entry.is_default:
            unchanged = old is not None and old.get(key) == value
            rows.append(found._replace(status=Outcome.UNCHANGED if unchanged else Outcome.DONE))
        elif is_extended and key == "retention.ms":
            why = "--extend-retention has set it, for the records of this run"
            rows.append(found._replace(status=Outcome.UNCHANGED, why=why))
        elif why := _reason_against(key, value, now, replicas):
            rows.append(found._replace(status=Outcome.REFUSED, why=why))
        else:
            rows.append(_set(admin, found))
    return rows


def _reason_against(key: str, value: str, now: str | None, replicas: int) -> str:
    """Why a setting is not set; empty if it can be tried."""
    if key in _OF_BROKERS:
        return "it names brokers of the cluster that was exported"
    if now is None:
        return "the brokers of the target do not know it"
    if key == IN_SYNC and value.isdecimal() and int(value) > replicas:
        return f"the topic has {counted(replicas, 'replica')}: nothing could be written to it"
    return ""


def _set(admin: Admin, wanted: RestoredSetting) -> RestoredSetting:
    """Sets it, and reads it back, which decides where the answer was lost."""
    resource = ConfigResource(ConfigKind.TOPIC, wanted.target)
    try:
        error = admin.alter_configs({resource: [ConfigChange(wanted.setting, wanted.value)]})[resource]
    except KcliError as found:
        error = found
    in_force = _in_force(admin, wanted.target)
    if isinstance(in_force, KcliError):
        return wanted._replace(status=Outcome.UNKNOWN, target_value=None, why=str(error or in_force))
    entry = in_force.get(wanted.setting)
    now = None if entry is None else entry.value
    if now == wanted.value and entry is not None and not entry.is_default:
        return wanted._replace(status=Outcome.DONE, target_value=now)
    why = str(error) if error is not None else "another value was read back"
    return wanted._replace(status=Outcome.FAILED, target_value=now, why=why)


def _in_force(admin: Admin, topic: str) -> dict[str, ConfigEntry] | KcliError:
    try:
        entries = admin.describe_topic_configs([topic])[topic]
    except KcliError as error:
        return error
    if isinstance(entries, KcliError):
        return entries
    return {entry.name: entry for entry in entries if entry.value is not None}
