"""What ``kcli segments verify`` does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from kcli.account.survey import Missing
from kcli.commands.segments._paths import chosen_partitions, cluster_of, missing_file, read_folders
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import usage
from kcli.core.errors import CorruptRecordsError, KcliError
from kcli.core.logdir.folders import CURRENT, Found, PartitionFolder, find
from kcli.core.offline.metadata_log import NotHereError
from kcli.flows.segments.compare import Comparison, Place, compare
from kcli.flows.segments.finding import DAMAGE, NOTE, Finding, merged, remedy
from kcli.flows.segments.metadata_log import read_image
from kcli.flows.segments.policies import policy_of, was_cleaned
from kcli.flows.segments.verification_rows import (
    COMPARED,
    DIFFERS,
    EQUAL,
    NOT_READ,
    VERIFIED,
    comparison_row,
    finding_rows,
    verdict_row,
)
from kcli.flows.segments.verify import Verdict, Verification, small_file_finding
from kcli.output.progress import Progress, counted

_MOST = 20
"""Findings of one kind that are reported each by itself; the rest is counted, and in documents."""


class DamageError(CorruptRecordsError):
    """A finding of verify."""


def verify_segments(inv: Invocation, paths: tuple[str, ...], topics: tuple[str, ...]) -> int:
    """Returns the exit status."""
    inv.page()
    found, of_files = _found(inv, paths, topics)
    image, missing = read_image(find(paths).partitions if topics else found.partitions)
    for part in missing:
        if isinstance(part.error, CorruptRecordsError | NotHereError):
            why = f"{part.error}: which topics are compacted is not known"
            inv.talk.note(f"the metadata log in {part.where} was not used: {why}")
        else:
            inv.lacks(part)
    verification = Verification(found, image)
    general = merged([*of_files, *verification.folder_findings])
    verdicts: list[Verdict] = []
    with inv.progress("verified", total=len(found.partitions), unit="partitions") as bar:
        for verdict in _watched(verification, bar):
            verdicts.append(verdict)
    rows = [verdict_row(verdict) for verdict in verdicts]
    for part in (*verification.missing, *(part for verdict in verdicts for part in verdict.missing)):
        inv.lacks(part, later=True)
    if not (inv.omits_passed and not any(one.count(DAMAGE) for one in verdicts)):
        head = {"findings": finding_rows(general)}
        print_rows(
            inv,
            "SegmentVerificationList",
            VERIFIED,
            rows,
            cluster_of(found),
            item="SegmentVerification",
            head=head,
        )
    _report(inv, [*general, *(finding for verdict in verdicts for finding in merged(verdict.findings))])
    if verdicts:
        _summary(inv, verdicts, damaged_folders=sum(1 for one in general if one.severity == DAMAGE))
    return inv.finish(done=bool(verdicts))


def _found(inv: Invocation, paths: tuple[str, ...], topics: tuple[str, ...]) -> tuple[Found, list[Finding]]:
    """What is in the paths; a small file that is damaged is a finding, what cannot be read is missing."""
    found = find(paths)
    findings = []
    for one in found.missing:
        finding = small_file_finding(one.path, one.why)
        if finding is None:
            inv.lacks(missing_file(one.path, one.why))
        else:
            findings.append(finding)
    chosen = chosen_partitions(inv, found.partitions, topics)
    return found._replace(partitions=tuple(chosen)), findings


def _watched(verification: Verification, bar: Progress) -> Iterator[Verdict]:
    size = 0

    def add(more: int) -> None:
        nonlocal size
        size += more

    for number, verdict in enumerate(verification.verdicts(add), 1):
        bar.update(number, size)
        yield verdict


def _report(inv: Invocation, findings: list[Finding]) -> None:
    """Notes as notes, then damage as errors, as many as a person reads."""
    notes = [one for one in findings if one.severity == NOTE]
    damages = [one for one in findings if one.severity == DAMAGE]
    for note in notes[:_MOST]:
        inv.talk.note(f"{note.where}: {note.why}; {note.affects}{_also(note)}")
    if len(notes) > _MOST:
        inv.talk.note(f"{counted(len(notes) - _MOST, 'further note')}: -o json has all")
    for damage in damages[:_MOST]:
        inv.failed(
            DamageError(
                damage.where,
                why=f"{damage.rule}: {damage.why}{_also(damage)}; {damage.affects}",
                do=remedy(damage.rule),
            )
        )
    if len(damages) > _MOST:
        inv.talk.note(f"{counted(len(damages) - _MOST, 'further place')} with damage: -o json has all")


def _also(finding: Finding) -> str:
    return f" (and at {counted(finding.also, 'further place')} of this file)" if finding.also else ""


def _summary(inv: Invocation, verdicts: list[Verdict], *, damaged_folders: int) -> None:
    segments = sum(len(one.facts) for one in verdicts)
    damaged = [f"{count} damaged"] if (count := sum(1 for one in verdicts if one.count(DAMAGE))) else []
    if damaged_folders:
        damaged.append(counted(damaged_folders, "place") + " with damage outside of their segments")
    records = sum(facts.records for one in verdicts for facts in one.facts)
    batches = sum(facts.batches for one in verdicts for facts in one.facts)
    what = (
        counted(len(verdicts), "partition"),
        counted(segments, "segment"),
        counted(batches, "batch", "batches"),
        counted(records, "record"),
    )
    verdict = ", ".join(damaged) or "no damage"
    if inv.missing:
        verdict += " in what could be read"
    inv.talk.note(f"{', '.join(what)}: {verdict}")


def compare_segments(inv: Invocation, paths: tuple[str, ...], other: str, topics: tuple[str, ...]) -> int:
    """Compares the replicas in ``paths`` with those in ``other``. Returns the exit status."""
    inv.page()
    mine, theirs = read_folders(inv, paths, topics), read_folders(inv, (other,))
    image, _ = read_image((*mine.partitions, *theirs.partitions))
    by_name = {folder.tp: folder for folder in theirs.partitions if folder.state == CURRENT}
    pairs = [(one, by_name[one.tp]) for one in mine.partitions if one.state == CURRENT and one.tp in by_name]
    same = next((one for one, other in pairs if os.path.samefile(one.path, other.path)), None)
    if same is not None:
        raise usage(
            f"segments verify: {same.path} would be compared with itself",
            why="it is below PATH and below the DIR of --compare",
            do="give the log directory of another broker to --compare",
        )
    alone = len(mine.partitions) - len(pairs)
    if alone and pairs:
        inv.talk.note(f"{counted(alone, 'partition')} not in {other}: not compared")
    if not pairs:
        error = KcliError(
            f"no partition is both in {', '.join(paths)} and in {other}",
            do="`kcli segments list PATH` lists what is there",
        )
        inv.lacks(Missing("partitions to be compared", other, error))
    rows = [_compared(inv, one, another, image) for one, another in pairs]
    print_rows(inv, "SegmentComparisonList", COMPARED, rows, cluster_of(mine), item="SegmentComparison")
    equal = sum(1 for row in rows if row["verdict"] == EQUAL)
    if rows:
        inv.talk.note(f"{counted(len(rows), 'partition')} compared: {equal} equal")
    return inv.finish(done=any(row["verdict"] != NOT_READ for row in rows))


def _compared(inv: Invocation, one: PartitionFolder, another: PartitionFolder, image: Any) -> dict[str, Any]:
    cleaned = was_cleaned(one) or was_cleaned(another)
    policy = policy_of(one.tp.topic, image, cleaned=cleaned)
    try:
        found = compare(one, another, compacted=bool(policy.compacted))
    except CorruptRecordsError as error:
        inv.failed(error)
        return comparison_row(one, another, None)
    except KcliError as error:
        inv.lacks(Missing(str(one.tp), one.path, error), later=True)
        return comparison_row(one, another, None)
    row = comparison_row(one, another, found)
    if row["verdict"] == DIFFERS:
        _report_difference(inv, found)
    return row


def _report_difference(inv: Invocation, found: Comparison) -> None:
    difference = found.difference
    assert difference is not None
    where = f"{found.one.tp} at offset {difference.offset}: {_place(difference.one)} and {_place(difference.other)}"
    watermark = max(found.one.high_watermark, found.other.high_watermark)
    if 0 <= watermark <= difference.offset:
        above = f"it is above the high watermark {watermark}, so it was not acknowledged by all"
        inv.talk.note(f"{where}: {difference.why}; {above}")
        return
    inv.failed(
        DamageError(
            where,
            why=difference.why,
            do="`kcli segments verify` says whether one of them is damaged; otherwise the leader's log is the right one",
        )
    )


def _place(place: Place | None) -> str:
    return "no batch" if place is None else f"{place.path} at byte {place.position}"
