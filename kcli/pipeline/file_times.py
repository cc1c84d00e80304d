"""The tally of the records of a file of an export, by their times and keys: what a topic would do with them.

Of Parquet the statistics of row groups say it, unless a limit is within a group: then its times are read. Text is read.
Imports pyarrow: the module is imported where files are read.
"""

from collections.abc import Callable
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kcli.core.errors import ConfigError
from kcli.flows.topics.lifetime import EXPIRED, KEPT, TOO_NEW, TOO_OLD, Tally, Terms
from kcli.pipeline.exported_records import read_file
from kcli.pipeline.kernels.check_files import CHANGED
from kcli.pipeline.manifest import ExportedFile
from kcli.pipeline.store.store import Store


def tally_file(
    store: Store, file: ExportedFile, form: str, start: int, terms: Terms, check: Callable[[], None]
) -> Tally:
    """Of the records at offsets from ``start`` on; ConfigError for a file that cannot be read. ``check`` is called again
    and again, and may raise.
    """
    if form == "parquet":
        try:
            with store.open(file.path) as found:
                return _of_parquet(found, start, terms)
        except (pa.ArrowException, OSError) as error:
            if store.size(file.path) is not None:  # else it may have been merged
                name = store.name(file.path)
                raise ConfigError(f"{name} cannot be read", why=str(error), do=CHANGED) from error
    tally = Tally()
    try:
        for records in read_file(store, file, form, start):
            check()
            times, keys = records.table.column("timestamp"), records.table.column("key")
            tally = tally.joined(tally_of(times, keys, terms))
    except ConfigError as error:
        error.do = CHANGED
        raise
    return tally


def _of_parquet(found: BinaryIO, start: int, terms: Terms) -> Tally:
    tally = Tally()
    with pq.ParquetFile(found) as file:
        for group in range(file.num_row_groups):
            metadata = file.metadata.row_group(group)
            told = by_statistics(metadata, start, terms)
            if told is None:
                table = file.read_row_group(group, ["offset", "timestamp", "key"])
                table = table.filter(pc.greater_equal(table["offset"], start))
                told = tally_of(table["timestamp"], table["key"], terms)
            tally = tally.joined(told)
    return tally


def by_statistics(group: Any, start: int, terms: Terms) -> Tally | None:
    """The tally of a row group by its metadata; None where they do not say it."""
    columns = {group.column(n).path_in_schema: group.column(n).statistics for n in range(group.num_columns)}
    offsets, times, keys = (columns.get(name) for name in ("offset", "timestamp", "key"))
    if offsets is None or not offsets.has_min_max or times is None or not times.has_null_count:
        return None
    if offsets.max < start:
        return Tally()
    if offsets.min < start or (
        terms.needs_keys and (keys is None or not keys.has_null_count or keys.null_count)
    ):
        return None
    if times.null_count == group.num_rows:
        return Tally(kept=group.num_rows)
    if not times.has_min_max or times.min < 0 or times.null_count:
        return None
    fate = terms.fate(times.min)
    if fate != terms.fate(times.max):
        return None
    return Tally(**{fate: group.num_rows}, oldest=times.min)


def tally_of(times: Any, keys: Any, terms: Terms) -> Tally:
    """The tally of columns of records; a null time is none."""
    times = pc.fill_null(times, -1)
    keyed = pc.is_valid(keys) if terms.needs_keys else None
    no_key = 0
    if keyed is not None:
        no_key = len(times) - _true(keyed)
        times = pc.filter(times, keyed)
    some = pc.filter(times, pc.greater_equal(times, 0))
    oldest = pc.min(some).as_py()
    too_old = _true(pc.less(some, terms.accepted_from))
    too_new = _true(pc.greater(some, terms.accepted_to))
    expired = _true(
        pc.and_(
            pc.and_(pc.greater_equal(some, terms.accepted_from), pc.less_equal(some, terms.accepted_to)),
            pc.less(some, terms.kept_from),
        )
    )
    counts = {TOO_OLD: too_old, TOO_NEW: too_new, EXPIRED: expired}
    counts[KEPT] = len(times) - sum(counts.values())
    return Tally(**counts, no_key=no_key, oldest=-1 if oldest is None else oldest, read=True)


def _true(mask: Any) -> int:
    return int(pc.sum(mask).as_py() or 0)
