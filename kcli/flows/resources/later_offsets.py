"""Offsets of groups in topics, or partitions, that the same apply creates: planned for the empty logs that these will
have, and decided again when they are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kcli.account.change import ChangedError, planned
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.classes import replace
from kcli.flows.resources.stages import Stage
from kcli.flows.rewind.change import Offset, OffsetItem
from kcli.flows.topics.create import NewTopic
from kcli.flows.topics.partitions import AddedPartitions
from kcli.flows.transfer.change import OffsetImport


def partitions_to_be(stages: Iterable[Stage]) -> dict[str, int]:
    """How many partitions topics will have after these stages, of which some are planned."""
    found: dict[str, int] = {}
    for stage in stages:
        for item in planned(stage.plan):
            if isinstance(item.facts, NewTopic):
                found[item.key] = item.facts.partitions or 1
            elif isinstance(item.facts, AddedPartitions):
                found[item.facts.topic] = item.facts.wanted
    return found


class LaterOffsets(OffsetImport):
    """The offsets of one group. Its journal keeps the id of the plan that was shown."""

    def decided_again(self, admin: Admin, plan: Sequence[OffsetItem]) -> list[OffsetItem]:
        """Refused as a whole where anything would be set from, or to, another offset than was shown."""
        ids = {group.group: group.id for group in self._plan.groups}
        shown = {item.key: _offsets(item.facts) for item in planned(plan)}
        now = self.decide(admin)
        groups = (replace(group, id=ids.get(group.group, group.id)) for group in self._plan.groups)
        self._plan = replace(self._plan, groups=tuple(groups))
        if any(shown.get(item.key) != _offsets(item.facts) for item in planned(now)):
            error = ChangedError(f"group {now[0].key.group}")
            return [item._replace(outcome=Outcome.REFUSED, error=error) for item in now]
        refused = {item.key: item for item in plan if item.outcome is Outcome.REFUSED}
        return [refused.get(item.key, item) for item in now]  # whose errors are printed


def _offsets(facts: Offset) -> object:
    return facts.item and (facts.item.committed, facts.item.new and facts.item.new.offset)
