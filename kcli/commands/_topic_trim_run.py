"""What ``kcli topics trim`` does: finds the new starts, shows the plan, asks, deletes records, and reads back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kcli.commands import _topic_rows as view
from kcli.commands import _topic_trim_plan as plans
from kcli.commands._topic_trim_plan import TrimItem, TrimOutcome
from kcli.commands.groups._rewind_target import has_terminal, is_ago, offset_spec
from kcli.commands.groups._rewind_text import instant_text
from kcli.commands.shared.cluster import connect, open_admin, without_errors
from kcli.commands.shared.confirm import confirm
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import check_topic_name
from kcli.commands.shared.plan_output import show_plan_only
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import usage
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigKind, ConfigResource
from kcli.core.admin.topics import TopicInfo
from kcli.core.clock import wall_ms
from kcli.core.cluster.metadata import no_partition
from kcli.core.cluster.offsets import EARLIEST, OffsetInfo
from kcli.core.errors import DataLossError, KcliError, NoLeaderError, OutcomeUnknownError, TimedOutError
from kcli.core.exit_codes import ExitCode
from kcli.core.own_names import is_own_topic
from kcli.core.positions import OffsetSpec
from kcli.core.types import TopicPartition
from kcli.flows.config_values import list_words
from kcli.flows.groups.offsets import log_ends, offsets_at
from kcli.output.progress import counted

_EXAMPLES = (
    "--before 1200, --before @-7d, --before 2026-11-21T10:00Z, --before -1000 (keeps the last 1000 of each partition), "
    "--before latest (all records)"
)


class TrimRefusedError(KcliError):
    """Kafka deletes no records of this topic."""

    exit_code = ExitCode.REFUSED


class NotTrimmedError(KcliError):
    """A confirmed deletion did not show when the starts were read back."""

    exit_code = ExitCode.REFUSED


def trim_topic(inv: Invocation, name: str, before: str, partitions: tuple[int, ...] | None) -> int:
    """Deletes the records of a topic before an offset or a time. Returns the exit status."""
    check_topic_name(name, "topics trim")
    now = wall_ms()
    spec = offset_spec(before, now, "topics trim: --before", _EXAMPLES, terminal=has_terminal(inv))
    if spec.kind == "stored":
        raise usage(
            f"topics trim: --before {before} is not an offset of a log",
            why="it means a group's committed offset, and no group is given",
            do=f"as in {_EXAMPLES}",
        )
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        for topic in without_errors(inv, admin.describe_topics([name])).values():
            _check_may_be_trimmed(admin, topic)
            items = _items(admin, topic, spec, _selected(topic, partitions))
            text = plans.plan_text(name, _words(spec, now, ago=is_ago(before)), items)
            return _confirm_and_trim(inv, admin, cluster, topic, items, text)
    return inv.finish(done=False)


def _confirm_and_trim(
    inv: Invocation, admin: Admin, cluster: str, topic: TopicInfo, items: Sequence[TrimItem], text: str
) -> int:
    todo = {item.tp: item.before for item in items if item.before is not None and item.records}
    possible = any(item.error is None for item in items)

    def remarks() -> None:
        errors = [(item.tp, item.error) for item in items if item.error is not None]
        for error in plans.grouped_errors(errors):
            inv.failed(error, partly=possible)

    if inv.dry_run or not todo:
        show_plan_only(inv, text, plans.PLAN, map(plans.plan_row, items), cluster, kind="TopicTrimPlan")
        remarks()
        if possible and not todo:
            inv.talk.note("nothing is to be deleted")
            if not inv.dry_run:
                _print_report(inv, cluster, items, {})
        return inv.finish(done=possible)
    confirm(inv, text, f"Delete these records of topic {topic.name}?", name=topic.name, remarks=remarks)
    _check_same_topic(admin, topic)
    outcomes = _trimmed(admin, todo)
    done = [tp for tp, outcome in outcomes.items() if outcome.status == "done"]
    for status in ("failed", "unknown"):
        errors = [
            (tp, one.error) for tp, one in outcomes.items() if one.error is not None and one.status == status
        ]
        for error in plans.grouped_errors(errors, unknown=status == "unknown"):
            inv.failed(error, partly=bool(done))
    _print_report(inv, cluster, items, outcomes)
    if done:
        gone = sum((outcomes[item.tp].start or 0) - (item.start or 0) for item in items if item.tp in done)
        what = f"{counted(gone, 'offset')} deleted in {counted(len(done), 'partition')}, read back"
        inv.talk.note(f"trimmed topic {topic.name}: {what}")
    return inv.finish(done=bool(done))


def _trimmed(admin: Admin, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, TrimOutcome]:
    """Deletes the records, and reads the starts of the logs back.

    Where it is not known whether a broker deleted them, the start that is read decides.
    """
    answers = admin.delete_records(before)
    starts = offsets_at(admin, list(before), EARLIEST)
    return {tp: _outcome(tp, wanted, answers[tp], starts[tp]) for tp, wanted in before.items()}


def _outcome(
    tp: TopicPartition, wanted: int, answer: int | KcliError, found: OffsetInfo | KcliError
) -> TrimOutcome:
    unsure = isinstance(answer, OutcomeUnknownError | TimedOutError) and not isinstance(answer, NoLeaderError)
    start = found.offset if isinstance(found, OffsetInfo) else None
    if isinstance(answer, KcliError) and not unsure:
        return TrimOutcome("failed", start, answer)
    if isinstance(found, KcliError):
        return TrimOutcome("unknown", None, answer if isinstance(answer, KcliError) else found)
    if found.offset >= wanted:
        return TrimOutcome("done", start)
    if isinstance(answer, KcliError):
        return TrimOutcome("unknown", start, answer)
    error = NotTrimmedError(
        f"the log of {tp} was trimmed to {wanted:,}, but starts at {found.offset:,}",
        why=f"its start reads {found.offset:,} after the broker confirmed {wanted:,}",
        do="run it again; if it lasts, a replica that had not deleted them may have become leader",
    )
    return TrimOutcome("failed", start, error)


def _check_may_be_trimmed(admin: Admin, topic: TopicInfo) -> None:
    """Refuses what brokers refuse: internal topics, and those whose policy does not delete."""
    purpose = view.purpose(topic)
    if purpose is not None:
        raise TrimRefusedError(
            f"records of topic {topic.name} are not deleted",
            why=purpose,
            do="Kafka compacts it by itself"
            if is_own_topic(topic.name)
            else "Kafka compacts it by itself; `kcli groups delete-offsets GROUP -t TOPIC` deletes committed offsets",
        )
    (entries,) = admin.describe_configs(
        [ConfigResource(ConfigKind.TOPIC, topic.name)], keys=["cleanup.policy"]
    ).values()
    if isinstance(entries, KcliError):
        return  # without the permission to see it, the broker decides when records are deleted
    for entry in entries:
        if entry.name == "cleanup.policy" and "delete" not in list_words(entry.value):
            raise TrimRefusedError(
                f"records of topic {topic.name} are not deleted",
                why=f"POLICY_VIOLATION (44): its cleanup.policy is {entry.value or 'empty'}, without delete",
                do="a record without a value deletes its key in a compacted topic; to trim it, add the policy: "
                f"`kcli topics alter {topic.name} --append cleanup.policy=delete`, with which retention applies, too",
            )


def _check_same_topic(admin: Admin, topic: TopicInfo) -> None:
    """The question may have taken long: a topic of that name that was created since is another one."""
    now = admin.describe_topics([topic.name])[topic.name]
    if isinstance(now, KcliError):
        raise now
    if now.topic_id != topic.topic_id:
        raise DataLossError(
            f"topic {topic.name} was deleted and created anew",
            why="the plan is of a topic that does not exist any more; nothing was deleted",
            do="run it again for a new plan",
        )


def _selected(topic: TopicInfo, partitions: tuple[int, ...] | None) -> list[TopicPartition]:
    """All partitions, or those of ``-p``; an error if one does not exist."""
    numbers = [part.partition for part in topic.partitions]
    for number in partitions or ():
        if number not in numbers:
            raise no_partition(TopicPartition(topic.name, number), len(numbers))
    return [TopicPartition(topic.name, number) for number in sorted(partitions or numbers)]


def _items(
    admin: Admin, topic: TopicInfo, spec: OffsetSpec, partitions: Sequence[TopicPartition]
) -> list[TrimItem]:
    if not partitions and topic.error is not None:
        raise topic.error
    ends = log_ends(admin, partitions)
    known = [tp for tp, log in ends.items() if log.end is not None]
    at_time = offsets_at(admin, known, spec.value) if spec.kind == "timestamp" and known else {}
    return plans.trim_items(spec, ends, at_time)


def _words(spec: OffsetSpec, now: int, *, ago: bool) -> str:
    """The limit in words."""
    if spec.kind == "timestamp":
        note = f" ({spec.note})" if spec.note else ""
        return f"{instant_text(spec.value, now, ago=ago)}{note}, up to the first that is not older"
    words = {
        "earliest": "the start of the log",
        "latest": "the end of the log",
        "offset": f"offset {spec.value:,}",
        "from_start": f"the start of the log + {spec.value:,}",
        "from_end": f"the last {spec.value:,} of each partition",
    }
    return words[spec.kind]


def _print_report(
    inv: Invocation,
    cluster: str,
    items: Sequence[TrimItem],
    outcomes: Mapping[TopicPartition, TrimOutcome],
) -> None:
    rows = []
    for item in items:
        unsent = TrimOutcome("unchanged" if item.error is None else "failed", item.start, item.error)
        rows.append(plans.report_row(item, outcomes.get(item.tp, unsent)))
    print_rows(inv, "TopicTrimReport", plans.REPORT, rows, cluster)
