"""What ``kcli mirror verify`` and ``mirror run --verify-only`` do with two clusters: compare, and report."""

from collections.abc import Iterator

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.copy_plan import CopyShown, names_of
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.sides import Side, source_side
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.proof.compare import Comparison
from kcli.flows.mirror.result import mismatches
from kcli.flows.mirror.settings import MirrorSettings
from kcli.flows.mirror.verification import Verification, Verified
from kcli.flows.stop import Stop
from kcli.output.progress import counted
from kcli.output.tables import Column

COLUMNS = (
    Column("topic"),
    Column("partition", "number"),
    Column("target", spare=2, meaning="Name of the topic on the target."),
    Column(
        "result",
        values=("equal", "differs", "not_compared"),
        meaning="not_compared: a side could not be read, or the comparison was stopped.",
    ),
    Column(
        "records",
        "number",
        values="count",
        meaning="Records of the source that were compared; of a compacted topic keys with a value.",
    ),
    Column("source_from", "number", wide=True, meaning="First offset of the source that was compared."),
    Column("source_to", "number", wide=True, meaning="The offset before which the comparison ended."),
    Column("target_from", "number", wide=True, meaning="First offset of the target that was compared."),
    Column("target_to", "number", wide=True, meaning="The offset before which the comparison ended."),
    Column(
        "compared_by",
        wide=True,
        values=("offset", "order", "key", None),
        meaning="offset: with the copy of the same record; order: the n-th with the n-th, without a job; key: the last "
        "record of each key, where a topic is compacted.",
    ),
    Column(
        "different",
        "number",
        meaning="Records, or keys, that differ or are on one side only; null where only the first one is known.",
    ),
    Column("repeated", "number", spare=1, values="count", meaning="Records that the mirror stored twice."),
    Column(
        "ahead",
        "number",
        wide=True,
        values="count",
        meaning="Records that the mirror has stored after the position it saved last.",
    ),
    Column(
        "lag_records",
        "number",
        spare=1,
        meaning="Offsets of the source after the saved position; null without a job.",
    ),
    Column(
        "deleted_on_target",
        "number",
        wide=True,
        values="count",
        meaning="Records that the target's retention has removed and the source still has: a difference.",
    ),
    Column(
        "removed_on_source",
        "number",
        wide=True,
        values="count",
        meaning="Records that the source has removed and the target still has: no difference.",
    ),
    Column(
        "held_back_on_source",
        "number",
        wide=True,
        values="count",
        meaning="Offsets behind the first open transaction, which no reader gets yet.",
    ),
    Column(
        "held_back_on_target",
        "number",
        wide=True,
        values="count",
        meaning="Offsets behind the first open transaction, which no reader gets yet.",
    ),
    Column(
        "not_compared",
        "prose",
        wide=True,
        values="string?",
        meaning="Fields that were not compared, and why.",
    ),
    Column("digest_source", wide=True, meaning="Digest of what was compared."),
    Column("digest_target", wide=True, meaning="Digest of what was compared."),
    Column("error", "prose"),
)
HEAD = (
    Column("target_cluster", meaning="Id of the target."),
    Column("job", values="string?", meaning="Name of the job; null where topics are compared without one."),
    Column("running", values="boolean", meaning="Whether the job was running."),
    Column(
        "differences",
        values="objects",
        meaning="The first differences of each partition: topic, partition, source_offset, target_offset (null where it "
        "has none), what, and lacking: the side without the record (source, target, or none).",
    ),
)


def compare_topics(inv: Invocation, source: str | None, target: str, settings: MirrorSettings) -> int:
    """Compares what a job has copied with its source; returns the exit status."""
    here = source_side(inv, source)
    there = Side(inv, "--to", target, changes=False)
    shown = CopyShown(inv, names_of(here, there))
    with Verification(settings, here, there, shown, hooks=inv.hooks, timeout=inv.timeout) as verification:
        if not verification.prepare():
            return shown.end()
        with Stop() as stop:
            verified = verification.compare(stop)
        return _report(inv, verified, stop)


def _report(inv: Invocation, verified: Verified, stop: Stop) -> int:
    comparisons = {one.pair.source.tp: one for one in verified.comparisons}
    for part in verified.missing:
        inv.lacks(part, later=True)
    for text in _remarks(verified):
        inv.talk.warn(text)
    head = {
        "target_cluster": verified.survey.target_cluster,
        "job": verified.job,
        "running": verified.follows,
        "differences": [one for made in verified.comparisons for one in _differences(made)],
    }
    rows = (_row(copy, comparisons.get(copy.source)) for copy in verified.copies)
    cluster = verified.survey.source_cluster
    print_rows(inv, "MirrorVerification", COLUMNS, rows, cluster, item="VerifiedPartition", head=head)
    inv.talk.note(_summary(verified))
    for copy in verified.copies:
        if copy.error is not None:
            inv.failed(copy.error)
    for made in verified.comparisons:
        gaps = verified.gaps.get(made.pair.source.tp, ())
        for error in mismatches(made, gaps, to_end=not verified.follows):
            inv.failed(error)
    done = any(one.finished for one in verified.comparisons)
    return inv.finish(done=done, also=[stop.exit_code])


def _remarks(verified: Verified) -> Iterator[str]:
    """What was not compared, once a topic; and what the source has no partition for."""
    told: dict[tuple[str, str], None] = {}
    for one in verified.comparisons:
        if one.ignored:
            told[one.pair.source.tp.topic, one.ignored] = None
    for topic, why in told:
        yield f"topic {topic}: timestamps are not compared: {why}"
    for tp in verified.surplus:
        yield f"{tp} of the target has records, and the source has no such partition: they are not of the job"


def _row(copy: PartitionCopy, made: Comparison | None) -> dict[str, object]:
    row: dict[str, object] = dict.fromkeys(column.key for column in COLUMNS)
    row |= {
        "topic": copy.source.topic,
        "partition": copy.source.partition,
        "target": copy.target.topic,
        "result": "not_compared",
        "error": str(copy.error) if copy.error else None,
    }
    counts = ("records", "repeated", "ahead", "deleted_on_target", "removed_on_source")
    row |= dict.fromkeys((*counts, "held_back_on_source", "held_back_on_target"), 0)
    return row if made is None else row | _compared(made)


def _compared(made: Comparison) -> dict[str, object]:
    pair, mapped = made.pair, made.pair.offsets
    differs = made.difference is not None or made.deleted
    return {
        "result": "equal" if made.equal else "differs" if differs else "not_compared",
        "records": made.source_records,
        "source_from": pair.source.start,
        "source_to": pair.source.stop,
        "target_from": pair.target.start,
        "target_to": pair.target.stop,
        "compared_by": "key" if made.by_key else "order" if mapped is None else "offset",
        "different": made.different if made.counted else None,
        "repeated": made.repeated,
        "ahead": made.ahead,
        "lag_records": None if mapped is None else max(0, pair.source_end - mapped.position),
        "deleted_on_target": made.deleted,
        "removed_on_source": made.removed,
        "held_back_on_source": made.held_source,
        "held_back_on_target": made.held_target,
        "not_compared": f"timestamps: {made.ignored}" if made.ignored else None,
        "digest_source": made.source_digest or None,
        "digest_target": made.target_digest or None,
        "error": str(made.error) if made.error else None,
    }


def _differences(made: Comparison) -> Iterator[dict[str, object]]:
    tp: TopicPartition = made.pair.source.tp
    for one in made.differences:
        yield {
            "topic": tp.topic,
            "partition": tp.partition,
            "source_offset": one.source_offset,
            "target_offset": one.target_offset,
            "what": one.what,
            "lacking": one.lacking,
        }


def _summary(verified: Verified) -> str:
    """In a line: how many partitions are equal, and what is no difference and good to know."""
    comparisons = verified.comparisons
    equal = sum(one.equal for one in comparisons)
    compared = {str(copy.source) for copy in verified.copies}
    partitions = len(compared) + sum(part.what not in compared for part in verified.missing)
    parts = [f"{equal} of {counted(partitions, 'partition')} equal"]
    for by_key, unit in ((False, "record"), (True, "key")):
        chosen = [one for one in comparisons if one.by_key == by_key]
        if chosen:
            parts.append(f"{counted(sum(one.source_records for one in chosen), unit)} compared")
    for count, text in (
        (sum(one.repeated for one in comparisons), "stored twice by the mirror"),
        (sum(one.ahead for one in comparisons), "stored after the saved position"),
        (sum(one.removed for one in comparisons), "removed on the source, still on the target"),
        (sum(one.held_source for one in comparisons), "held back on the source by open transactions"),
    ):
        if count:
            parts.append(f"{count:,} {text}")
    lag = sum(
        max(0, one.pair.source_end - one.pair.offsets.position)
        for one in comparisons
        if one.pair.offsets is not None
    )
    if verified.follows and lag:
        parts.append(f"the job is running, {counted(lag, 'offset')} behind")
    return ", ".join(parts)
