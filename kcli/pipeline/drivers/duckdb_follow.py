"""``kcli pipeline query --follow``: a query on DuckDB that goes on as records arrive."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType

from kcli.core.classes import replace
from kcli.core.consumer.subscription import Span
from kcli.core.options import ConsumerOptions
from kcli.core.types import TopicPartition
from kcli.flows.stop import Stop
from kcli.output.progress import Progress
from kcli.pipeline.decoding import undecoded_warnings
from kcli.pipeline.drivers.duckdb_sql import opened_serdes, processors
from kcli.pipeline.duckdb.follow import FollowAccount, FollowLimits, FollowQuery
from kcli.pipeline.duckdb.following import Followed
from kcli.pipeline.duckdb.scan import Reading
from kcli.pipeline.plan import Slice
from kcli.pipeline.pushdown import Pushed
from kcli.pipeline.result_values import ResultColumn
from kcli.pipeline.spark.source_settings import SourceSettings
from kcli.serde.registry.options import RegistryOptions

_ENDLESS = 1 << 63


class FollowedHere:
    """``with FollowedHere(…) as followed``: a query that DuckDB has accepted; nothing has been read yet. The ranges of
    ``settings`` say where it begins. ``threads``: of DuckDB (None: as many as there are processors).
    """

    def __init__(
        self,
        settings: SourceSettings,
        options: ConsumerOptions,
        registry: Callable[[], RegistryOptions],
        followed: Followed,
        limits: FollowLimits,
        bar: Progress,
        warn: Callable[[str], object],
        *,
        threads: int | None,
    ) -> None:
        self._settings, self._bar, self._followed = settings, bar, followed
        options = replace(options, group_id="", enable_auto_commit=False)
        begin = {each.tp: Span(each.start, None, -1, each.topic_id) for each in settings.slices or ()}
        self._query = FollowQuery(
            followed,
            self._wanted(begin),
            settings.topics,
            self._wanted,
            Reading(options, lambda: opened_serdes(settings, registry), 1),
            limits,
            warn,
            threads=threads or processors(),
        )
        self.columns: Sequence[ResultColumn] = self._query.columns

    def __enter__(self) -> "FollowedHere":
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._query.__exit__(_type, _error, _traceback)

    @property
    def account(self) -> FollowAccount:
        """What was read so far."""
        return self._query.account

    def rows(self, stop: Stop) -> Iterator[Sequence[Sequence[object]]]:
        """Runs it: its rows, in portions as they come, of which some are empty."""
        for portion in self._query.rows(stop):
            self._bar.update(self.account.records, self.account.bytes)
            yield portion

    def undecoded(self) -> Iterator[str]:
        """What could not be decoded of the records that were read, a sentence each."""
        serdes = {"key": self._settings.key_serde, "value": self._settings.value_serde}
        yield from undecoded_warnings(self._query.undecoded, serdes)

    def _wanted(self, spans: Mapping[TopicPartition, Span]) -> Mapping[TopicPartition, Span]:
        """What the conditions of the query leave of these spans."""
        pushed = Pushed()
        (scan,) = self._followed.statement.scans
        for _ in pushed.accept(scan.conditions):
            pass  # what is not taken is evaluated by DuckDB, as all conditions are
        slices = [
            Slice(tp.topic, span.topic_id, tp.partition, span.start or 0, _ENDLESS)
            for tp, span in spans.items()
        ]
        return {
            each.tp: Span(each.start, None if each.end == _ENDLESS else each.end, -1, each.topic_id)
            for each in pushed.narrowed(slices)
        }
