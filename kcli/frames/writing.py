"""``kcli.write_topic``: the rows of a data frame as records of a topic, confirmed, with an account of them."""

from __future__ import annotations

import base64
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from importlib.util import find_spec
from typing import Any

from kcli.core.classes import dataclass
from kcli.core.clock import wall_ms
from kcli.core.errors import ConfigError, KcliError, PartlyQueuedError, TimedOutError
from kcli.core.names import check_topic
from kcli.core.options import ProducerOptions
from kcli.core.producer.producer import Producer
from kcli.frames.progress import progress_line
from kcli.frames.settings import check_registry_used, serdes_of, settings_of, warn
from kcli.output.progress import Progress, counted
from kcli.pipeline.arrow_library import check_pyarrow
from kcli.serde.errors import EncodeError
from kcli.serde.opening import Serdes, open_serdes
from kcli.serde.serde import Serde, SerdeContext

Names = str | Sequence[str] | None
_PARTS = ("key", "value", "headers", "timestamp", "partition")
_IGNORED = frozenset({"topic", "offset", "timestamp_type", "leader_epoch"})
_TURN = 0.5  # seconds of a flush between two looks
_ROWS = 20_000  # of a piece that is encoded at once
_HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Written:
    """The account of a writing: ``sent`` = ``confirmed`` + ``failed``. ``bytes``: of confirmed records, before they are
    compressed.
    """

    topic: str
    sent: int
    confirmed: int
    failed: int
    bytes: int


class NotWrittenError(KcliError):
    """Not all rows were written; ``account`` says how many were, ``first_error`` why the first one was not."""

    def __init__(self, account: Written, first_error: KcliError) -> None:
        what = f"{counted(account.confirmed, 'record')} of {account.sent:,} sent to {account.topic} were confirmed"
        super().__init__(what, why=str(first_error), do=first_error.do)
        self.account = account
        self.first_error = first_error
        self.exit_code = first_error.exit_code


def write_topic(
    frame: Any,
    topic: str,
    options: ProducerOptions | None = None,
    *,
    profile: str | None = None,
    key: Names = None,
    value: Names = None,
    headers: str | None = None,
    timestamp: str | None = None,
    partition: str | None = None,
    key_serde: str | None = None,
    value_serde: str | None = None,
    progress: bool | None = None,
    **values: Any,
) -> Written:
    """Sends the rows of ``frame``, one record each, and returns when brokers have confirmed all of them.

    ``frame``: a data frame of pandas or polars, a table or reader of pyarrow, a relation of DuckDB, one of Ibis,
    what ``read_topic`` returns: anything with ``__arrow_c_stream__``; a reader larger than the memory is sent batch by
    batch. ``key`` … ``partition`` name its columns, by default the columns of these names, as far as they are there
    (types: ``Producer.send_arrow``). Several columns for ``key`` or ``value`` become an object, which a serde encodes.

    ``key_serde`` and ``value_serde`` as after ``-s`` of ``kcli produce``: text is what one of its lines has; structs,
    lists and numbers are values as they are; null is a null key, or a tombstone. ``profile``, ``progress`` and further
    keywords as in ``read_topic``. ConfigError for a column that is named nowhere, since its data would be lost;
    NotWrittenError, with the account, if a row was not sent or not confirmed. A warning counts records whose timestamps
    are so old that the topic's retention deletes them.
    """
    check_topic(topic)
    specs = serdes_of(key_serde, value_serde, writing=True)
    check_registry_used(values, specs, "write_topic")
    client = settings_of(ProducerOptions, options, profile, values, changes="write_topic")
    _check_confirmed(client.options, values)
    named = {"key": key, "value": value, "headers": headers, "timestamp": timestamp, "partition": partition}
    given = {part: names for part, names in named.items() if names is not None}
    for part, names in given.items():
        if not names:
            raise ConfigError(f"{part}={names!r} names no column", why="", do="leave it out, or name one")
        if not isinstance(names, str) and getattr(specs, part, None) is None:
            raise ConfigError(
                f"{part}={names!r} without a serde",
                why="several columns are an object, which has to be encoded",
                do=f'{part}_serde="json", for example',
            )
    tables: Iterator[Any] = iter([frame])
    with open_serdes(specs, client.registry, writing=True) as serdes, Producer(client.options) as producer:
        producer.connect([], producer.options.default_api_timeout_ms / 1000)
        layout = _Layout(given, serdes)
        if given or specs or _is_pandas(frame):
            check_pyarrow("write_topic needs it for pandas, names of columns and serdes", extra="lake")
        if find_spec("pyarrow") is not None:
            tables = _tables(frame, topic, layout)
        with progress_line("written", progress) as bar:
            account = _send(producer, topic, tables, bar)
        _warn_of_old(producer.options, topic, layout.hours)
        return account


def _send(producer: Producer, topic: str, tables: Iterator[Any], bar: Progress) -> Written:
    sent = 0
    error: KcliError | None = None
    try:
        for table in tables:
            sent += producer.send_arrow(topic, table)
            _show(producer, bar)
            if producer.totals.first_error is not None:
                break
    except PartlyQueuedError as caught:
        sent, error = sent + caught.rows, caught
    except KeyboardInterrupt as caught:
        caught.add_note(f"kcli: of {sent:,} sent to {topic}, {producer.totals.confirmed:,} were confirmed")
        raise
    except Exception as caught:
        if not sent:
            raise
        error = (
            caught
            if isinstance(caught, KcliError)
            else KcliError("the data frame cannot be read to its end", why=str(caught))
        )
    late = _flush(producer, bar)
    totals = producer.totals
    confirmed = totals.confirmed
    account = Written(topic, sent, confirmed, sent - confirmed, totals.bytes)
    error = totals.first_error or error or late
    if error is not None:
        raise NotWrittenError(account, error)
    return account


def _check_confirmed(options: ProducerOptions, given: Iterable[str]) -> None:
    if "transaction_timeout_ms" in given:
        raise ConfigError(
            "transaction_timeout_ms has no effect on write_topic",
            why="it sends outside of transactions",
            do="leave it out",
        )
    if options.acks == "0":
        raise ConfigError(
            'acks="0" with write_topic', why="then brokers confirm nothing", do='leave it out, or acks="1"'
        )
    if options.transactional_id:
        raise ConfigError(
            f"transactional_id={options.transactional_id!r} with write_topic",
            why="it sends outside of transactions",
            do="leave it out, or use `Producer.send_arrow` within a transaction of your own",
        )


def _warn_of_old(options: ProducerOptions, topic: str, hours: Mapping[int, int]) -> None:
    """``hours``: how many records have a timestamp of their own, by hours since the epoch."""
    if not hours or (min(hours) + 2) * _HOUR_MS > wall_ms():
        return
    from kcli.core.admin.admin import Admin  # only where records are old
    from kcli.flows.topics.lifetime import old_hours_text
    from kcli.flows.topics.retention import values_of

    try:
        with Admin(options) as admin:
            found = values_of(admin, [topic])[topic].in_force
    except KcliError as error:
        warn(f"whether topic {topic} keeps records of such an age is not known: {error}")
        return
    if text := old_hours_text(topic, hours, _HOUR_MS, found, wall_ms()):
        warn(text)


def _flush(producer: Producer, bar: Progress) -> TimedOutError | None:
    """Waits for the outcome of all records; the error if there is none in time."""
    limit = producer.options.delivery_timeout_ms / 1000
    waited = 0.0
    while not producer.flush(_TURN):
        _show(producer, bar)
        waited += _TURN
        if waited > limit + _TURN:
            return TimedOutError(
                f"{counted(producer.outstanding, 'record')} not confirmed in {limit:g} s",
                why="no broker answered",
                do="check that the brokers are running, or raise delivery.timeout.ms",
            )
    return None


def _show(producer: Producer, bar: Progress) -> None:
    bar.update(producer.totals.confirmed, producer.totals.bytes)


# --- columns --------------------------------------------------------------------------------------------


def _is_pandas(frame: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(frame, pandas.DataFrame)


def _tables(frame: Any, topic: str, layout: _Layout) -> Iterator[Any]:
    """The frame in pieces, with the columns that a producer takes."""
    import pyarrow as pa  # an extra

    if _is_pandas(frame):
        # An index without a name numbers the rows, and is no data.
        named = any(name is not None for name in frame.index.names)
        try:
            frame = pa.Table.from_pandas(frame, preserve_index=named)
        except (pa.ArrowException, ValueError, TypeError) as error:
            raise ConfigError(
                "the data frame is no table of Arrow",
                why="; ".join(map(str, error.args)),
                do="give each column one type, and a name of its own",
            ) from error
    elif hasattr(frame, "__arrow_c_array__") and not hasattr(frame, "__arrow_c_stream__"):
        frame = pa.Table.from_batches([pa.record_batch(frame)])
    elif not hasattr(frame, "__arrow_c_stream__"):
        raise _no_frame(frame, "it has no __arrow_c_stream__")
    try:
        reader = pa.RecordBatchReader.from_stream(frame)
    except pa.ArrowInvalid as error:  # a column is no table
        raise _no_frame(frame, str(error)) from error
    row = 0
    for batch in reader:
        for start in range(0, batch.num_rows, _ROWS):
            piece = batch.slice(start, _ROWS)
            yield layout.table(piece, topic, row + start)
        row += batch.num_rows


def _no_frame(frame: Any, why: str) -> ConfigError:
    return ConfigError(
        f"a {type(frame).__name__} is no data frame",
        why=why,
        do="collect a lazy one, and make a table of pyarrow, polars or pandas of anything else",
    )


class _Layout:
    """Which columns are the parts of a record, and how they are encoded. ``hours``: how many timestamps there were so
    far, by hours since the epoch.
    """

    def __init__(self, given: Mapping[str, Names], serdes: Serdes) -> None:
        self._given, self._serdes = given, serdes
        self.hours: Counter[int] = Counter()

    def table(self, batch: Any, topic: str, first_row: int) -> Any:
        """The rows as a producer takes them; EncodeError with the number of the row, counted from 0."""
        import pyarrow as pa  # an extra

        names: list[str] = batch.schema.names
        parts: dict[str, Names] = {part: part for part in _PARTS if part in names and part not in self._given}
        parts.update(self._given)
        self._check(parts, names)
        columns = {}
        for part, name in parts.items():
            serde: Serde | None = getattr(self._serdes, part, None)
            if serde is not None:
                rows = _rows(batch, name)
                columns[part] = pa.array(
                    _encoded(serde, rows, SerdeContext(topic, part), first_row), pa.binary()
                )
                continue
            assert isinstance(name, str)
            column = batch.column(name)
            kind = column.type
            if part in ("key", "value") and (pa.types.is_primitive(kind) or pa.types.is_nested(kind)):
                raise ConfigError(
                    f"the column {name} is of the type {kind}",
                    why=f"a {part} is bytes or text",
                    do=f'{part}_serde="json" encodes it, and so do other serdes; or cast it',
                )
            columns[part] = _decoded(column) if pa.types.is_dictionary(kind) else column
        if "timestamp" in columns:
            self._count(columns["timestamp"])
        return pa.table(columns)

    def _count(self, times: Any) -> None:
        import pyarrow as pa  # an extra
        import pyarrow.compute as pc

        if pa.types.is_timestamp(times.type):
            times = times.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
        if pa.types.is_int64(times.type):
            hours = pc.divide(times.filter(pc.greater_equal(times, 0)), _HOUR_MS)
            for one in pc.value_counts(hours).to_pylist():
                self.hours[one["values"]] += one["counts"]

    def _check(self, parts: Mapping[str, Names], names: Sequence[str]) -> None:
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise ConfigError(
                f"the data frame has several columns {twice[0]}",
                why="which of them is meant is not known",
                do="give each column a name of its own",
            )
        used = [one for name in parts.values() for one in ([name] if isinstance(name, str) else name or ())]
        missing = [name for name in used if name not in names]
        if missing:
            raise ConfigError(
                f"the data frame has no column {missing[0]}",
                why=f"its columns are {', '.join(names)}",
                do="name one of these",
            )
        rest = [name for name in names if name not in used and name not in _IGNORED]
        if rest:
            raise ConfigError(
                f"the column {rest[0]} is no part of a record",
                why="its data would be lost",
                do="drop it, or name it, as in value=[…]",
            )
        if "value" not in parts:
            raise ConfigError(
                "no column is the value",
                why=f"the columns are {', '.join(names)}",
                do='value="NAME"; a column of nulls writes tombstones',
            )
        for part in ("key", "value"):
            if getattr(self._serdes, part) is not None and part not in parts:
                raise ConfigError(
                    f"{part}_serde without a column for the {part}",
                    why=f"the columns are {', '.join(names)}",
                    do=f'{part}="NAME"',
                )


def _decoded(column: Any) -> Any:
    """A column of categories as one of their names; Arrow cannot take from views, which polars makes."""
    import pyarrow as pa  # an extra

    kind = column.type.value_type
    plain = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}.get(kind, kind)
    return column.dictionary.cast(plain).take(column.indices)


def _rows(batch: Any, name: Names) -> list[Any]:
    if isinstance(name, str):
        return list(batch.column(name).to_pylist())
    names = list(name or ())
    columns = [batch.column(one).to_pylist() for one in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _encoded(serde: Serde, rows: Sequence[Any], context: SerdeContext, first_row: int) -> list[bytes | None]:
    """Text is what a line of ``kcli produce`` has; other values are values of JSON."""
    bytes_of = _BYTES.get(serde.name, _refused)
    found: list[bytes | None] = []
    for number, value in enumerate(rows):
        try:
            if value is None:
                found.append(None)
            elif isinstance(value, str | bytes):
                found.append(serde.encode_text(value.encode() if isinstance(value, str) else value, context))
            else:
                found.append(serde.encode(_json_value(value, bytes_of), context))
        except (EncodeError, ValueError, TypeError) as error:
            why = error.why if isinstance(error, KcliError) and error.why else str(error)
            raise EncodeError(
                f"row {first_row + number}: the {context.part} cannot be encoded with {serde.name}", why=why
            ) from None
    return found


def _refused(_data: bytes) -> str:
    raise ValueError("JSON has no bytes")


_BYTES: Mapping[str, Callable[[bytes], str]] = {
    "avro": lambda data: data.decode("latin-1"),
    "protobuf": lambda data: base64.b64encode(data).decode(),
}
"""How the JSON of a serde has bytes."""


def _json_value(value: Any, bytes_of: Callable[[bytes], str]) -> Any:
    """A value of Arrow as one of JSON, as the serdes take it."""
    if isinstance(value, bytes):
        return bytes_of(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, dict):
        return {name: _json_value(inner, bytes_of) for name, inner in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(entry, tuple) for entry in value):  # a map
            return {str(name): _json_value(inner, bytes_of) for name, inner in value}
        return [_json_value(inner, bytes_of) for inner in value]
    return value
