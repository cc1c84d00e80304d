"""``kcli.read_export``: the records of an export, exactly those of the files that its manifest names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kcli.core.arrow.fields import RECORD_COLUMNS, chosen_columns
from kcli.core.consumer.arrow_reader import BATCH_ROWS, check_batch_size
from kcli.core.consumer.topic_records import Instant, numbers_given, range_given
from kcli.core.errors import ConfigError, NotFoundError
from kcli.core.types import TopicPartition
from kcli.frames.settings import registry_of, serdes_of, warn
from kcli.frames.topic import typed_parts
from kcli.pipeline.arrow_library import check_pyarrow
from kcli.pipeline.export_plan import removed
from kcli.pipeline.manifest import Documents, ExportedFile, Gap, Manifest, left_out, why_no_export
from kcli.pipeline.store.store import Store
from kcli.pipeline.store.urls import canonical, open_store

if TYPE_CHECKING:
    from kcli.core.positions import OffsetSpec, RangeSpec
    from kcli.frames.export_frame import ExportFrame, Limits

_NOT_EXPORTED = "headers_packed"


def read_export(
    location: str | os.PathLike[str],
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
    what the manifest says; NotFoundError for a topic or partition that is not in it. A warning names gaps: what the
    cluster had removed before it was exported.
    """
    check_pyarrow("read_export needs it", extra="lake")
    from kcli.frames.export_frame import ExportFrame  # pyarrow: an extra

    store = open_store(canonical(os.path.expanduser(location)))
    wanted = range_given(since, until, offsets)
    chosen = tuple([columns] if isinstance(columns, str) else columns)
    chosen_columns(chosen)
    if _NOT_EXPORTED in chosen:
        raise ConfigError(
            f"an export has no column {_NOT_EXPORTED}",
            why="its files have the headers as a list",
            do="choose the column headers",
        )
    check_batch_size(batch_rows, 1)
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
    wanted_topics = None if topics is None else [topics] if isinstance(topics, str) else list(topics)
    manifest = manifest.with_earlier(wanted_topics or ())
    names = _topics(manifest, store, wanted_topics)
    for topic in manifest.earlier:
        if topic.topic in names and topic.full_name not in names:
            warn(f'{left_out(topic)}; topics="{topic.full_name}" reads them')
    numbers = numbers_given(partitions)
    files = _files(manifest, store, names, numbers)
    limits = _limits(wanted)
    gaps = _gaps(manifest, names, numbers, limits)
    for tp, some in gaps.items():
        warn(str(removed(tp, some, recorded=True)))
    registry = registry_of(serdes_of(key_serde, value_serde), profile, values, "read_export")
    if (key_serde is not None or value_serde is not None) and len(names) != 1:
        raise ConfigError(
            "a serde for several topics",
            why=f"the column has the type of one topic's schema, and the topics are {', '.join(names)}",
            do=f'topics="{names[0]}"' if names else "",
        )
    for text in _not_there(manifest, names, numbers, limits):
        warn(text)
    typed = typed_parts("".join(names[:1]), key_serde, value_serde, chosen, registry, undecodable)
    return ExportFrame(
        store,
        manifest,
        files,
        gaps,
        chosen,
        limits,
        typed,
        undecodable=undecodable,
        verify=verify,
        batch_rows=batch_rows,
        progress=progress,
    )


def _topics(manifest: Manifest, store: Store, wanted: Sequence[str] | None) -> list[str]:
    there = [topic.topic for topic in manifest.topics]
    if wanted is None:
        return there
    for name in wanted:
        if name not in there:
            raise NotFoundError(
                f"topic {name} is not in {store.url}",
                why=f"it has {', '.join([*there, *(topic.full_name for topic in manifest.earlier)])}",
                do="topics=None reads them all",
            )
    return [name for name in there if name in wanted]


def _files(
    manifest: Manifest, store: Store, names: Sequence[str], partitions: Sequence[int] | None
) -> list[tuple[TopicPartition, ExportedFile]]:
    found = [(tp, one) for tp, one in manifest.partitions() if tp.topic in names]
    for number in partitions or ():
        if all(tp.partition != number for tp, _ in found):
            raise NotFoundError(
                f"partition {number} is not in {store.url}",
                why=f"it has {', '.join(str(tp) for tp, _ in found) or 'none'}",
                do="partitions=None reads them all",
            )
    return [
        (tp, file)
        for tp, one in found
        if partitions is None or tp.partition in partitions
        for file in one.files
    ]


def _gaps(
    manifest: Manifest, names: Sequence[str], partitions: Sequence[int] | None, limits: Limits
) -> Mapping[TopicPartition, Sequence[Gap]]:
    """Offsets that are missing in what is read, by partition."""
    found = {}
    for tp, one in manifest.partitions():
        some = [
            gap
            for gap in one.gaps
            if (limits.start is None or gap.end > limits.start)
            and (limits.stop is None or gap.start < limits.stop)
        ]
        if some and tp.topic in names and (partitions is None or tp.partition in partitions):
            found[tp] = some
    return found


def _not_there(
    manifest: Manifest, names: Sequence[str], partitions: Sequence[int] | None, limits: Limits
) -> Iterator[str]:
    """The partitions in which a range of offsets begins where the export has nothing; gaps are named apart."""
    start = limits.start
    for tp, one in manifest.partitions():
        wanted = tp.topic in names and (partitions is None or tp.partition in partitions)
        if wanted and start is not None and not one.start <= start <= one.end:
            yield f"{tp}: the range begins at offset {start}, and the export has {one.start} to {one.end}"


def _limits(wanted: RangeSpec) -> Limits:
    from kcli.frames.export_frame import Limits  # pyarrow: an extra

    return Limits(_offset(wanted.start), _offset(wanted.stop), *wanted.times)


def _offset(end: OffsetSpec | None) -> int | None:
    if end is None or end.kind == "timestamp":
        return None
    if end.kind == "offset" and end.value >= 0:
        return end.value
    raise ConfigError(
        "the range cannot be found in an export",
        why="it has offsets, as numbers, and times",
        do='offsets="1000:2000", for example',
    )
