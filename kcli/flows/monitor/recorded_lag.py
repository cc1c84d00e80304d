"""The lag of groups as a recording has it at one of its readings, with verdicts from the readings before it."""

from __future__ import annotations

from collections.abc import Collection

from kcli.account.survey import Missing
from kcli.core.admin.commit_columns import CommitColumns
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.names import is_own_group
from kcli.core.near_names import near_names
from kcli.flows.lag.measure import Measurement, Times, lags_of
from kcli.flows.lag.sample import Accepts, GroupSample, LagSample, Wanted, without_rows
from kcli.flows.lag.verdicts import History, Verdict
from kcli.flows.monitor.cluster_reading import Reading
from kcli.flows.monitor.playback import Recording


class RecordedLag(NamedTuple):
    """``missing``: what was asked for and is not in the reading, or could not be read when it was recorded."""

    cluster: str | None
    found: Measurement
    verdicts: dict[str, Verdict]
    missing: list[Missing]


def recorded_lag(recording: Recording, number: int, wanted: Wanted, topics: Collection[str]) -> RecordedLag:
    """What ``groups lag`` shows of the reading with this number, which can be read; ``topics``: those of ``wanted``."""
    history, before = History(), frozenset[str]()
    for one in recording.needed(number):
        if (reading := recording.at(one)) is None:
            continue
        sample = _narrowed(reading.sample, wanted)
        rows = lags_of(sample, reading.times, reading.retention, reading.notes, timed=reading.timed)
        verdicts = {}
        for group in sample.groups:
            if group.group not in before:
                history.resume(sample.at_ms, group.group)
            history.add_rows(sample.at_ms, group.group, rows[group.group], group.state)
            verdicts[group.group] = history.verdict(group.group, group.state, rows[group.group])
        before = frozenset(verdicts)
    assert reading is not None
    times = Times(reading.times, reading.retention, reading.notes)
    return RecordedLag(
        reading.cluster.description.cluster_id,
        Measurement(sample, rows, times),
        verdicts,
        [*_missing(reading, sample), *_unknown_topics(sample, wanted, topics)],
    )


def _narrowed(sample: LagSample, wanted: Wanted) -> LagSample:
    """What a sample of the wanted groups and topics would have been."""
    if wanted.groups:
        known = {one.group: one for one in sample.groups}
        groups = [known[name] for name in wanted.groups if name in known]
        failed = {
            name: sample.failed.get(name) or _not_there(name, known)
            for name in wanted.groups
            if name not in known
        }
        partial: list[KcliError] = []
    else:
        groups = [one for one in sample.groups if _accepts(wanted, one.group)]
        failed = {name: error for name, error in sample.failed.items() if _accepts(wanted, name)}
        partial = list(sample.partial)
    if wanted.accepts_topic is not None:
        groups = [one for one in (_of_topics(one, wanted.accepts_topic) for one in groups) if one.committed]
    have = {one.group for one in groups}
    undescribed = {name: error for name, error in sample.undescribed.items() if name in have}
    return sample._replace(groups=groups, failed=failed, partial=partial, undescribed=undescribed)


def _accepts(wanted: Wanted, name: str) -> bool:
    return (wanted.internal or not is_own_group(name)) and (
        wanted.accepts_group is None or wanted.accepts_group(name)
    )


def _of_topics(one: GroupSample, accepts: Accepts) -> GroupSample:
    if isinstance(one.committed, CommitColumns) and all(accepts(tp.topic) for tp in one.committed.partitions):
        return one
    return one._replace(committed={tp: at for tp, at in one.committed.items() if accepts(tp.topic)})


def _not_there(name: str, have: Collection[str]) -> NotFoundError:
    near = near_names(name, have)
    return NotFoundError(
        f"group {name} is not in the sample",
        why="it did not exist then, or it was not recorded",
        do=f"did you mean {near[0]}?" if near else "leave out the name: all groups of the sample are shown",
    )


def _missing(reading: Reading, sample: LagSample) -> list[Missing]:
    """Of the groups, and of the offsets of their topics. A recording of older versions has texts only: they all count."""
    read = {tp.topic for one in sample.groups for tp in one.committed}
    of_groups = set(map(id, (*reading.sample.failed.values(), *reading.sample.partial)))
    others = [
        Missing.of(error)
        for error in reading.problems
        if id(error) not in of_groups
        and (error.place.rpartition("-")[0] in read or not (error.why or error.part or error.place))
    ]
    return [*sample._replace(bounds={}).missing, *others]


def _unknown_topics(sample: LagSample, wanted: Wanted, topics: Collection[str]) -> list[Missing]:
    """The topics that were asked for, and that no group of the sample reads."""
    found = sample.topics_without_rows(topics)
    if wanted.groups:
        return [without_rows(topic) for topic in found]
    return [
        Missing.of(
            NotFoundError(
                f"no group of the sample has an offset or a member for topic {topic}",
                why="it did not exist then, or no group read it",
                do="check the topic name, or leave out --topic: without --topic all topics are shown",
            )
        )
        for topic in found
    ]
