"""What single screens show besides groups: the quorum, transactions, mirror jobs, one topic. Each is read only while it
is wanted, in a failure domain of its own; all of them together have some seconds of a reading.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigKind, ConfigResource
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import LogEnds, log_ends
from kcli.flows.monitor.cluster_reading import NO_PARTS, Part, Parts, SetValue, TopicFacts, View
from kcli.flows.monitor.part_reader import PartReader, Read

if TYPE_CHECKING:
    from kcli.core.admin.configs import ConfigEntry
    from kcli.core.admin.topics import TopicInfo
    from kcli.flows.mirror.job.job_line import JobLine
    from kcli.flows.mirror.job.jobs_reader import JobsReader
    from kcli.flows.transactions.coordinated import Coordinated
    from kcli.flows.transactions.held import Survey
    from kcli.flows.transactions.listed import OpenTransaction

SECONDS = 5.0
"""For all parts of a reading."""
_JOBS_AGAIN, _TOPIC_AGAIN, _HANGING_AGAIN, _SIZES_AGAIN, _CONFIGS_AGAIN = 5.0, 5.0, 15.0, 30.0, 120.0
"""Seconds. Whether a transaction hangs takes the offsets of all partitions."""
_DEFAULT = "default"
_NO_QUORUM = "there is no quorum: the cluster runs with ZooKeeper, or with Kafka before 3.3"

MakeReader = Callable[[], "JobsReader"]


class ScreenParts:
    """``jobs``: makes what reads mirror jobs, when it is needed first; None: they are not read."""

    def __init__(
        self, admin: Admin, jobs: MakeReader | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        self._admin, self._clock, self._make_jobs = admin, clock, jobs
        self._jobs: JobsReader | None = None
        self._reader = PartReader(clock)
        self._shown: dict[str, tuple[object, Part[Any]]] = {}

    def read(self, view: View, at_ms: int, topics: Collection[str] | None = None) -> Parts:
        """``topics``: all of them, where they are known. Errors are part of the result."""
        if not (view.quorum or view.transactions or view.mirrors or view.topic or view.configs):
            return NO_PARTS
        seconds = min(SECONDS, self._admin.timeout)
        until = self._clock() + seconds
        with self._admin.within(seconds):
            return Parts(
                quorum=self._quorum(at_ms, until) if view.quorum else None,
                transactions=self._transactions(at_ms, until) if view.transactions else None,
                mirrors=self._mirrors(at_ms, until, seconds)
                if view.mirrors and self._make_jobs is not None
                else None,
                topic=self._topic(view.topic, at_ms, until) if view.topic else None,
                configs=self._configs(topics, at_ms, until) if view.configs and topics is not None else None,
            )

    def _part(
        self, name: str, at_ms: int, found: Sequence[Read], value: object, of: object = None
    ) -> Part[Any]:
        """Where nothing was read, the last value stays, with its time and the reason."""
        errors = tuple(error for one in found for error in one.errors)
        absent = next((one.absent for one in found if one.absent is not None), None)
        if value is None and absent is None:
            known, last = self._shown.get(name, (None, Part()))
            return last._replace(errors=errors) if known == of else Part(errors=errors)
        text = "" if absent is None or value is not None else absent.why or absent.what
        part = Part(value, at_ms, errors, text)
        self._shown[name] = of, part
        return part

    # --- the quorum --------------------------------------------------------------------------------------------------

    def _quorum(self, at_ms: int, until: float) -> Part[Any]:
        found = self._reader.read("the quorum", lambda: (self._admin.describe_quorum(), ()), until)
        part = self._part("quorum", at_ms, [found], found.value)
        return part._replace(absent=_NO_QUORUM) if part.absent else part

    # --- transactions ------------------------------------------------------------------------------------------------

    def _transactions(self, at_ms: int, until: float) -> Part[Sequence[OpenTransaction]]:
        from kcli.flows.transactions.listed import listed  # only for the screen of transactions

        coordinated = self._reader.read("transactions", self._coordinated, until)
        hanging = self._reader.read("hanging transactions", self._surveyed, until, kept=_HANGING_AGAIN)
        known = set(map(str, coordinated.errors))
        hanging = hanging._replace(errors=[one for one in hanging.errors if str(one) not in known])
        value = None if coordinated.value is None else listed(coordinated.value, hanging.value)
        return self._part("transactions", at_ms, [coordinated, hanging], value)

    def _coordinated(self) -> tuple[Coordinated, Sequence[KcliError]]:
        from kcli.flows.transactions.coordinated import not_listed, open_transactions  # as above

        found = open_transactions(self._admin, not_listed)
        return found, found.errors

    def _surveyed(self) -> tuple[Survey, Sequence[KcliError]]:
        from kcli.flows.transactions.coordinated import not_listed  # as above
        from kcli.flows.transactions.held import survey

        places = [
            TopicPartition(topic.name, part.partition)
            for topic in self._admin.list_topics()
            for part in topic.partitions
        ]
        found = survey(self._admin, places, not_listed)
        return found, [*found.coordinated.errors, *(error for _, error in found.unread)]

    # --- mirror jobs -------------------------------------------------------------------------------------------------

    def _mirrors(self, at_ms: int, until: float, seconds: float) -> Part[Sequence[JobLine]]:
        def read() -> tuple[list[JobLine], Sequence[KcliError]]:
            from kcli.flows.mirror.job.job_line import job_line  # only for the screen of mirrors

            if self._jobs is None:
                assert self._make_jobs is not None
                self._jobs = self._make_jobs()
            return [job_line(job, at_ms) for job in self._jobs.read(self._admin, at_ms, seconds)], ()

        found = self._reader.read("mirror jobs", read, until, kept=_JOBS_AGAIN)
        return self._part("mirrors", at_ms, [found], found.value)

    # --- a topic -----------------------------------------------------------------------------------------------------

    def _topic(self, name: str, at_ms: int, until: float) -> Part[TopicFacts]:
        described = self._reader.read(
            f"topic {name}", lambda: self._described(name), until, kept=_TOPIC_AGAIN, of=name
        )
        if described.value is None:
            return self._part("topic", at_ms, [described], None, of=name)
        info: TopicInfo = described.value
        ends = self._reader.read(f"the offsets of topic {name}", lambda: self._ends(info), until)
        sizes = self._reader.read(
            f"the size of topic {name}", lambda: self._sizes(info), until, kept=_SIZES_AGAIN, of=info
        )
        configs = self._reader.read(
            f"the configuration of topic {name}",
            lambda: self._set_values([name]),
            until,
            kept=_CONFIGS_AGAIN,
            of=name,
        )
        facts = TopicFacts(
            info,
            ends.value or {},
            sizes.value or {},
            None if configs.value is None else configs.value.get(name),
        )
        return self._part("topic", at_ms, [described, ends, sizes, configs], facts, of=name)

    def _described(self, name: str) -> tuple[TopicInfo, Sequence[KcliError]]:
        found = self._admin.describe_topics([name])[name]
        if isinstance(found, KcliError):
            raise found
        return found, () if found.error is None else (found.error,)

    def _ends(self, info: TopicInfo) -> tuple[Mapping[TopicPartition, LogEnds], Sequence[KcliError]]:
        places = [TopicPartition(info.name, part.partition) for part in info.partitions]
        found = log_ends(self._admin, places)
        return found, [log.error for log in found.values() if log.error is not None]

    def _sizes(self, info: TopicInfo) -> tuple[Mapping[int, int | None], Sequence[KcliError]]:
        from kcli.flows.topics.sizes import topic_sizes  # only for the screen of a topic

        found = topic_sizes(self._admin, [info])
        numbers = (part.partition for part in info.partitions)
        sizes = dict(zip(numbers, found.items[info.name].partitions, strict=True))
        return sizes, [part.error for part in found.missing]

    def _configs(
        self, topics: Collection[str], at_ms: int, until: float
    ) -> Part[Mapping[str, Sequence[SetValue]]]:
        names = tuple(sorted(topics))
        found = self._reader.read(
            "the configuration of topics",
            lambda: self._set_values(names, everything=False),
            until,
            kept=_CONFIGS_AGAIN,
            of=names,
        )
        return self._part("configs", at_ms, [found], found.value, of=names)

    def _set_values(
        self, topics: Sequence[str], *, everything: bool = True
    ) -> tuple[Mapping[str, Sequence[SetValue]], Sequence[KcliError]]:
        found: dict[str, Sequence[SetValue]] = {}
        errors = []
        resources = [ConfigResource(ConfigKind.TOPIC, name) for name in topics]
        for one, entries in (self._admin.describe_configs(resources) if resources else {}).items():
            if not isinstance(entries, KcliError):
                found[one.name] = set_values(entries, everything=everything)
            elif everything or not isinstance(entries, NotFoundError):  # one of many may be deleted meanwhile
                errors.append(entries)
        return found, errors


def set_values(entries: Sequence[ConfigEntry], *, everything: bool = True) -> list[SetValue]:
    """Those that are set on the topic, and with ``everything`` then those that brokers set for all, by name."""
    chosen = [one for one in entries if not one.is_default or (everything and one.source != _DEFAULT)]
    ordered = sorted(chosen, key=lambda one: (one.is_default, one.name))
    return [SetValue(one.name, None if one.is_sensitive else one.value or "", one.source) for one in ordered]
