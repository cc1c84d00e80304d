"""What ``kcli topics alter`` does: plans the changes of a topic, which ``_config_altering`` makes."""

from __future__ import annotations

from kcli.commands._config_altering import Alteration, Plan
from kcli.commands._config_flags import config_changes
from kcli.commands._config_resources import entries_of
from kcli.commands.shared.cluster import connect, open_admin, without_errors
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import check_topic_name
from kcli.commands.shared.usage import usage
from kcli.commands.topics._partitions import AddedPartitions
from kcli.core.admin.configs import ConfigKind, ConfigResource
from kcli.flows.config_changes import plan
from kcli.flows.topics.purpose import internal_purpose


def alter_topic(
    inv: Invocation,
    name: str,
    set_: tuple[str, ...],
    unset: tuple[str, ...],
    append: tuple[str, ...],
    remove: tuple[str, ...],
    partitions: int | None,
) -> int:
    """Alters a topic. Returns the exit status."""
    check_topic_name(name, "topics alter")
    changes = config_changes("topics alter", set_, unset, append, remove)
    if not changes and partitions is None:
        raise usage(
            "topics alter: no change is given",
            why="it is required",
            do="as in --set retention.ms=3600000, --unset retention.ms, --append cleanup.policy=compact, "
            "--remove cleanup.policy=compact, --partitions 12",
        )
    resource = ConfigResource(ConfigKind.TOPIC, name)
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        for topic in without_errors(inv, admin.describe_topics([name])).values():
            found = entries_of(inv, admin, [resource]) if changes else {resource: []}
            further = AddedPartitions(topic, partitions) if partitions is not None else None
            danger = internal_purpose(topic) or (further.danger if further is not None else None)
            plans = {
                key: Plan(plan(key, changes, entries), further, danger) for key, entries in found.items()
            }
            return Alteration(inv, admin, cluster, kind="TopicAlter", named="topic").run(plans)
    return inv.finish(done=False)
