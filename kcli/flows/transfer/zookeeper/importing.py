"""An import into ZooKeeper: planned, executed, read back. Reports only what was read back.

A node is set only if it has the version that the plan saw, so that no concurrent change is lost. The old offsets are on
disk before the first node is set, in the text format that ``groups import --zookeeper`` reads.
"""

import os
from collections.abc import Callable, Sequence

from kcli.core.classes import dataclass
from kcli.core.errors import KcliError, OutcomeUnknownError
from kcli.files.atomic import replace_file, sync_folder
from kcli.files.journal_folder import JournalError, new_id
from kcli.files.xdg import state_home
from kcli.flows.rewind.judge import OVERWRITTEN
from kcli.flows.rewind.outcomes import FAILED, REFUSED, UNKNOWN, VERIFIED
from kcli.flows.rewind.plan import NotPossibleError
from kcli.flows.transfer.importing import ImportTarget
from kcli.flows.transfer.zookeeper.offset_node import OffsetNode, is_node_name
from kcli.flows.transfer.zookeeper.planning import (
    Found,
    NodeGroup,
    NodeItem,
    NodePlan,
    node_of,
    plan_nodes,
    refusal,
)
from kcli.flows.transfer.zookeeper.read_groups import (
    Stored,
    cluster_id,
    existing,
    offsets_at,
    partitions_of,
    running,
)
from kcli.flows.transfer.zookeeper.session import Write, ZooKeeper


@dataclass(frozen=True, slots=True)
class NodeOutcome:
    """One node, with the statuses of a rewind. ``found``: the offset last seen there."""

    item: NodeItem
    status: str
    found: int | None = None
    error: KcliError | None = None


@dataclass(frozen=True, slots=True)
class NodeReport:
    """One group. ``error``: why nothing was attempted, or why the new offsets may not last."""

    plan: NodeGroup
    outcomes: tuple[NodeOutcome, ...]
    error: KcliError | None = None

    def count(self, status: str) -> int:
        """How many nodes have this status."""
        return sum(outcome.status == status for outcome in self.outcomes)


def survey_nodes(
    zookeeper: ZooKeeper, targets: Sequence[ImportTarget], to: str, now_ms: int, *, force: bool
) -> NodePlan:
    """The plan; ``to`` describes the import in words. Nothing is changed."""
    valid = [target for target in targets if is_node_name(target.group)]
    groups = list(dict.fromkeys(target.group for target in valid))
    stored, unread = offsets_at(zookeeper, [node_of(target) for target in valid])
    cluster = cluster_id(zookeeper)
    found = Found(
        cluster,
        stored,
        unread,
        partitions_of(zookeeper, list(dict.fromkeys(target.tp.topic for target in targets))),
        running(zookeeper, groups),
        frozenset(existing(zookeeper, groups)),
    )
    backup = str(state_home() / "zookeeper" / f"{new_id(now_ms)}.txt")
    return NodePlan(cluster, to, backup, plan_nodes(targets, found, force=force))


def execute_nodes(
    zookeeper: ZooKeeper, plan: NodePlan, *, before_write: Callable[[bool], object]
) -> tuple[list[NodeReport], bool]:
    """Sets what can be set; returns the reports, and whether the old offsets are in ``plan.backup``.

    ``before_write`` is called with that before the first node is set.
    """
    todo = [group for group in plan.groups if group.todo]
    changed, current = _changed(zookeeper, todo)
    unchanged = [group for group in todo if group.group not in changed]
    items = [item for group in unchanged for item in group.todo]
    has_backup = _write_backup(plan.backup, items)
    before_write(has_backup)
    errors = zookeeper.write([_write(item) for item in items])
    outcomes = _outcomes(zookeeper, items, errors)
    late = _late(zookeeper, unchanged)
    if has_backup and all(_untouched(outcome) for outcome in outcomes.values()):
        os.unlink(plan.backup)
        has_backup = False

    def not_set(item: NodeItem) -> NodeOutcome:
        return NodeOutcome(item, REFUSED, current.get(item.node, _offset(item.before)), item.refusal)

    reports = []
    for group in plan.groups:
        if group in unchanged:
            done = [outcomes[item.node] for item in group.todo]
            refused = map(not_set, group.refused)
            reports.append(NodeReport(group, (*done, *refused), late.get(group.group)))
        else:
            error = group.refusal or changed.get(group.group)
            reports.append(NodeReport(group, tuple(map(not_set, group.items)), error))
    return reports, has_backup


def _untouched(outcome: NodeOutcome) -> bool:
    """Whether the node still has its old offset."""
    return outcome.status == FAILED or (outcome.status == VERIFIED and not outcome.item.changes)


def _changed(
    zookeeper: ZooKeeper, groups: Sequence[NodeGroup]
) -> tuple[dict[str, KcliError], dict[OffsetNode, int | None]]:
    """Groups that no longer match the plan, and why; and the current offsets, None where unknown."""
    ids = running(zookeeper, [group.group for group in groups])
    stored, unread = offsets_at(zookeeper, [item.node for group in groups for item in group.todo])
    found: dict[str, KcliError] = {}
    current: dict[OffsetNode, int | None] = {}
    for group in groups:
        error = refusal(group.group, ids[group.group])
        for item in group.todo:
            current[item.node] = _offset(stored.get(item.node))
            error = error or unread.get(item.node) or _moved(item, stored.get(item.node))
        if error is not None:
            found[group.group] = error
    return found, current


def _moved(item: NodeItem, now: Stored | None) -> KcliError | None:
    if now == item.before:
        return None
    return NotPossibleError(
        f"the offsets of group {item.node.group} have changed since the plan was made",
        why=f"{item.node} was at {_shown(_offset(item.before))}, now it is at {_shown(_offset(now))}",
        do="nothing was done; run the command again to see the new plan",
    )


def _late(zookeeper: ZooKeeper, groups: Sequence[NodeGroup]) -> dict[str, KcliError]:
    """Consumers that started while offsets were set: they may have begun at the old offsets."""
    names = [group.group for group in groups]
    try:
        started = running(zookeeper, names)
    except KcliError as error:
        return dict.fromkeys(names, error)
    return {
        group: NotPossibleError(
            f"consumers of group {group} started while its offsets were set",
            why=f"they may have read the old offsets, and will overwrite the new ones: {', '.join(ids[:5])}",
            do="stop them, check the offsets with `kcli groups export --all --zookeeper HOST:PORT`, and import again",
        )
        for group, ids in started.items()
        if ids
    }


def _write_backup(path: str, items: Sequence[NodeItem]) -> bool:
    """Writes the old offsets to disk; writes nothing where there are none."""
    lines = [f"{item.node.path}:{item.before.offset}\n" for item in items if item.before is not None]
    if not lines:
        return False
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        sync_folder(os.path.dirname(folder))
        replace_file(path, "".join(lines).encode())
    except OSError as error:
        raise JournalError(
            f"cannot store the old offsets in {path}",
            why=(error.strerror or str(error)).lower(),
            do="nothing was set; make room, or set XDG_STATE_HOME to another directory",
        ) from None
    return True


def _write(item: NodeItem) -> Write:
    version = None if item.before is None else item.before.version
    return Write(item.node.path, str(item.new).encode(), version)


def _outcomes(
    zookeeper: ZooKeeper, items: Sequence[NodeItem], errors: dict[str, KcliError | None]
) -> dict[OffsetNode, NodeOutcome]:
    try:
        stored, unread = offsets_at(zookeeper, [item.node for item in items])
    except KcliError as error:
        stored, unread = {}, {item.node: error for item in items}
    return {
        item.node: _outcome(
            item, errors[item.node.path], unread.get(item.node), _offset(stored.get(item.node))
        )
        for item in items
    }


def _outcome(
    item: NodeItem, error: KcliError | None, unread: KcliError | None, found: int | None
) -> NodeOutcome:
    unsure = isinstance(error, OutcomeUnknownError)
    if error is not None and not unsure:
        return NodeOutcome(item, FAILED, found, error)
    if unread is not None:
        return NodeOutcome(item, UNKNOWN, None, error or unread)
    if found == item.new:
        return NodeOutcome(item, VERIFIED, found)
    return NodeOutcome(item, UNKNOWN if unsure else OVERWRITTEN, found, error)


def _offset(stored: Stored | None) -> int | None:
    return None if stored is None else stored.offset


def _shown(offset: int | None) -> str:
    return "no offset" if offset is None else str(offset)
