"""What ``kcli pipeline query`` reads: columns and ranges of its source, pinned before Spark is started (``sql.py``)."""

from collections.abc import Callable, Iterable, Sequence

from kcli.core.arrow.fields import RECORD_COLUMNS
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import KcliError
from kcli.core.options import ConsumerOptions
from kcli.core.positions import RangeSpec
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.plan import pin
from kcli.pipeline.running import Observer
from kcli.pipeline.spark.source_settings import SOURCE_COLUMNS, SourceSettings
from kcli.pipeline.sql_text import Rewritten, rewrite
from kcli.serde.names import SerdeSpec, SerdeSpecs, parse_serdes
from kcli.serde.opening import open_serdes
from kcli.serde.registry.options import RegistryOptions


def parsed(sql: str, serdes: Sequence[str], topics: Sequence[str]) -> tuple[Rewritten, SerdeSpecs]:
    """The SQL for Spark, and the serdes of ``-s``. ``topics`` may be named as tables."""
    specs = parse_serdes(serdes)
    decoded = [part for part, spec in (("key", specs.key), ("value", specs.value)) if spec is not None]
    return rewrite(sql, (*RECORD_COLUMNS, *(f"{part}_json" for part in decoded)), decoded, topics), specs


def pinned_source(
    observer: Observer,
    cluster: ClusterRef,
    registry: Callable[[], RegistryOptions],
    options: ConsumerOptions,
    existing: Callable[[Consumer, float, Callable[[KcliError], object]], Sequence[str]],
    query: Rewritten,
    specs: SerdeSpecs,
    range_: RangeSpec,
    *,
    exact_times: bool = False,
) -> tuple[SourceSettings, str | None]:
    """What a query reads, pinned now; and the cluster's id. ``existing``: see ``export.Export``;
    ``exact_times``: see ``pin``.
    """
    if specs:
        open_serdes(specs, registry()).close()  # errors now, not in a task
    with Consumer(options, hooks=observer.hooks) as consumer:
        with observer.contact(cluster.servers):
            consumer.connect(observer.timeout)
        names = existing(consumer, observer.timeout, observer.failed)
        slices = pin(consumer, names, range_, observer.timeout, warn=observer.warn, exact_times=exact_times)
        cluster_id = consumer.cluster.view.cluster_id
    settings = SourceSettings(
        cluster,
        topics=tuple(names),
        columns=source_columns(query.columns, specs),
        packed=False,
        key_serde=_absolute(specs.key),
        value_serde=_absolute(specs.value),
        slices=tuple(slices),
        times=range_.times if exact_times else (None, None),
    )
    return settings, cluster_id


def source_columns(words: Iterable[str], specs: SerdeSpecs) -> tuple[str, ...]:
    """The columns of ``source`` among the words of the SQL; at least one, since a schema needs one."""
    found = set(words)
    if not specs.key:
        found.discard("key_json")
    if not specs.value:
        found.discard("value_json")
    return tuple(name for name in SOURCE_COLUMNS if name in found) or ("offset",)


def _absolute(spec: SerdeSpec | None) -> str:
    """The serde as text, for tasks that run in other folders."""
    return "" if spec is None else str(spec.absolute())
