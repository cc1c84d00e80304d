"""The queries that Spark runs: that of ``kcli pipeline query``, and that of ``--where``, which chooses records."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from kcli.core.classes import replace
from kcli.flows.stop import Stop
from kcli.output.progress import Progress
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.decoding import undecoded_warnings
from kcli.pipeline.drivers.query import source_columns
from kcli.pipeline.plan import Slice
from kcli.pipeline.result_values import ResultColumn
from kcli.pipeline.runners.runner import Runner
from kcli.pipeline.running import Observer
from kcli.pipeline.spark.conf import LIGHT, SQL
from kcli.pipeline.spark.progress import shown_on
from kcli.pipeline.spark.query import Query
from kcli.pipeline.spark.runner import SparkRunner
from kcli.pipeline.spark.session import Session
from kcli.pipeline.spark.source_settings import SourceSettings
from kcli.pipeline.sql_text import Rewritten
from kcli.serde.names import SerdeSpecs

_COMPILED = 5_000_000
"""Offsets from which on Java's optimizing compiler is worth its start: 7 CPU-seconds."""


class Queried:
    """A query that Spark has accepted, and that has not run yet; of its result at most ``limit`` rows. ``bar`` shows its
    tasks.
    """

    def __init__(
        self, session: Session, settings: SourceSettings, query: Rewritten, limit: int | None, bar: Progress
    ) -> None:
        self._settings, self._bar = settings, bar
        self._query = Query(session, replace(settings, slots=session.slots), query, limit)
        self.columns: Sequence[ResultColumn] = self._query.columns

    def rows(self, stop: Stop) -> Iterator[Sequence[Sequence[object]]]:
        """Runs it: its rows, in portions as they come."""
        return self._query.rows(stop, shown_on(self._bar))

    def write_parquet(self, folder: str, stop: Stop) -> None:
        """Runs it: its rows are files of a new folder."""
        self._query.write_parquet(folder, stop, shown_on(self._bar))

    def undecoded(self) -> Iterator[str]:
        """What could not be decoded of the records that were read, a sentence each."""
        serdes = {"key": self._settings.key_serde, "value": self._settings.value_serde}
        yield from undecoded_warnings(self._query.undecoded, serdes)


def profile_for(settings: SourceSettings) -> str:
    """The profile of the JVM for what is read: one that starts quickly, or one that is fast in the end."""
    return LIGHT if sum(each.offsets for each in settings.slices or ()) < _COMPILED else SQL


def session_of(
    settings: SourceSettings,
    *,
    master: str | None,
    local: int | None,
    conf: Mapping[str, str],
    java_home: str | None,
    warn: Callable[[str], None],
    note: Callable[[str], None],
) -> Session:
    """A session for SQL, which fits what is read."""
    return Session(
        master=master,
        local=local,
        conf=conf,
        java_home=java_home,
        profile=profile_for(settings),
        warn=warn,
        note=note,
    )


def select(
    observer: Observer,
    runner: Runner,
    cluster: ClusterRef,
    slices: Sequence[Slice],
    query: Rewritten,
    stop: Stop,
) -> Mapping[int, list[int]]:
    """The records that ``--where`` chooses, on the session of the job: partition → their offsets."""
    assert isinstance(runner, SparkRunner)  # as the choice of the runner has seen to
    settings = SourceSettings(
        cluster,
        topics=(slices[0].topic,),
        columns=source_columns(query.columns, SerdeSpecs()),
        packed=False,
        slices=tuple(slices),
        slots=runner.slots,
    )
    found: defaultdict[int, list[int]] = defaultdict(list)
    with observer.progress("selected", unit="tasks") as bar:
        for portion in Query(runner.session, settings, query, None).rows(stop, shown_on(bar)):
            for partition, offset in portion:
                found[partition].append(offset)
    return found
