"""What ``kcli mirror reverse`` does with two clusters: the plan of the way back and its question, its start, the copy."""

from collections.abc import Collection, Mapping, Sequence
from shlex import quote

from kcli.commands.mirror.report import COLUMNS, STRANDED, Rows, report
from kcli.commands.shared.confirm import confirm, show_plan
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.copy_plan import CopyShown, names_of
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.sides import Side
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.names import DEFAULT_JOB
from kcli.core.options import ClientOptions
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import log_ends
from kcli.flows.mirror.copy.state_watch import partition_names
from kcli.flows.mirror.job.job import promoted
from kcli.flows.mirror.job.state import JobId, JobState, SavedJob, StrandedRange
from kcli.flows.mirror.job.store import saved_jobs
from kcli.flows.mirror.job.writer import Target, job_writer, read_jobs
from kcli.flows.mirror.plan.loops import jobs_that_write
from kcli.flows.mirror.plan.targets import create_state_topic
from kcli.flows.mirror.promotion.promote import find_job
from kcli.flows.mirror.promotion.reverse import (
    Return,
    ReturningMirror,
    begin,
    begun_elsewhere,
    check_begins_anew,
    check_promoted,
    never_copied,
    return_settings,
    returns,
)
from kcli.flows.mirror.promotion.stranded import Sides, Stranded, read_stranded
from kcli.flows.mirror.settings import LEAST_WAIT, MAX_WAIT
from kcli.flows.stop import Stop
from kcli.output.progress import counted
from kcli.output.tables import Column, indented_table

_MOST_NAMED = 5
PLAN_COLUMNS = (
    Column("topic"),
    Column("partition", "number"),
    Column("target", values="string", meaning="Name of the topic that is copied to."),
    Column(
        "from_offset",
        "number",
        values="count",
        meaning="Where the copy begins: the end of the recovery point.",
    ),
    Column("to_offset", "number", meaning="The end now; null where it is not known."),
    Column(
        "stranded_offsets",
        "number",
        values="count",
        meaning="Offsets of the partition that is copied to, which the first direction never copied.",
    ),
    Column("note", "prose"),
    Column(
        "status",
        values=("planned", "unchanged", "refused"),
        meaning="What would become of it; unchanged: nothing is left to be copied back.",
    ),
)
PLAN_HEAD = (
    Column("target_cluster", meaning="Id of the cluster that is copied to."),
    Column("job", values="string", meaning="Name of the job."),
)


class Wishes(NamedTuple):
    """The options. ``path``: where stranded records are written; ``max_wait`` in seconds."""

    follow: bool
    path: str | None
    groups: tuple[str, ...]
    verify: bool
    max_wait: float | None


def copy_back(inv: Invocation, source: str, target: str, name: str | None, wishes: Wishes) -> int:
    """Begins the way back, or continues it; returns the exit status."""
    old = Side(inv, "--from", source, changes=True)
    copy = Side(inv, "--to", target, changes=False)
    with (
        Admin(old.options(ClientOptions), inv.hooks, timeout=inv.timeout) as here,
        Admin(copy.options(ClientOptions), inv.hooks, timeout=inv.timeout) as there,
    ):
        for named, admin in ((source, here), (target, there)):
            with inv.first_contact(named):
                admin.connect()
        jobs = saved_jobs(copy, there, inv.hooks)
        _, forth = find_job(jobs, name or DEFAULT_JOB, here.cluster_id() or old.servers, old.servers)
        promotion = check_promoted(forth.state, forth.promotion)
        own = Target(old, here, inv.hooks, inv.timeout)
        back = JobId(there.cluster_id() or copy.servers, forth.state.job)
        saved = read_jobs(own).get(back)
        if check_begins_anew(saved, forth.state):
            found = returns(Sides(old, copy, inv.hooks), here, forth, promotion)
            for one in filter(None, (_lost(tp, one, back.job) for tp, one in sorted(found.items()))):
                inv.talk.warn(one)
            left = never_copied(
                here,
                forth,
                found,
                lambda: jobs_that_write(old, here, there.cluster_id(), inv.hooks, detail=inv.talk.detail),
            )
            if others := begun_elsewhere(there, forth):
                inv.talk.warn(_begun_elsewhere(others))
            if not _agrees(inv, here, there, forth.state, found, left):
                return inv.finish(done=True)
            create_state_topic(here, len(here.describe_cluster().brokers))
            with job_writer(own, back) as writer:
                if check_begins_anew(writer.saved, forth.state):
                    begin(writer, back, found, left, forth, copy.servers)
            # The answer to a commit may precede its marker (KIP-890), so what was begun is waited for.
            saved = saved_jobs(old, here, inv.hooks).get(back)
        assert saved is not None
        if saved.state.promoted_ms:
            raise promoted(saved.state)
        with Stop() as stop:
            return _copy(inv, old, copy, own, forth, saved, wishes, stop)


def _lost(tp: TopicPartition, one: Return, job: str) -> str | None:
    """What is to be done where the old source has lost records that are on its copy: a position is moved by its user."""
    if one.lost is None:
        return None
    reset = f"kcli mirror reset {tp.topic}:{tp.partition} --from HOST:PORT --to HOST:PORT --job {job} --offset {one.lost}"
    return (
        f"{one.target} of the old source has lost records that were copied to {tp}; nothing is copied back to it: "
        f"`{reset}` (from the old target, to the old source) lets the way back begin with them"
    )


def _begun_elsewhere(topics: Sequence[str]) -> str:
    named = ", ".join(topics[:_MOST_NAMED]) + (
        f" and {len(topics) - _MOST_NAMED} more" if topics[_MOST_NAMED:] else ""
    )
    return (
        f"topics of the old target that were never copied from the old source are not copied back: {named}; "
        f"`kcli mirror run --from HOST:PORT --to HOST:PORT --job NAME -t {quote(topics[0])}` copies it back"
    )


def _agrees(
    inv: Invocation,
    here: Admin,
    there: Admin,
    forth: JobState,
    found: Mapping[TopicPartition, Return],
    left: Mapping[TopicPartition, StrandedRange],
) -> bool:
    """Shows the plan and asks; False for a dry run."""
    ends = log_ends(there, list(found)) if found else {}
    rows = [
        {
            "topic": tp.topic,
            "partition": tp.partition,
            "target": one.target.topic,
            "from_offset": one.position,
            "to_offset": ends[tp].end,
            "stranded_offsets": one.stranded.stop - one.stranded.first,
            "note": ends[tp].note,
        }
        for tp, one in sorted(found.items())
    ]
    lines = [
        f"Copy back what was written since mirror job {forth.job} was promoted",
        f"  from {forth.target} to {forth.source}, behind the records that are there",
        *indented_table(PLAN_COLUMNS[:-1], rows),
        *(
            f"  {tp} of the old source was never copied: offsets {one.first} to {one.stop - 1} are stranded"
            for tp, one in sorted(left.items())
            if one.first < one.stop
        ),
    ]
    text = "\n".join(lines)
    if inv.dry_run:
        show_plan(inv, text)
        if inv.out.list_kind() in ("json", "ndjson", "yaml", "csv", "tsv"):
            head = {"target_cluster": here.cluster_id(), "job": forth.job}
            planned = [{**row, "status": "planned"} for row in rows]
            print_rows(inv, "MirrorReversalPlan", PLAN_COLUMNS, planned, forth.target, head=head)
    return confirm(inv, "" if inv.dry_run else text, "Copy back?", subject=forth.job)


def _copy(
    inv: Invocation,
    old: Side,
    copy: Side,
    own: Target,
    forth: SavedJob,
    saved: SavedJob,
    wishes: Wishes,
    stop: Stop,
) -> int:
    settings = return_settings(
        saved,
        follow=wishes.follow,
        max_wait=wishes.max_wait,
        verify=wishes.verify,
        groups=wishes.groups,
    )
    shown = CopyShown(inv, names_of(copy, old))
    with ReturningMirror(settings, copy, old, shown, hooks=inv.hooks, timeout=inv.timeout) as mirror:
        mirror.forth = forth
        if not mirror.prepare():
            return shown.end()
        patience = MAX_WAIT if wishes.max_wait is None else max(LEAST_WAIT, wishes.max_wait)
        stranded = read_stranded(old, own.admin, inv.hooks, saved.stranded, wishes.path, patience, stop)
        returned = {
            TopicPartition(one.progress.target, one.progress.target_partition)
            for one in saved.partitions.values()
        }
        _tell(inv, saved.stranded, stranded, returned, wishes.path)
        result = mirror.copy(stop)
    rows = {one.source: _stranded_row(one.target, saved.stranded, stranded) for one in result.copies}
    return report(inv, result, stop, Rows("MirrorReversal", "ReturnedPartition", (*COLUMNS, *STRANDED), rows))


def _stranded_row(
    tp: TopicPartition, ranges: Mapping[TopicPartition, StrandedRange], found: Stranded
) -> dict[str, object]:
    one = ranges.get(tp)
    any_of_it = one is not None and one.first < one.stop
    return {
        "stranded": found.records.get(tp) if one is not None else 0,
        "stranded_from": one.first if one is not None and any_of_it else None,
        "stranded_to": one.stop if one is not None and any_of_it else None,
    }


def _tell(
    inv: Invocation,
    ranges: Mapping[TopicPartition, StrandedRange],
    found: Stranded,
    returned: Collection[TopicPartition],
    path: str | None,
) -> None:
    """Stranded records are no failure of the way back: that they are named is what was asked for."""
    total = sum(found.records.values())
    if total:
        some = sum(bool(count) for count in found.records.values())
        written = f"; they are in {path}" if path else "; --stranded FILE writes them"
        inv.talk.warn(
            f"{counted(total, 'record')} of {counted(some, 'partition')} are stranded: the first direction never copied "
            f"them{written}"
        )
    never = [tp for tp in ranges if tp not in returned and found.records.get(tp)]
    if never:
        inv.talk.warn(
            f"nothing of {partition_names(never)} was ever copied: these partitions are not part of the way back"
        )
    errors: list[KcliError] = [found.errors[tp] for tp in ranges if tp in found.errors]
    for error in errors:
        inv.failed(error, partly=True)
