"""The table of mirror jobs."""

from kcli.core.classes import NamedTuple
from kcli.flows.mirror.copy.partition_state import State
from kcli.flows.mirror.job.job_line import DONE, UNKNOWN, WRONG, JobLine
from kcli.output.tables import Field, time_text
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.columns import Column, fields_of
from kcli.tui.look import SIGNS


class MirrorRow(NamedTuple):
    """A job, seen at ``at_ms``."""

    line: JobLine
    at_ms: int

    @property
    def meaning(self) -> str:
        """See ``look.SIGNS``."""
        if self.line.state in WRONG:
            return "bad"
        if self.line.state == UNKNOWN:
            return "unread"
        return "warn" if self.line.state == State.WAITING or self.line.gaps else "ok"


RANKS = {"bad": 0, "warn": 1, "unread": 2, "ok": 3}


def state_cell(state: str, meaning: str) -> Cell:
    """A state with its sign."""
    return Cell(f"{SIGNS[meaning]} {state.replace('_', ' ')}", meaning)


def partition_meaning(state: str, of_job: str) -> str:
    """Of a partition; those of a job that is done have ended in order."""
    if of_job == DONE:
        return "ok"
    return "bad" if state == State.ENDED else "warn" if state == State.WAITING else "ok"


def _since(row: MirrorRow, at_ms: int) -> float | None:
    return max(0, row.at_ms - at_ms) / 1000 if at_ms > 0 else None


def _age(row: MirrorRow, at_ms: int) -> Cell:
    seconds = _since(row, at_ms)
    return Cell(figures.ago(seconds))


def _holder(line: JobLine) -> str:
    waiting = f" +{line.standbys}" if line.standbys else ""
    return f"{line.host}{waiting}" if line.running else f"({line.host})" if line.host else ""


COLUMNS: tuple[Column[MirrorRow], ...] = (
    Column(
        "STATE", 12, lambda one: state_cell(one.line.state, one.meaning),
        lambda one: (RANKS[one.meaning], one.line.job), least=9,
        about="the worst of its partitions; stopped: killed, or it lost the target; silent: it runs and saves nothing; "
        "done: it ended in order",
        data=(
            Field(
                "state", of=lambda one: one.line.state, values="string",
                meaning="The worst state of its partitions, or stopped, silent, unknown, new or done.",
            ),
        ),
    ),
    Column(
        "JOB", 12, lambda one: Cell(one.line.job), lambda one: one.line.job, grows=True, least=6,
        about="the name of the job",
        data=(Field("job", of=lambda one: one.line.job, values="string", meaning="Name of the job."),),
    ),
    Column(
        "SOURCE", 14, lambda one: Cell(one.line.servers or one.line.source),
        lambda one: one.line.servers or one.line.source, grows=True, drop=7,
        about="the brokers that it copies from",
        data=(
            Field(
                "source", of=lambda one: one.line.servers, values="string",
                meaning="The brokers that it copies from.",
            ),
            Field("source_cluster", of=lambda one: one.line.source, values="string", meaning="Id of the source."),
        ),
    ),
    Column(
        "TARGET", 10, lambda one: Cell(f"→ {one.line.target or figures.UNKNOWN}"), lambda one: one.line.target,
        drop=9, grows=True,
        about="the cluster that it writes to: this one",
        data=(
            Field(
                "target_cluster", of=lambda one: one.line.target, values="string", meaning="Id of the target."
            ),
        ),
    ),
    Column(
        "PARTS", 6, lambda one: Cell(f"{one.line.partitions:,}"), lambda one: one.line.partitions, right=True,
        falling=True, drop=6,
        about="its partitions",
        data=(
            Field("topics", "number", of=lambda one: one.line.topics, values="count", meaning="Topics."),
            Field(
                "partitions", "number", of=lambda one: one.line.partitions, values="count", meaning="Partitions."
            ),
        ),
    ),
    Column(
        "LAG", 10, lambda one: Cell(figures.count(one.line.lag)), lambda one: one.line.lag, right=True,
        falling=True, least=6, narrow=lambda one: Cell(figures.short(one.line.lag)),
        about="offsets of the source that are not copied, when its ends were read last",
        data=(
            Field(
                "lag_records", "number", of=lambda one: one.line.lag,
                meaning="Offsets that were left when the source was read last; null where that is unknown.",
            ),
        ),
    ),
    Column(
        "GAPS", 5, lambda one: Cell(f"{one.line.gaps:,}", "warn" if one.line.gaps else ""),
        lambda one: one.line.gaps, right=True, falling=True, drop=8,
        about="ranges that were not copied, which nobody has acknowledged",
        data=(
            Field(
                "gaps", "number", of=lambda one: one.line.gaps, values="count",
                meaning="Ranges that were not copied, which nobody has acknowledged.",
            ),
        ),
    ),
    Column(
        "ENDS READ", 9, lambda one: _age(one, one.line.seen_ms), lambda one: _since(one, one.line.seen_ms),
        right=True, falling=True, drop=3,
        about="how long ago the ends of the source were read, at the partition where that is the longest",
        data=(
            Field(
                "end_seen_at", of=lambda one: time_text(one.line.seen_ms) if one.line.seen_ms else None,
                values="time?", meaning="When the end of the source was read last, of the partition where that is "
                "the longest ago; null if it never was.",
            ),
        ),
    ),
    Column(
        "SAVED", 9, lambda one: _age(one, one.line.updated_ms), lambda one: _since(one, one.line.updated_ms),
        right=True, falling=True, drop=2,
        about="how long ago it saved its state",
        data=(
            Field(
                "updated_at", of=lambda one: time_text(one.line.updated_ms) if one.line.updated_ms else None,
                values="time?", meaning="When its state was saved last; null where that is not known.",
            ),
        ),
    ),
    Column(
        "HELD BY", 12, lambda one: Cell(_holder(one.line), "" if one.line.running else "dim"),
        lambda one: _holder(one.line) or None, grows=True, drop=1,
        about="the machine that runs it; +1: another instance stands by; in brackets the one that ran it last",
        data=(
            Field(
                "running", of=lambda one: one.line.running, values="boolean?",
                meaning="Whether a process runs the job; null where that is not known.",
            ),
            Field("host", of=lambda one: one.line.host, values="string",
                  meaning="The machine that runs it, or ran it last."),
            Field("pid", "id", of=lambda one: one.line.pid or None, values="integer?",
                  meaning="Its process; null where it is not known."),
            Field("standbys", "number", of=lambda one: one.line.standbys, values="count",
                  meaning="Instances that take over when the one that runs ends."),
            Field("delivery", of=lambda one: one.line.delivery, values="string",
                  meaning="exactly once, or at least once."),
        ),
    ),
    Column(
        "WHY", 20, lambda one: Cell(one.line.why, one.meaning if one.line.why else ""), lambda one: one.line.why,
        grows=True, drop=4, needed=lambda one: bool(one.line.why),
        about="what it waits for, or why it does not run",
        data=(
            Field("why", of=lambda one: one.line.why or None, meaning="The reason; null where there is none."),
        ),
    ),
)  # fmt: skip
FIELDS = fields_of(COLUMNS)
