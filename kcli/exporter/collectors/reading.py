"""Asks the brokers for what the collectors show. Runs in the thread that takes samples.

What one collector cannot read does not stop the others: its errors are kept under its name. All of them together have the
time of one call, so that a broker that is silent delays a sample by no more than that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigEntry, ConfigKind, ConfigResource
from kcli.core.admin.groups import COORDINATORS
from kcli.core.classes import dataclass, field
from kcli.core.cluster.offsets import LATEST
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.types import TopicPartition
from kcli.exporter.collectors import choice
from kcli.exporter.collectors.topics import Required
from kcli.flows.cluster_state import caps_requirement
from kcli.flows.groups.offsets import list_offsets
from kcli.flows.monitor.part_reader import PartReader
from kcli.flows.transactions.coordinated import Coordinated, not_listed, open_transactions

if TYPE_CHECKING:
    from kcli.core.admin.brokers import LogDir
    from kcli.core.admin.quorum import QuorumDescription
    from kcli.core.admin.quotas import QuotaEntity

K = TypeVar("K")
T = TypeVar("T")

_SELDOM, _AGAIN = 300.0, 60.0
"""Seconds for which configurations are kept; log directories and quotas."""
_EACH_TIME = 0.0
_MIN_ISR = "min.insync.replicas"


@dataclass(frozen=True, slots=True)
class Facts:
    """What was read; None where it was not wanted, brokers do not have it, or it could not be read.

    ``commits`` are the log ends of ``__consumer_offsets``.
    ``errors``: by collector, why something is missing.
    """

    quorum: QuorumDescription | None = None
    transactions: Coordinated | None = None
    quotas: Mapping[QuotaEntity, Mapping[str, float]] | None = None
    commits: Mapping[int, int] | None = None
    log_dirs: Mapping[int, Sequence[LogDir]] | None = None
    required: Required | None = None
    configs: Mapping[str, Sequence[ConfigEntry]] | None = None
    errors: Mapping[str, Sequence[KcliError]] = field(default_factory=dict)

    @property
    def problems(self) -> list[KcliError]:
        """All errors, each once: two collectors may need the same."""
        return list({id(one): one for some in self.errors.values() for one in some}.values())


NO_FACTS = Facts()


class FactReader:
    """``chosen``: collectors. ``read`` is called once for each sample."""

    def __init__(self, admin: Admin, chosen: Collection[str], clock: Callable[[], float] = monotonic) -> None:
        self._admin, self._chosen, self._clock = admin, chosen, clock
        self._parts = PartReader(clock)

    def read(self, topics: Collection[str]) -> Facts:
        """``topics``: those whose configuration is wanted."""
        admin, errors = self._admin, dict[str, list[KcliError]]()
        until = self._clock() + admin.timeout

        def wanted(
            kept: float,
            read: Callable[[], tuple[T, Sequence[KcliError]]],
            *collectors: str,
            of: object = None,
        ) -> T | None:
            asking = [one for one in collectors if one in self._chosen]
            if not asking:
                return None
            found = self._parts.read(f"collector {collectors[0]}", read, until, kept=kept, of=of)
            for one in asking if found.errors else ():
                errors.setdefault(one, []).extend(found.errors)
            value: T | None = found.value
            return value

        names = tuple(sorted(topics))
        with admin.within(admin.timeout):
            return Facts(
                quorum=wanted(
                    _EACH_TIME, lambda: (admin.describe_quorum(), ()), choice.QUORUM, choice.BROKERS
                ),
                transactions=wanted(_EACH_TIME, self._transactions, choice.TRANSACTIONS),
                commits=wanted(_EACH_TIME, self._commits, choice.COMMITS),
                required=wanted(_SELDOM, lambda: self._required(names), choice.TOPICS, of=names),
                quotas=wanted(_AGAIN, lambda: (admin.describe_quotas({}), ()), choice.QUOTAS),
                log_dirs=wanted(_AGAIN, self._log_dirs, choice.LOG_DIRS),
                configs=wanted(_SELDOM, lambda: self._configs(names), choice.CONFIGS, of=names),
                errors=errors,
            )

    def _transactions(self) -> tuple[Coordinated, Sequence[KcliError]]:
        found = open_transactions(self._admin, not_listed)
        return found, found.errors

    def _commits(self) -> tuple[dict[int, int], Sequence[KcliError]]:
        topic = self._admin.describe_topics([COORDINATORS])[COORDINATORS]
        if isinstance(topic, NotFoundError):
            return {}, ()  # nobody has committed yet
        if isinstance(topic, KcliError):
            raise topic
        places = [TopicPartition(COORDINATORS, part.partition) for part in topic.partitions]
        ends, errors = _sorted_out(list_offsets(self._admin, places, LATEST))
        return {tp.partition: end.offset for tp, end in ends.items()}, errors

    def _log_dirs(self) -> tuple[Mapping[int, Sequence[LogDir]], Sequence[KcliError]]:
        return _sorted_out(self._admin.describe_log_dirs())

    def _required(self, topics: Sequence[str]) -> tuple[Required, Sequence[KcliError]]:
        found, errors = self._described(topics, [_MIN_ISR])
        values = {
            name: entry.value
            for name, entries in found.items()
            for entry in entries
            if entry.name == _MIN_ISR
        }
        least = {name: int(value) for name, value in values.items() if value and value.isdecimal()}
        return Required(least, caps_requirement(self._admin)), errors

    def _configs(self, topics: Sequence[str]) -> tuple[dict[str, list[ConfigEntry]], Sequence[KcliError]]:
        return self._described(topics, None)

    def _described(
        self, topics: Sequence[str], keys: Sequence[str] | None
    ) -> tuple[dict[str, list[ConfigEntry]], Sequence[KcliError]]:
        """Of topics that exist: one that is deleted meanwhile is not missing."""
        resources = [ConfigResource(ConfigKind.TOPIC, name) for name in topics]
        answers = self._admin.describe_configs(resources, keys=keys) if resources else {}
        found, errors = _sorted_out(answers)
        return {one.name: entries for one, entries in found.items()}, errors


def _sorted_out(answers: Mapping[K, T | KcliError]) -> tuple[dict[K, T], list[KcliError]]:
    """What was read, and why the rest was not. What does not exist any more is in neither."""
    found = {key: value for key, value in answers.items() if not isinstance(value, KcliError)}
    errors = [value for value in answers.values() if isinstance(value, KcliError)]
    return found, [error for error in errors if not isinstance(error, NotFoundError)]
