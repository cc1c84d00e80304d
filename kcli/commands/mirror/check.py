"""``kcli mirror check``: whether a job is as it has to be, for scripts, probes and monitoring."""

from collections.abc import Mapping

from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import DURATION, REPORT_KINDS, CountType, option
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.sides import Side
from kcli.commands.shared.two_clusters import from_option, job_option, to_option, topics_option
from kcli.core.admin.admin import Admin
from kcli.core.names import DEFAULT_JOB
from kcli.core.options import ClientOptions
from kcli.flows.mirror.copy.partition_state import State
from kcli.flows.mirror.job.check import Checked, check
from kcli.flows.mirror.job.conditions import CheckedPartition, Condition, Demand, Limits
from kcli.output.progress import counted, duration_text
from kcli.output.tables import Column

COLUMNS = (
    Column("topic"),
    Column("partition", "number"),
    Column("target", spare=3, meaning="Name of the topic on the target; null where the job has not begun."),
    Column(
        "state",
        values=(*(state.value for state in State), None),
        meaning="Its state when the job saved last; null for a partition that the job has not begun with.",
    ),
    Column("position", "number", spare=2, meaning="The next offset to be copied, as it was saved last."),
    Column("source_end", "number", spare=2, meaning="The end of the source now; null where it is not known."),
    Column(
        "lag_records", "number", meaning="Offsets from the position to that end; null where it is not known."
    ),
    Column(
        "lag_seconds",
        "duration",
        meaning="Age of the first record that is not copied; 0 where there is none, null where it is not known.",
    ),
    Column("gaps", "number", values="count", meaning="Gaps that nobody has acknowledged."),
    Column("ok", values="boolean", meaning="Whether all conditions of a single partition hold."),
    Column("why", "prose", meaning="What does not hold."),
)
HEAD = (
    Column("source_cluster", values="string", meaning="Id of the source that the job copies from."),
    Column("job", values="string", meaning="Name of the job."),
    Column("ok", values="boolean", meaning="Whether all conditions hold."),
    Column(
        "conditions",
        values="objects",
        meaning="The conditions.",
        inner=(
            Column(
                "condition",
                values=tuple(one.value for one in Demand),
                meaning="running: a process runs the job and saves; source: all ends are known; partitions: each is "
                "copying or caught_up; gaps: none is left to be acknowledged; lag: of all partitions; lag_time: of the "
                "worst one.",
            ),
            Column("ok", values="boolean", meaning="Whether it holds; what is not known does not."),
            Column(
                "measured",
                values="number?",
                meaning="Seconds since the job was saved, partitions that are concerned, gaps, records, or seconds; null "
                "where it is not known.",
            ),
            Column("limit", values="number?", meaning="What it may be at most; null where it has to be 0."),
            Column("why", values="string?", meaning="Why it does not hold."),
        ),
    ),
)


@command(
    "check",
    exits={
        1: "there is no such job",
        3: "the target, which has the record of the job, cannot be reached",
        8: "a condition does not hold, or cannot be known: the source does not respond",
    },
    outputs=REPORT_KINDS,
    examples=(
        ("kcli mirror check --from a:9092 --to b:9092", "whether the job runs, and copies all partitions"),
        (
            "kcli mirror check --from a:9092 --to b:9092 --job nightly --max-lag-time 5m -q",
            "for monitoring: exit code 8 when a record waits for longer",
        ),
        (
            "kcli mirror check --from a:9092 --to b:9092 --max-lag 10k -o json",
            "each condition, and each partition",
        ),
    ),
)
@options(
    "Job",
    from_option("copied", required=True),
    to_option("written", required=True),
    job_option(),
    topics_option("check", required=False),
)
@options(
    "Conditions",
    option(
        "--max-lag",
        type=CountType(0),
        metavar="N",
        help="the partitions together are at most N records behind",
    ),
    option(
        "--max-lag-time",
        type=DURATION,
        metavar="DUR",
        help="no record that is not copied is older than DUR, as in 5m; the job was saved within it (at least 2m)",
    ),
)
@pass_invocation
def check_job(
    inv: Invocation,
    /,
    source: str,
    target: str,
    job: str | None,
    topics: tuple[str, ...],
    max_lag: int | None,
    max_lag_time: float | None,
) -> int:
    """Check that a mirror job runs, copies all of its partitions, and is not too far behind.

    Always demanded: a process runs the job and has saved within five minutes; the ends of the source are known; each
    partition is copying or caught_up; no gap waits for `kcli mirror accept-gap`.

    The record of the job is read from the target, the ends from the source. Each condition that does not hold, or is not
    known to hold, is one line on stderr. With -q there is no table where all hold.
    """
    here = Side(inv, "--from", source, changes=False)
    there = Side(inv, "--to", target, changes=False)
    limits = Limits(max_lag, max_lag_time)
    with Admin(there.options(ClientOptions), inv.hooks, timeout=inv.timeout) as admin:
        with inv.first_contact(target):
            cluster = admin.cluster_id()
        found = check(job or DEFAULT_JOB, here, there, admin, limits, topics, inv.hooks)
    _print(inv, found, cluster)
    for error in found.errors:
        inv.failed(error)
    inv.talk.note(_summary(found))
    return inv.finish(done=True)


def _print(inv: Invocation, found: Checked, cluster: str) -> None:
    if inv.omits_passed and not found.errors:
        return
    inv.missing.extend(part.entry() for part in found.missing)
    state = found.job.saved.state
    head = {
        "source_cluster": state.source,
        "job": state.job,
        "ok": not found.errors,
        "conditions": [_condition(one) for one in found.conditions],
    }
    rows = map(_row, found.partitions)
    print_rows(inv, "MirrorCheck", COLUMNS, rows, cluster, item="MirrorCheckPartition", head=head)


def _condition(one: Condition) -> Mapping[str, object]:
    return {
        "condition": one.demand,
        "ok": one.ok,
        "measured": one.measured,
        "limit": one.limit,
        "why": one.why or None,
    }


def _row(one: CheckedPartition) -> dict[str, object]:
    return {
        "topic": one.tp.topic,
        "partition": one.tp.partition,
        "target": one.target,
        "state": one.state,
        "position": one.position,
        "source_end": one.end,
        "lag_records": one.lag,
        "lag_seconds": one.seconds,
        "gaps": one.gaps,
        "ok": one.ok,
        "why": "; ".join(dict.fromkeys(one.failed.values())) or None,
    }


def _summary(found: Checked) -> str:
    """``job nightly: 12 partitions, 1,204 records and 3s behind``."""
    partitions = found.partitions
    lags = [one.lag for one in partitions if one.lag is not None]
    ages = [one.seconds for one in partitions if one.seconds is not None]
    behind = "lag unknown" if len(lags) < len(partitions) else f"{counted(sum(lags), 'record')} behind"
    if behind != "lag unknown" and ages and max(ages) > 0:
        behind += f", the oldest of {duration_text(max(ages))}"
    return f"job {found.job.saved.state.job}: {counted(len(partitions), 'partition')}, {behind}"
