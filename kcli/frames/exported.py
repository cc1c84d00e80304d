"""``kcli.read_export``: the records of an export, exactly those of the files that its manifest names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kcli.core.arrow.fields import RECORD_COLUMNS, chosen_columns
from kcli.core.consumer.arrow_reader import BATCH_ROWS
from kcli.core.consumer.topic_records import Instant, numbers_given, range_given
from kcli.core.errors import ConfigError, NotFoundError
from kcli.core.options import ConsumerOptions
from kcli.core.types import TopicPartition
from kcli.frames.settings import settings_of
from kcli.frames.topic import typed_parts
from kcli.pipeline.arrow_library import check_pyarrow
from kcli.pipeline.manifest import Documents, ExportedFile, Manifest, why_no_export
from kcli.pipeline.store.store import Store
from kcli.pipeline.store.urls import canonical, open_store

if TYPE_CHECKING:
    from kcli.core.positions import OffsetSpec, RangeSpec
    from kcli.frames.export_frame import ExportFrame, Limits

_NOT_EXPORTED = "headers_packed"


def read_export(
    location: str,
    *,
    topics: str | Iterable[str] | None = None,
    partitions: int | Iterable[int] | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    offsets: str | None = None,
    columns: Iterable[str] = RECORD_COLUMNS,
    key_serde: str | None = None,
    value_serde: str | None = None,
    undecodable: str = "fail",
    verify: bool = False,
    batch_rows: int = BATCH_ROWS,
    profile: str | None = None,
    progress: bool | None = None,
    **values: Any,
) -> ExportFrame:
    """The records of an export (``kcli pipeline export``) in a folder or an object store: as ``read_topic`` returns those
    of a topic, with the same columns and options. Other files in the folder are not read.

    Here the manifest is read; the files are when the rows are, one after the other, and of Parquet only the ``columns``.
    ``since`` and ``until`` choose records by their times, ``offsets`` is like ``"1000:2000"``. ``verify``: the SHA-256 of
    each file is compared before it is read; its size and number of records are in any case. ``profile`` and further
    keywords are those of the schema registry. ConfigError for a folder without a manifest, and for files that are not
    what the manifest says; NotFoundError for a topic or partition that is not in it.
    """
    check_pyarrow("read_export needs", extra="lake")
    from kcli.frames.export_frame import ExportFrame  # pyarrow: an extra

    store = open_store(canonical(str(location)))
    wanted = range_given(since, until, offsets)
    chosen = tuple([columns] if isinstance(columns, str) else columns)
    chosen_columns(chosen)
    if _NOT_EXPORTED in chosen:
        raise ConfigError(f"an export has no column {_NOT_EXPORTED}", why="", do="choose the column headers")
    if batch_rows < 1:
        raise ConfigError(f"batch_rows={batch_rows}", why="a batch has at least one record")
    manifest = Documents(store).manifest()
    if manifest is None:
        raise ConfigError(
            f"{store.url} is no complete export",
            why=why_no_export(store),
            do="name the folder DIR of a `kcli pipeline export TOPIC DIR`, or run that again to its end",
        )
    if manifest.format == "raw":
        raise ConfigError(
            f"{store.url} cannot be read as records",
            why="its format is raw, which has values only",
            do="export as parquet, ndjson or csv",
        )
    names = _topics(manifest, store, topics)
    files = _files(manifest, store, names, numbers_given(partitions))
    typed = None
    if key_serde is not None or value_serde is not None:
        if len(names) != 1:
            raise ConfigError(
                "a serde for several topics",
                why=f"the column has the type of one topic's schema, and the topics are {', '.join(names)}",
                do=f'topics="{names[0]}"' if names else "",
            )
        registry = settings_of(ConsumerOptions, None, profile, values).registry
        typed = typed_parts(names[0], key_serde, value_serde, chosen, registry, undecodable)
    elif values or profile:
        settings_of(ConsumerOptions, None, profile, values)  # refuses what is misspelt
    return ExportFrame(
        store,
        manifest.format,
        files,
        chosen,
        _limits(wanted),
        typed,
        undecodable=undecodable,
        verify=verify,
        batch_rows=batch_rows,
        progress=progress,
    )


def _topics(manifest: Manifest, store: Store, topics: str | Iterable[str] | None) -> list[str]:
    there = [topic.topic for topic in manifest.topics]
    if topics is None:
        return there
    wanted = [topics] if isinstance(topics, str) else list(topics)
    for name in wanted:
        if name not in there:
            raise NotFoundError(f"topic {name} is not in {store.url}", why=f"it has {', '.join(there)}")
    return [name for name in there if name in wanted]


def _files(
    manifest: Manifest, store: Store, names: Sequence[str], partitions: Sequence[int] | None
) -> list[tuple[TopicPartition, ExportedFile]]:
    found = [(tp, one) for tp, one in manifest.partitions() if tp.topic in names]
    for number in partitions or ():
        if all(tp.partition != number for tp, _ in found):
            raise NotFoundError(f"partition {number} is not in {store.url}", why=f"of {', '.join(names)}")
    return [
        (tp, file)
        for tp, one in found
        if partitions is None or tp.partition in partitions
        for file in one.files
    ]


def _limits(wanted: RangeSpec) -> Limits:
    from kcli.frames.export_frame import Limits  # pyarrow: an extra

    return Limits(_offset(wanted.start), _offset(wanted.stop), *wanted.times)


def _offset(end: OffsetSpec | None) -> int | None:
    if end is None or end.kind == "timestamp":
        return None
    if end.kind == "offset" and end.value >= 0:
        return end.value
    raise ConfigError("the range of read_export", why="an export has offsets, as numbers, and times")
