"""Reads what an export keeps of a cluster besides records. What cannot be read is in ``missing`` of the result, and
nothing is raised for it.
"""

from collections.abc import Callable, Collection, Sequence

from kcli.account.survey import Missing
from kcli.core.admin.admin import Admin
from kcli.core.clock import wall_ms
from kcli.core.errors import AuthError, KcliError, UnsupportedError
from kcli.flows.groups.description import SHARE
from kcli.flows.mirror.topics.survey import configs_of
from kcli.flows.permitted import hidden
from kcli.flows.transfer.exporting import export_offsets
from kcli.output.template import rfc3339
from kcli.pipeline.saved_state import (
    GroupPositions,
    PartitionPosition,
    SavedGroups,
    SavedSettings,
    TopicPositions,
    TopicSettings,
    Unread,
)

Lacks = Callable[[Missing], object]


def read_settings(admin: Admin, names: Sequence[str], lacks: Lacks) -> SavedSettings:
    """The settings of topics; ``lacks`` gets each that cannot be read."""
    missing: list[Missing] = []
    at = str(rfc3339(wall_ms()))
    topics = admin.describe_topics(names)
    configs = admin.describe_topic_configs(names)
    found = []
    for name in sorted(names):
        topic, entries = topics[name], configs[name]
        error = topic if isinstance(topic, KcliError) else entries if isinstance(entries, KcliError) else None
        if isinstance(topic, KcliError) or isinstance(entries, KcliError):
            assert error is not None
            missing.append(Missing(f"the configuration of topic {name}", error.place, error))
            continue
        replicas = max((len(one.replicas) for one in topic.partitions), default=1)
        found.append(
            TopicSettings(name, len(topic.partitions), max(1, replicas), dict(configs_of(entries)[1]))
        )
    return SavedSettings(at, found, _reported(missing, lacks))


def read_groups(admin: Admin, cluster: str, names: Collection[str], lacks: Lacks) -> SavedGroups:
    """What groups have committed for these topics; ``lacks`` gets each part that cannot be read, and each share group: it
    has no position that could be restored. kcli's own groups are left out.
    """
    now = wall_ms()
    missing: list[Missing] = []
    positions: dict[str, dict[str, list[PartitionPosition]]] = {}
    try:
        found = export_offsets(admin, cluster, None, lambda tp: tp.topic in names, at_ms=now, all_known=False)
        missing += found.missing
        for one in found.offsets:
            topics = positions.setdefault(str(one.group), {})
            topics.setdefault(one.topic, []).append(
                PartitionPosition(one.partition, one.offset, one.metadata or "")
            )
        missing += _share_groups(admin, names)
        if not missing and (more := hidden(admin, "groups")):
            missing.append(Missing("groups that cannot be listed", "", AuthError(*more)))
        elif not missing and found.unsure:
            missing.append(Missing("groups without a coordinator", "", AuthError(_UNSURE)))
    except KcliError as error:
        missing.append(Missing.of(error, "the groups of the cluster"))
    groups = [
        GroupPositions(group, [TopicPositions(topic, parts) for topic, parts in sorted(topics.items())])
        for group, topics in sorted(positions.items())
    ]
    return SavedGroups(str(rfc3339(now)), groups, _reported(missing, lacks))


_UNSURE = (
    "without DESCRIBE on topic __consumer_offsets it cannot be seen whether each group has a coordinator"
)


def _share_groups(admin: Admin, names: Collection[str]) -> list[Missing]:
    """The share groups that read one of the topics, or of which that cannot be read."""
    shares = [row.group_id for row in admin.list_groups().groups if row.type == SHARE]
    missing = []
    for name, starts in (admin.share_offsets(shares) if shares else {}).items():
        if isinstance(starts, KcliError):
            missing.append(Missing.of(starts, f"share group {name}"))
            continue
        topics = sorted({tp.topic for tp in starts if tp.topic in names})
        if topics:
            error = UnsupportedError(
                f"what share group {name} has acknowledged is not kept",
                why="brokers report its start offsets, and not what is acknowledged after them",
                do="export its start offsets, as those of other groups",
            )
            missing.append(Missing(f"share group {name}", ", ".join(topics), error))
    return missing


def _reported(missing: Sequence[Missing], lacks: Lacks) -> list[Unread]:
    for part in missing:
        lacks(part)
    return [Unread(part.what, part.where, part.why) for part in missing]
