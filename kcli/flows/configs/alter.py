"""``kcli configs alter``: changes configurations of topics, brokers or groups."""

from __future__ import annotations

from collections.abc import Sequence

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigEntry, ConfigKind, ConfigResource
from kcli.core.errors import KcliError
from kcli.core.names import own_group_danger
from kcli.flows.configs.alteration import COLUMNS, ConfigAlteration
from kcli.flows.configs.resources import described
from kcli.flows.topics.purpose import internal_purpose
from kcli.output.tables import Column


class ConfigAlter(ConfigAlteration):
    """See ``ConfigAlteration``."""

    kind = "ConfigAlter"
    printed_by = "configs alter"
    columns = (Column("name", meaning="Name of the resource."), *COLUMNS)

    def others(self, admin: Admin, resource: ConfigResource) -> Sequence[ConfigEntry]:
        """The keys that the default of all brokers may have: those of any broker."""
        if resource.name:
            return []
        broker = ConfigResource(ConfigKind.BROKER, str(min(admin.connect().nodes)))
        found = described(admin, [broker])[broker]
        if isinstance(found, KcliError):
            raise found
        return found

    def dangers(self, admin: Admin, resources: Sequence[ConfigResource]) -> dict[ConfigResource, str]:
        """Internal topics, and groups of kcli's own."""
        topics = [resource.name for resource in resources if resource.kind is ConfigKind.TOPIC]
        groups = [resource for resource in resources if resource.kind is ConfigKind.GROUP]
        dangers = {group: danger for group in groups if (danger := own_group_danger(group.name))}
        for name, topic in (admin.describe_topics(topics) if topics else {}).items():
            purpose = None if isinstance(topic, KcliError) else internal_purpose(topic)
            if purpose is not None:
                dangers[ConfigResource(ConfigKind.TOPIC, name)] = purpose
        return dangers
