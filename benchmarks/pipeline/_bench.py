"""The contests of the pipeline: who does what, and the targets."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import cached_property
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks._measure import Cost, FailedRunError, Run, measure
from benchmarks.pipeline import _connector, _jobs
from benchmarks.pipeline._contest import Contest, Target
from benchmarks.pipeline._host import Host
from benchmarks.pipeline._topics import Topics
from kcli.pipeline.spark.conf import LIGHT, SQL
from kcli.sandbox.errors import DownloadError
from tests.pipeline.object_stores import BUCKET, S3

_COLUMNS = "topic,partition,offset,timestamp,timestamp_type,key,value"  # those of the connector
_CONNECTOR, _FORMAT = "connector", 'format("kcli")'
_KEY = "00004711"
_JSON_WIDTH = 135  # bytes of a value of JSON
_GROUP_BY = "select value:status, count(*), sum(value:amount::double) from source group by all"
_ON_OUR_STREAM = """
import sys, duckdb, kcli
records = kcli.read_topic(sys.argv[2], bootstrap_servers=sys.argv[1], columns=["value"], progress=False)
values = "select decode(value)::json as value from records"
fields = "value->>'status', count(*), sum((value->>'amount')::double)"
assert len(duckdb.sql(f"select {fields} from ({values}) group by 1").fetchall()) == 4
"""

Contender = Callable[[], Cost]
Maker = Callable[[str, float, str, int], Contest]
"""Called with the contest's name, gigabytes of values, topic, and number of records."""


class Bench:
    """Two sessions of Spark, which begin when they are needed, and the topics of one cluster. ``absent``: why there is no
    connector. The environment leads to ``store``.
    """

    def __init__(self, bootstrap: str, folder: Path, store: S3) -> None:
        self._bootstrap = bootstrap
        self._store = store
        self._folder = folder
        self._numbers = count(1)
        self._topics = Topics(bootstrap, folder)
        self.absent = ""
        conf: dict[str, str] = {}
        try:
            conf["spark.jars"] = ",".join(map(str, _connector.jars()))
        except DownloadError as error:
            self.absent = f"{error}"
            print(f"Spark's Kafka connector: not measured: {error}", flush=True)
        self._conf = conf
        self._stack = ExitStack()

    @cached_property
    def _kernels(self) -> Host:
        return self._stack.enter_context(closing(Host(LIGHT, {})))

    @cached_property
    def _frames(self) -> Host:
        return self._stack.enter_context(closing(Host(SQL, self._conf)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def contests(self, megabytes: int, records: int, only: str) -> Iterator[Contest]:
        """Those whose names contain ``only``: of ``megabytes`` with values of 1 KB, half of it with values of 100 B, and
        of so many ``records`` of JSON.
        """
        digits: dict[str, Maker] = {
            "export": self._to_parquet,
            "read": self._to_nothing,
            "mirror": self._copies,
            "write": self._writes,
            "verify": self._compared,
            "key search": self._searched,
        }
        documents: dict[str, Maker] = {
            "group by": self._grouped,
            "export": self._json_to_parquet,
            "export to S3": self._to_store,
        }
        for name, width, size in (("1 KB", 1_000, megabytes), ("100 B", 100, megabytes // 2)):
            for what, make in digits.items():
                if only in (title := f"{what} {name}"):
                    topic, filled = self._topics.source(width, size)
                    yield make(title, filled * width / 1e9, topic, filled)
        for what, make in documents.items():
            if only in (title := f"{what} JSON"):
                topic = self._topics.orders(_JSON_WIDTH, records)
                yield make(title, records * _JSON_WIDTH / 1e9, topic, records)

    # --- contests --------------------------------------------------------------------------------------

    def _to_parquet(
        self, name: str, size: float, topic: str, records: int, target: tuple[str, float] = ("S1", 0.35)
    ) -> Contest:
        """S1, S4 and S5. ``target``: of the export beside the connector."""
        export, processes = "pipeline export", "pipeline export, 2 processes"
        connector, source = f"{_CONNECTOR} → Spark Parquet", f"{_FORMAT} → Spark Parquet"
        return Contest(
            name,
            size,
            {
                connector: self._rival(lambda: self._parquet(self._connector(topic))),
                source: lambda: self._parquet(self._format(topic)),
                export: lambda: self._export(topic, records, processes=False),
                processes: lambda: self._export(topic, records, processes=True),
            },
            [
                Target(target[0], export, connector, target[1]),
                Target("S4", source, connector, 0.75),
                Target("S5", export, processes, 1.15),
            ],
        )

    def _json_to_parquet(self, name: str, size: float, topic: str, records: int) -> Contest:
        """Text that compresses well: both spend more of their time in the same codec."""
        return self._to_parquet(name, size, topic, records, ("JSON", 0.6))

    def _to_store(self, name: str, size: float, topic: str, records: int) -> Contest:
        """What an object store costs the client."""
        here, there = "pipeline export, to a folder", "pipeline export, to S3"

        def export() -> Cost:
            number = next(self._numbers)
            url = f"s3://{BUCKET}/files-{number}"
            done = self._kernels.call(
                _jobs.export, bootstrap=self._bootstrap, topic=topic, folder=url, processes=False
            )
            self._store.remove(f"files-{number}")
            return _checked(done.cost, done.count, records)

        return Contest(
            name,
            size,
            {here: lambda: self._export(topic, records, processes=False), there: export},
            [Target("S3", there, here, 1.15), Target("S3", there, here, None, "wall")],
        )

    def _to_nothing(self, name: str, size: float, topic: str, _records: int) -> Contest:
        """S3."""
        connector, source = f"{_CONNECTOR} → noop", f"{_FORMAT} → noop"

        def read(form: _jobs.Format) -> Cost:
            return self._frames.call(_jobs.read_to_nothing, source=form).cost

        return Contest(
            name,
            size,
            {
                connector: self._rival(lambda: read(self._connector(topic))),
                source: lambda: read(self._format(topic)),
            },
            [Target("S3", source, connector, 0.75)],
        )

    def _copies(self, name: str, size: float, topic: str, records: int) -> Contest:
        """S2, S5 and S7."""
        connector = f"{_CONNECTOR} → {_CONNECTOR}"
        once, least = "pipeline mirror, exactly once", "pipeline mirror, at least once"
        processes = "pipeline mirror, 2 processes"

        def mirror(*, exactly_once: bool = True, processes: bool = False) -> Cost:
            values = {"bootstrap": self._bootstrap, "topic": topic, "copy": self._topics.copy()}
            done = self._kernels.call(_jobs.mirror, **values, exactly_once=exactly_once, processes=processes)
            return _checked(done.cost, done.count, records)

        return Contest(
            name,
            size,
            {
                connector: self._rival(lambda: self._write(self._connector(topic), self._connector_sink)),
                once: mirror,
                least: lambda: mirror(exactly_once=False),
                processes: lambda: mirror(processes=True),
            },
            [
                Target("S2", once, connector, 0.20),
                Target("S5", once, processes, 1.15),
                Target("S7", once, least, 1.25),
                Target("S7", once, least, None, "wall"),
            ],
        )

    def _writes(self, name: str, size: float, topic: str, _records: int) -> Contest:
        """S6: from Parquet, which both read alike."""
        folder = self._folder / f"rows-{topic}"
        self._kernels.call(
            _jobs.export, bootstrap=self._bootstrap, topic=topic, folder=str(folder), processes=False
        )
        source: _jobs.Format = ("parquet", {"path": str(folder / f"topic={topic}")})
        connector, own = f"Parquet → {_CONNECTOR}", f"Parquet → {_FORMAT}"
        return Contest(
            name,
            size,
            {
                "Parquet → noop": lambda: self._frames.call(_jobs.read_to_nothing, source=source).cost,
                connector: self._rival(lambda: self._write(source, self._connector_sink)),
                own: lambda: self._write(source, self._format_sink),
            },
            [Target("S6", own, connector, 0.8)],
        )

    def _compared(self, name: str, size: float, topic: str, records: int) -> Contest:
        """S10. A copy is made once."""
        copy = self._topics.new()
        self._kernels.call(
            _jobs.mirror,
            bootstrap=self._bootstrap,
            topic=topic,
            copy=copy,
            exactly_once=True,
            processes=False,
        )
        own, plain = "pipeline verify", "kcli consume, of both sides"

        def digest() -> Cost:
            done = self._kernels.call(_jobs.digest, bootstrap=self._bootstrap, topic=topic, copy=copy)
            return _checked(done.cost, done.count, records)

        def consume() -> Cost:
            costs = [self._consume(one, records) for one in (topic, copy)]
            return Cost(sum(cost.cpu for cost in costs), sum(cost.wall for cost in costs))

        return Contest(name, size, {plain: consume, own: digest}, [Target("S10", own, plain, 1.3)])

    def _searched(self, name: str, size: float, topic: str, _records: int) -> Contest:
        """All records with a key, on two slots and in one process."""
        own, command, plain = "pipeline query, warm", "kcli query, Spark", "kcli consume --grep"
        sql = f"select partition, offset, value from source where key = '{_KEY}'"  # noqa: S608 - no user's text

        def query() -> Cost:
            done = self._frames.call(_jobs.query, bootstrap=self._bootstrap, topic=topic, sql=sql)
            if not done.count:
                raise FailedRunError(f"{own}: no record was found")
            return done.cost

        def whole() -> Cost:
            return measure(
                self._kcli("query", topic, sql, "--engine", "spark", "--local", "2", "-o", "ndjson")
            )

        return Contest(
            name,
            size,
            {plain: lambda: self._consume(topic, 0, "--grep", f"k:^{_KEY}$"), own: query, command: whole},
            [Target("query", own, plain, None, "wall"), Target("query", own, plain, None)],
        )

    def _grouped(self, name: str, size: float, topic: str, _records: int) -> Contest:
        """Records counted by a field of their JSON: whole commands, beside a program with DuckDB on ``kcli.read_topic``,
        and a session of Spark with the connector that has started before.
        """

        def run(engine: str) -> Cost:
            return measure(
                self._kcli("query", topic, _GROUP_BY, "--engine", engine, "--local", "2", "-o", "ndjson")
            )

        def stream() -> Cost:
            return measure(Run([sys.executable, "-c", _ON_OUR_STREAM, self._bootstrap, topic], 0))

        def rival() -> Cost:
            done = self._frames.call(_jobs.grouped, source=self._connector(topic))
            return _checked(done.cost, done.count, 4)

        here, spark = "kcli query, DuckDB", "kcli query, Spark"
        connector, own = f"{_CONNECTOR}, warm", "DuckDB on kcli.read_topic"
        return Contest(
            name,
            size,
            {
                here: lambda: run("duckdb"),
                own: stream,
                connector: self._rival(rival),
                spark: lambda: run("spark"),
            },
            [
                Target("SQL", here, None, 6.0),
                Target("SQL", here, None, 4.0, "wall"),
                Target("SQL", here, own, None),
                Target("SQL", here, connector, None),
                Target("SQL", here, spark, 0.1),
                Target("SQL", here, spark, 0.1, "wall"),
            ],
        )

    # --- contenders ------------------------------------------------------------------------------------

    def _rival(self, run: Contender) -> Contender | None:
        return None if self.absent else run

    def _parquet(self, source: _jobs.Format) -> Cost:
        folder = self._fresh_folder()
        cost = self._frames.call(_jobs.read_to_parquet, source=source, folder=str(folder)).cost
        shutil.rmtree(folder)
        return cost

    def _export(self, topic: str, records: int, *, processes: bool) -> Cost:
        folder = self._fresh_folder()
        done = self._kernels.call(
            _jobs.export, bootstrap=self._bootstrap, topic=topic, folder=str(folder), processes=processes
        )
        shutil.rmtree(folder)
        return _checked(done.cost, done.count, records)

    def _write(self, source: _jobs.Format, sink: Callable[[str], _jobs.Format]) -> Cost:
        return self._frames.call(_jobs.write, source=source, sink=sink(self._topics.copy())).cost

    def _consume(self, topic: str, records: int, *flags: str) -> Cost:
        run = self._kcli("consume", topic, "-e", *flags)
        return measure(Run(run.argv, records))

    def _kcli(self, *words: str) -> Run:
        return Run([sys.executable, "-m", "kcli", "-b", self._bootstrap, *words, "-q"], 0)

    # --- formats of Spark ------------------------------------------------------------------------------

    def _connector(self, topic: str) -> _jobs.Format:
        options = {"kafka.bootstrap.servers": self._bootstrap, "subscribe": topic}
        return "kafka", {**options, "startingOffsets": "earliest", "endingOffsets": "latest"}

    def _connector_sink(self, topic: str) -> _jobs.Format:
        return "kafka", {"kafka.bootstrap.servers": self._bootstrap, "topic": topic}

    def _format(self, topic: str) -> _jobs.Format:
        return "kcli", {"bootstrap.servers": self._bootstrap, "topic": topic, "columns": _COLUMNS}

    def _format_sink(self, topic: str) -> _jobs.Format:
        return "kcli", {"bootstrap.servers": self._bootstrap, "topic": topic}

    def _fresh_folder(self) -> Path:
        return self._folder / f"files-{next(self._numbers)}"


def _checked(cost: Cost, count: int, records: int) -> Cost:
    """A contender that moved less has a figure that means nothing."""
    if count != records:
        raise FailedRunError(f"{count} records of {records}")
    return cost
