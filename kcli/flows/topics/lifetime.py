"""Which records a topic would not keep, by their times and keys, found before they are sent. Pure.

Retention deletes a segment when its newest record is older than ``retention.ms``, whenever it was written: old records
that are restored go with the next look of a broker (``log.retention.check.interval.ms``, 5 min), or with the segment that
they share with newer ones. ``message.timestamp.before.max.ms`` and ``after.max.ms`` (KIP-937) make the broker refuse a
record (INVALID_TIMESTAMP), and so does compaction one without a key (INVALID_RECORD). A record without a time is none of
these: a segment of such records is as old as its file. With ``LogAppendTime`` records have the time of their arrival.
Tombstones are no loss by time: ``delete.retention.ms`` counts from when compaction reaches them (KIP-534).
"""

from collections.abc import Iterable, Iterator, Mapping

from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.flows.mirror.topics.configs import (
    AHEAD,
    APPENDED,
    BEHIND,
    CLEANUP,
    EITHER_WAY,
    RETENTION_BYTES,
    RETENTION_MS,
    TIMESTAMPS,
    Values,
    kept,
    limit,
    policies,
    time_text,
)
from kcli.output.progress import counted, size_text
from kcli.output.tables import time_text as instant_text

KEPT, EXPIRED, TOO_OLD, TOO_NEW, NO_KEY = "kept", "expired", "too_old", "too_new", "no_key"
_FOREVER = 1 << 62


class Terms(NamedTuple):
    """What a topic does with a record of a time (ms since the epoch): it deletes those before ``kept_from``, and refuses
    those before ``accepted_from`` and after ``accepted_to``; and with ``needs_keys`` those without a key.
    """

    kept_from: int = 0
    accepted_from: int = 0
    accepted_to: int = _FOREVER
    needs_keys: bool = False

    def fate(self, time: int, *, has_key: bool = True) -> str:
        """What becomes of a record; −1: it has no time."""
        if self.needs_keys and not has_key:
            return NO_KEY
        if time < 0:
            return KEPT
        if time < self.accepted_from:
            return TOO_OLD
        if time > self.accepted_to:
            return TOO_NEW
        return EXPIRED if time < self.kept_from else KEPT


KEEPS_ALL = Terms()


class Tally(NamedTuple):
    """Records of one topic by their fates. ``oldest``: the time of the oldest one that has a time, −1 if none has.
    ``read``: of some of them more was read than statistics.
    """

    kept: int = 0
    expired: int = 0
    too_old: int = 0
    too_new: int = 0
    no_key: int = 0
    oldest: int = -1
    read: bool = False

    @property
    def records(self) -> int:
        """All of them."""
        return sum(self[:5])

    @property
    def refused(self) -> int:
        """Those that a broker would refuse."""
        return self.too_old + self.too_new + self.no_key

    def joined(self, other: "Tally") -> "Tally":
        """Both together."""
        times = [tally.oldest for tally in (self, other) if tally.oldest >= 0]
        return Tally(
            self.kept + other.kept,
            self.expired + other.expired,
            self.too_old + other.too_old,
            self.too_new + other.too_new,
            self.no_key + other.no_key,
            min(times, default=-1),
            self.read or other.read,
        )


def terms_of(values: Values, now_ms: int, *, keep_times: bool = True) -> Terms:
    """The terms of a topic. ``values``: in force for it, as far as they are known; ``keep_times``: records have times of
    their own.
    """
    needs_keys = "compact" in policies(values)
    if not keep_times or values.get(TIMESTAMPS) == APPENDED:
        return Terms(needs_keys=needs_keys)
    retention, behind, ahead = kept(values, RETENTION_MS), limit(values, BEHIND), limit(values, AHEAD)
    return Terms(
        max(0, now_ms - int(min(retention, _FOREVER))),
        max(0, now_ms - int(min(behind, _FOREVER))),
        now_ms + int(min(ahead, _FOREVER)),
        needs_keys,
    )


def old_hours_text(topic: str, hours: Mapping[int, int], hour_ms: int, values: Values, now_ms: int) -> str:
    """A warning of records that were sent with times of their own, counted by hours since the epoch; empty where the
    topic keeps them.
    """
    kept_from = terms_of(values, now_ms).kept_from
    expired = sum(count for hour, count in hours.items() if (hour + 1) * hour_ms <= kept_from)
    if not expired:
        return ""
    tally = Tally(expired=expired, oldest=min(hours) * hour_ms)
    return f"{topic}: of {counted(sum(hours.values()), 'record')} with a time at least {_reasons(tally, values)[0]}"


class NotKeptError(KcliError):
    """Records would be deleted as soon as they are stored, or be refused."""

    exit_code = ExitCode.REFUSED


class Kept(NamedTuple):
    """What the user wants for old records. ``keep_times``: they have their own times; ``retention_ms`` of
    ``--extend-retention``; ``force``: they are sent even if they are deleted then.
    """

    keep_times: bool = True
    retention_ms: int | None = None
    force: bool = False


KEEP = Kept()


class Fates:
    """What becomes of the records of a run, by topic. ``values``: in force for each of the topics, before a retention is
    extended; ``now_ms``: when that is judged.
    """

    def __init__(self, values: Mapping[str, Values], now_ms: int, kept: Kept) -> None:
        self._values, self._now, self._kept = values, now_ms, kept
        self.tallies: dict[str, Tally] = {}

    def add(self, topic: str, tally: Tally) -> None:
        """Counts records; they were judged by ``terms``."""
        self.tallies[topic] = self.tallies.get(topic, Tally()).joined(tally)

    def terms(self, topic: str) -> Terms:
        """What the topic does with records, with the retention that it will have."""
        return terms_of(self._in_force(topic), self._now, keep_times=self._kept.keep_times)

    @property
    def retention_ms(self) -> int:
        """What ``retention.ms`` of the ``extended`` topics is set to."""
        return self._kept.retention_ms or 0

    @property
    def extended(self) -> list[str]:
        """The topics whose ``retention.ms`` is set, since they would delete some of the records else."""
        return [
            topic
            for topic, tally in self.tallies.items()
            if 0
            <= tally.oldest
            < terms_of(self._values[topic], self._now, keep_times=self._kept.keep_times).kept_from
            and self._in_force(topic) is not self._values[topic]
        ]

    @property
    def refusal(self) -> NotKeptError | None:
        """For records that would be deleted, unless that is forced, and for those that would be refused."""
        force = self._kept.force
        lost = {
            topic: tally
            for topic, tally in self.tallies.items()
            if tally.refused or (tally.expired and not force)
        }
        if not lost:
            return None
        gone = sum(tally.expired + tally.refused for tally in lost.values())
        total = sum(tally.records for tally in lost.values())
        return NotKeptError(
            f"{gone:,} of {counted(total, 'record')} would not be kept by {_topics(lost)}; nothing was sent",
            why="; ".join(self._text(topic, tally) for topic, tally in lost.items()),
            do="; ".join(self._remedies(lost.values())),
        )

    def warnings(self) -> Iterator[str]:
        """What is sent although it is deleted, and what is not known."""
        if self.refusal is None:
            yield from (self._text(topic, tally) for topic, tally in self.tallies.items() if tally.expired)
        unknown = [topic for topic, values in self._values.items() if CLEANUP not in values]
        if unknown:
            yield (
                f"whether {_topics(unknown)} would keep the records is not known: their configuration cannot be read"
            )

    def size_warnings(self, sizes: Mapping[str, int]) -> Iterator[str]:
        """Of topics that keep less of a partition than it gets. ``sizes``: about how many bytes the largest one gets."""
        for topic, size in sizes.items():
            most = kept(self._values[topic], RETENTION_BYTES)
            if size > most:
                yield (
                    f"{topic}: it keeps {size_text(most)} of a partition ({RETENTION_BYTES}), and one gets about "
                    f"{size_text(size)}: the oldest records are deleted"
                )

    def remarks(self) -> Iterator[str]:
        """Lines of the plan."""
        for topic, tally in self.tallies.items():
            if topic in self.extended:
                before, after = (
                    kept(one, RETENTION_MS) for one in (self._values[topic], self._in_force(topic))
                )
                yield f"  {topic}: {RETENTION_MS} is extended from {time_text(before)} to {time_text(after)}"
            if tally.expired or tally.refused:
                yield f"  {self._text(topic, tally)}"

    def _in_force(self, topic: str) -> Values:
        values, wanted = self._values[topic], self._kept.retention_ms
        if wanted is None or kept(values, RETENTION_MS) >= wanted:
            return values
        return {**values, RETENTION_MS: str(wanted)}

    def _text(self, topic: str, tally: Tally) -> str:
        gone = tally.expired + tally.refused
        how = "counted by reading" if tally.read else "by the metadata of the files"
        return f"{topic}: {gone:,} of {counted(tally.records, 'record')} ({how}): " + "; ".join(
            _reasons(tally, self._in_force(topic))
        )

    def _remedies(self, lost: Iterable[Tally]) -> Iterator[str]:
        tallies = list(lost)
        if any(tally.expired or tally.too_old or tally.too_new for tally in tallies):
            yield "--timestamps now sends them with the time of now"
        if any(tally.expired for tally in tallies) and not self._kept.force:
            longer = self._kept.retention_ms is not None
            yield f"{'a longer ' if longer else ''}--extend-retention DUR has the topic keep them"
            yield "--force sends them all the same"
        if any(tally.too_old or tally.too_new for tally in tallies):
            yield "a limit of times is a setting of the topic"
        if any(tally.no_key for tally in tallies):
            yield "records without a key need a topic that is not compacted"


def _reasons(tally: Tally, values: Values) -> list[str]:
    found = []
    if tally.expired:
        found.append(
            f"{_are(tally.expired)} older than its retention.ms of {time_text(kept(values, RETENTION_MS))}, the oldest "
            f"one is of {instant_text(tally.oldest)}: deleted within minutes, or with the segment that they share with "
            "newer ones"
        )
    if tally.too_old:
        found.append(
            f"{_are(tally.too_old)} refused (INVALID_TIMESTAMP), as older than {_limit(values, BEHIND)}"
        )
    if tally.too_new:
        found.append(
            f"{_are(tally.too_new)} refused (INVALID_TIMESTAMP), as further in the future than {_limit(values, AHEAD)}"
        )
    if tally.no_key:
        found.append(f"{_are(tally.no_key)} refused (INVALID_RECORD): without a key, and it is compacted")
    return found


def _limit(values: Values, key: str) -> str:
    return f"its {key if key in values else EITHER_WAY} of {time_text(limit(values, key))}"


def _are(count: int) -> str:
    return f"{count:,} {'is' if count == 1 else 'are'}"


def _topics(names: Iterable[str]) -> str:
    found = list(names)
    more = len(found) - 3
    return f"topic{'s' if len(found) > 1 else ''} {', '.join(found[:3])}" + (
        f" and {more} more" if more > 0 else ""
    )
