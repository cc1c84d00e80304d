"""What ``kcli configs alter`` does: plans the changes of topics, brokers or groups, which ``_config_altering`` makes."""

from __future__ import annotations

from kcli.commands._config_altering import Alteration, Plan
from kcli.commands._config_flags import config_changes
from kcli.commands._config_resources import entries_of, resources
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.usage import usage
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigEntry, ConfigKind, ConfigResource
from kcli.core.errors import KcliError
from kcli.core.own_names import own_group_danger
from kcli.flows.config_changes import plan
from kcli.flows.topics.purpose import internal_purpose


def alter(
    inv: Invocation,
    kind: str,
    names: tuple[str, ...],
    sets: tuple[str, ...],
    unsets: tuple[str, ...],
    appends: tuple[str, ...],
    removes: tuple[str, ...],
) -> int:
    """Changes configurations. Returns the exit status."""
    wanted = resources("alter", kind, names)
    changes = config_changes("configs alter", sets, unsets, appends, removes)
    if not changes:
        raise usage(
            "configs alter: no change is given",
            why="none of --set, --unset, --append and --remove was given",
            do="as in --set retention.ms=3600000, --unset retention.ms, --append cleanup.policy=compact",
        )
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = entries_of(inv, admin, wanted)
        dangers = _dangers(admin, found)
        plans = {
            resource: Plan(
                plan(resource, changes, entries, others=_of_a_broker(inv, admin, resource)),
                danger=dangers.get(resource),
            )
            for resource, entries in found.items()
        }
        return Alteration(inv, admin, cluster, kind="ConfigAlter", named="name").run(plans)


def _of_a_broker(inv: Invocation, admin: Admin, resource: ConfigResource) -> list[ConfigEntry]:
    """The keys that the default of all brokers may have: those of any broker. None are needed for other resources."""
    if resource.name:
        return []
    broker = ConfigResource(ConfigKind.BROKER, str(min(admin.connect().nodes)))
    return entries_of(inv, admin, [broker]).get(broker, [])


def _dangers(admin: Admin, found: dict[ConfigResource, list[ConfigEntry]]) -> dict[ConfigResource, str]:
    """Why ``--yes`` is not sufficient: for internal topics, and groups of kcli's own."""
    topics = [resource.name for resource in found if resource.kind is ConfigKind.TOPIC]
    groups = [resource for resource in found if resource.kind is ConfigKind.GROUP]
    dangers = {group: danger for group in groups if (danger := own_group_danger(group.name))}
    for name, topic in (admin.describe_topics(topics) if topics else {}).items():
        purpose = None if isinstance(topic, KcliError) else internal_purpose(topic)
        if purpose is not None:
            dangers[ConfigResource(ConfigKind.TOPIC, name)] = purpose
    return dangers
