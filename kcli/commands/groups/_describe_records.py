"""What ``kcli groups describe`` reads with a consumer: commit times, and the records around commits."""

from collections.abc import Mapping, Sequence

from kcli.commands.groups._record_consumer import record_consumer
from kcli.commands.shared.context import Invocation
from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError
from kcli.core.types import GroupPartition
from kcli.flows.groups.bounded_reads import Budget
from kcli.flows.groups.commit_times import TOPIC, commit_times
from kcli.flows.groups.description import Described, commits_of
from kcli.flows.groups.records_around import RecordsAround, records_around

TIME_BYTES, TIME_SECONDS = 16 << 20, 5.0
PEEK_BYTES, PEEK_SECONDS = 16 << 20, 10.0


def read_times(
    inv: Invocation, admin: Admin, commits: Mapping[GroupPartition, int]
) -> dict[GroupPartition, int]:
    """When each commit was made, in ms since the epoch, where that can be found."""
    try:
        topic = admin.describe_topics([TOPIC])[TOPIC]
        if isinstance(topic, KcliError):
            raise topic
        budget = Budget(TIME_BYTES, TIME_SECONDS)
        with record_consumer(inv) as consumer:
            return commit_times(consumer, len(topic.partitions), commits, budget, inv.timeout)
    except KcliError as error:
        inv.talk.warn(f"commit times are not known: {error}")
        return {}


def read_records(
    inv: Invocation, groups: Sequence[Described], count: int
) -> dict[GroupPartition, RecordsAround]:
    """``count`` records around each commit."""
    budget = Budget(PEEK_BYTES, PEEK_SECONDS)
    found: dict[GroupPartition, RecordsAround] = {}
    with record_consumer(inv) as consumer:
        for group in groups:
            commits = {
                commit.tp: offset
                for commit, offset in commits_of([group]).items()
                if group.positions[commit.tp].end is not None
            }
            if not commits or budget.spent:
                continue
            try:
                around = records_around(consumer, commits, count, budget, inv.timeout)
            except KcliError as error:
                inv.talk.warn(f"records around the commits of group {group.group_id} are not shown: {error}")
                continue
            found |= {GroupPartition(group.group_id, tp): records for tp, records in around.items()}
    if budget.spent:
        inv.talk.warn(
            f"--peek stopped after {PEEK_BYTES >> 20} MiB or {PEEK_SECONDS:g} s:"
            " some records around commits are missing"
        )
    return found
