"""Open transactions with committed offsets: when they end, their offsets would replace what a rewind has set.

A transactional application commits the offsets of its input in the transaction of its output. Until that ends, the
group coordinator keeps these offsets pending and reports them only to requests for stable offsets (KIP-447). The
transaction can be found in the group's partition of ``__consumer_offsets`` (KIP-664), which other groups may share.
"""

from collections.abc import Collection, Mapping, Sequence

from kcli.core.admin.admin import Admin
from kcli.core.admin.committed import UnstableOffsetError
from kcli.core.admin.transactions import TransactionDescription
from kcli.core.classes import dataclass
from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.groups.commit_times import TOPIC, offsets_partition
from kcli.flows.rewind.plan import GroupPlan, NotPossibleError
from kcli.flows.rewind.planning import value_or_raise
from kcli.output.progress import duration_text

SHORT_SECONDS = 3.0
"""Active applications end a transaction sooner."""


class OpenTransactionError(NotPossibleError):
    """Offsets of the group are in a transaction that is still open."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A producer with an open transaction. ``transaction`` None: no transaction coordinator has it, so it hangs."""

    producer_id: int
    transaction: TransactionDescription | None

    def __str__(self) -> str:
        if self.transaction is None:
            return f"producer {self.producer_id}, whose transaction hangs: no transaction coordinator has it"
        found = self.transaction
        age = max(0, wall_ms() - found.start_ms) / 1000
        since = f", open for {duration_text(age)}" if found.start_ms >= 0 else ""
        return f"transactional id {found.transactional_id} (producer {self.producer_id}{since})"


def open_transactions(
    admin: Admin, wanted: Mapping[str, Collection[TopicPartition]], seconds: float = SHORT_SECONDS
) -> dict[str, list[TopicPartition]]:
    """The partitions of each group whose offsets are in a transaction that does not end within ``seconds``.

    Read errors are left to the next reader. Brokers before 2.5 do not report such transactions.
    """
    found = {}
    for group, offsets in admin.fetch_offsets(wanted, require_stable=True, timeout=seconds).items():
        if not isinstance(offsets, KcliError):
            unstable = [tp for tp, offset in offsets.items() if isinstance(offset, UnstableOffsetError)]
            if unstable:
                found[group] = unstable
    return found


def refused_for_transactions(
    admin: Admin, plans: Sequence[GroupPlan], seconds: float = SHORT_SECONDS
) -> dict[str, KcliError]:
    """Why groups without members cannot be rewound now, by group. Start offsets of share groups are in no transaction."""
    by_group = {plan.group: plan for plan in plans if plan.todo and not plan.live and not plan.is_share}
    wanted = {group: [item.tp for item in plan.todo] for group, plan in by_group.items()}
    found = open_transactions(admin, wanted, seconds) if wanted else {}
    return {
        group: open_error(by_group[group], partitions, holders_text(admin, group))
        for group, partitions in found.items()
    }


def open_error(plan: GroupPlan, partitions: Sequence[TopicPartition], holder: str) -> KcliError:
    """``holder``: see ``holders_text``."""
    more = f" and {len(partitions) - 1} more" if len(partitions) > 1 else ""
    return OpenTransactionError(
        f"a transaction with the offsets of group {plan.group} is open ({partitions[0]}{more})",
        why=f"at its end it would replace the offsets that a rewind has set; {holder}",
        do=plan.remedies.transactions,
    )


def holders_text(admin: Admin, group: str) -> str:
    """Describes the open transaction's producer; several may have offsets of groups in that partition."""
    try:
        tp = _commits_of(admin, group)
        holders = find_holders(admin, tp)
    except KcliError as error:
        return f"its producer could not be found: {error}"
    if not holders:
        return "it has just ended"
    named = ("it is of " if len(holders) == 1 else "it is one of: ") + "; ".join(map(str, holders))
    verb = "abort" if any(holder.transaction is None for holder in holders) else "describe"
    ends = "ends it" if verb == "abort" else "shows when it ends"
    return f"{named}; `kcli txn {verb} --topic {tp.topic} -p {tp.partition}` {ends}"


def _commits_of(admin: Admin, group: str) -> TopicPartition:
    """The partition that has the group's commits."""
    topic = value_or_raise(admin.describe_topics([TOPIC])[TOPIC])
    return offsets_partition(group, len(topic.partitions))


def find_holders(admin: Admin, tp: TopicPartition) -> list[Holder]:
    """The producers with an open transaction in this partition of the commits; KcliError."""
    producers = value_or_raise(admin.describe_producers([tp])[tp])
    ids = sorted({one.producer_id for one in producers if one.open_since >= 0})
    if not ids:
        return []
    names = [one.transactional_id for one in admin.list_transactions(producer_ids=ids).transactions]
    described = admin.describe_transactions(names) if names else {}
    by_id = {one.producer_id: one for one in described.values() if not isinstance(one, KcliError)}
    return [Holder(producer_id, by_id.get(producer_id)) for producer_id in ids]
