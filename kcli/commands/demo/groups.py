"""The steps of ``kcli demo`` with a consumer group: its lag, and its rewind and the undo of it."""

from functools import partial

from kcli.commands.demo.stage import GROUP, TOPIC, Stage
from kcli.commands.groups._lag_rows import GroupVerdict, lag_rows
from kcli.commands.groups.lag_output import LagOutput
from kcli.commands.shared.context import ClusterName
from kcli.core.clock import wall_ms
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import KcliError
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions
from kcli.core.types import OffsetAndMetadata, Record, TopicPartition
from kcli.flows import round_trip
from kcli.flows.lag.measure import EXACT, measure_lag
from kcli.flows.lag.sample import Wanted
from kcli.flows.lag.verdicts import History
from kcli.flows.rate import wait
from kcli.flows.rewind.execute import execute
from kcli.flows.rewind.journal import Journals
from kcli.flows.rewind.plan import RewindPlan
from kcli.flows.rewind.spans import time_spans
from kcli.flows.rewind.survey import RewindRequest, survey
from kcli.flows.rewind.targets import Target
from kcli.flows.rewind.text import plan_text
from kcli.output.progress import counted

_PARTITION = TopicPartition(TOPIC, 0)


def half_of(records: int) -> int:
    """How many records the group reads; at least one, so that there is something to rewind."""
    return max(1, records // 2)


def show_lag(stage: Stage) -> None:
    """A group reads half of the topic and commits; its lag is the rest."""
    half = half_of(stage.records)
    stage.command("consume", TOPIC, "-g", GROUP, "-n", str(half), ">", "/dev/null")
    with _member(stage) as consumer, stage.inv.progress("read", total=half) as bar:
        consumer.connect(stage.inv.timeout)
        read = round_trip.read_in_group(
            consumer,
            TOPIC,
            half,
            stage.stop,
            bar.update,
            timeout=stage.inv.timeout,
            warn=stage.inv.talk.warn,
        )
    if stage.stop:
        return
    stage.figures("consumed", read.records, read.bytes, read.seconds)
    stage.command("groups", "lag", GROUP, "--by", "group")
    found = measure_lag(stage.admin, Wanted((GROUP,), members=True), EXACT)
    for error in found.sample.failed.values():
        raise error
    (group,) = found.sample.groups
    rows = found.rows[GROUP]
    history = History()
    history.add_rows(found.sample.at_ms, GROUP, rows, group.state)
    verdicts = {GROUP: GroupVerdict(history.verdict(GROUP, group.state, rows))}
    with LagOutput(stage.inv, "group", stage.admin.cluster_id(), watched=False) as output:
        output.show_sample(found.sample.at_ms, lag_rows(found, verdicts, "group", only_lagging=False))
    (row,) = rows
    rest = stage.records - half
    stage.check("lag", "the committed offset of the group", half, row.committed)
    stage.check("lag", "the lag of the group in records", rest, row.lag)
    stage.line(
        "proof", f"{counted(stage.records, 'record')} produced − {half:,} read and committed = {rest:,}"
    )


def show_rewind(stage: Stage) -> None:
    """The group goes back by half of what it has read, and reads on there; then this is undone."""
    half = half_of(stage.records)
    offset = half // 2
    journals = Journals(stage.admin.cluster_id(), stage.folder / "rewind")
    stage.command("groups", "rewind", GROUP, "--to", str(offset), "--yes")
    target = {GROUP: Target("offset", offset)}
    _rewind(stage, journals, RewindRequest(target, f"offset {offset:,}"), shown=True)
    if stage.stop:
        return
    stage.check("rewind", "the committed offset of the group", offset, _committed(stage))
    record = _next_record(stage)
    if stage.stop or record is None:
        return
    number = round_trip.line_number(record.value or b"")
    stage.check("rewind", "the offset of the next record that the group reads", offset, record.offset)
    stage.check("rewind", "the number in the next record that the group reads", offset, number)
    stage.line("proof", f"the next record that the group reads is number {number:,}")

    journal = journals.of(GROUP)
    stage.command("groups", "rewind", GROUP, f"--undo={journal.id}", "--yes")
    request = RewindRequest(
        {GROUP: Target("given", offsets=journal.before, exact=True)},
        f"what was committed before {journal.id}",
        undoes={GROUP: journal.id},
    )
    _rewind(stage, journals, request, shown=False)
    if stage.stop:
        return
    stage.check("undo", "the committed offset of the group", half, _committed(stage))
    stage.line("proof", f"the group is at offset {half:,} again, as before the rewind")


def _rewind(stage: Stage, journals: Journals, request: RewindRequest, *, shown: bool) -> None:
    plan = _plan(stage, journals, request)
    if shown:
        stage.text(plan_text(plan, ClusterName(stage.servers, "")))
    (report,) = execute(
        stage.admin,
        plan,
        journals,
        written=lambda _group: None,
        sleep=lambda seconds: wait(seconds, stage.stop),
    )
    for error in (report.error, *(outcome.error for outcome in report.outcomes)):
        if error is not None:
            raise error
    stage.check("rewind", "the number of partitions that were set and read back", 1, report.done)
    stage.line("rewound", "1 partition set and read back")


def _plan(stage: Stage, journals: Journals, request: RewindRequest) -> RewindPlan:
    plan = survey(stage.admin, journals.cluster, request, wall_ms(), partial(time_spans, stage.admin))
    for error in plan.unplanned.values():
        raise error
    return plan


def _committed(stage: Stage) -> int | None:
    found = stage.admin.fetch_offsets({GROUP: [_PARTITION]})[GROUP]
    commit = found if isinstance(found, KcliError) else found[_PARTITION]
    if isinstance(commit, KcliError):
        raise commit
    return commit.offset if isinstance(commit, OffsetAndMetadata) else None


def _next_record(stage: Stage) -> Record | None:
    """What a member that joins now reads first; it commits nothing. None after a stop."""
    with _member(stage) as consumer:
        stage.stop.wake(consumer.wakeup)
        consumer.connect(stage.inv.timeout)
        consumer.subscribe([TOPIC])
        return next(iter(consumer), None)


def _member(stage: Stage) -> Consumer:
    options = stage.options(
        ConsumerOptions,
        group_id=GROUP,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=WHOLE_BATCHES,
    )
    return Consumer(options, hooks=stage.inv.hooks)
