"""What ``kcli pipeline profile`` does: pins the ranges, counts, and merges."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.consumer.consumer import Consumer
from kcli.core.options import ConsumerOptions
from kcli.core.positions import RangeSpec
from kcli.files.atomic import replace_file
from kcli.flows.stop import Stop
from kcli.output.progress import counted, size_text
from kcli.output.tables import Column, time_text
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.job import Job
from kcli.pipeline.kernels.profile import ProfileSettings
from kcli.pipeline.plan import Slice, pin, split
from kcli.pipeline.profile.html import page
from kcli.pipeline.profile.partition_profile import RangeProfile, partition_item, topic_item
from kcli.pipeline.report import Item, Report
from kcli.pipeline.runners.runner import Runner
from kcli.pipeline.running import Observer, run_job
from kcli.serde.names import parse_serdes
from kcli.serde.opening import open_serdes
from kcli.serde.registry.options import RegistryOptions

COLUMNS = (
    Column("topic"),
    Column("partition", "number"),
    Column("start", "number", wide=True),
    Column("end", "number", wide=True),
    Column("records", "number"),
    Column("bytes", "size"),
    Column("null_keys", "number"),
    Column("null_values", "number"),
    Column("distinct_keys", "number"),
    Column("min_timestamp", "time", spare=1),
    Column("max_timestamp", "time", spare=1),
    Column("error", "prose"),
)


def serde_texts(texts: Sequence[str], registry: Callable[[], RegistryOptions]) -> tuple[str, ...]:
    """The serdes of ``-s`` for tasks, which may run in other folders; ConfigError for one that cannot be opened."""
    specs = parse_serdes(texts)
    if specs:
        open_serdes(specs, registry()).close()  # errors now, not in a task
    named = (("key", specs.key), ("value", specs.value))
    return tuple(f"{part}={spec.absolute()}" for part, spec in named if spec is not None)


class Pinned(NamedTuple):
    """What is read, and the id of its cluster."""

    slices: list[Slice]
    cluster: str | None


class Profiled(NamedTuple):
    """``report`` has an item a partition; ``topics``: one for each topic."""

    report: Report
    topics: list[Item]


def pinned(
    observer: Observer,
    options: ConsumerOptions,
    topics: Sequence[str],
    spec: RangeSpec,
    partitions: Sequence[int] | None,
    *,
    exact_times: bool = False,
) -> Pinned:
    """The ranges of the topics, up to their ends now. ``exact_times``: see ``pin``."""
    with Consumer(options, hooks=observer.hooks) as consumer:
        with observer.contact(options.servers):
            consumer.connect(observer.timeout)
        slices = pin(
            consumer,
            dict.fromkeys(topics),
            spec,
            observer.timeout,
            partitions=partitions,
            warn=observer.warn,
            exact_times=exact_times,
        )
        return Pinned(slices, consumer.cluster.view.cluster_id)


def profiled(
    observer: Observer,
    runner: Runner,
    stop: Stop,
    cluster: ClusterRef,
    topics: Sequence[str],
    slices: Sequence[Slice],
    *,
    sample: int,
    top: int,
    times: tuple[int | None, int | None] | None = None,
    serdes: Sequence[str] = (),
) -> Profiled:
    """``sample``: about how many values of a topic are looked into; ``top``: how many of the most frequent keys.
    ``times``: see ``ProfileSettings``; ``serdes``: as ``-s``.
    """
    total = sum(one.offsets for one in slices)
    tasks = [one for one in split(slices, runner.slots) if one.offsets]
    settings = ProfileSettings(cluster, _stride(total, len(topics), sample), times, tuple(serdes))
    places = [_place(one) for one in tasks]
    job = Job("profile", settings, tuple(tasks))
    report = run_job(observer, runner, job, places, stop, title="profiled", total=total)
    by_partition = {(one.topic, one.partition): RangeProfile() for one in slices}
    items = {(item["topic"], item["partition"]): item for item in report.items}
    for key, item in items.items():
        for found in item.pop("profiles", ()):
            by_partition[key].merge(found)
    shown = []
    for one in slices:
        item = {**_place(one), **partition_item(by_partition[one.topic, one.partition])}
        failed = items.get((one.topic, one.partition), {})
        shown.append({**item, "error": failed["error"]} if "error" in failed else item)
    return Profiled(
        report._replace(items=shown), [_topic(name, by_partition, top) for name in dict.fromkeys(topics)]
    )


def _place(one: Slice) -> dict[str, Any]:
    return {"topic": one.topic, "partition": one.partition, "start": one.start, "end": one.end}


def _stride(records: int, topics: int, sample: int) -> int:
    return max(1, records // (sample * topics)) if sample else 0


def _topic(name: str, by_partition: Mapping[tuple[str, int], RangeProfile], top: int) -> dict[str, Any]:
    partitions = {partition: one for (topic, partition), one in by_partition.items() if topic == name}
    whole = RangeProfile()
    for one in partitions.values():
        whole.merge(one)
    return topic_item(name, whole, partitions, top)


def write_page(path: str, cluster: str | None, topics: Sequence[Item], items: Sequence[Item]) -> None:
    """Writes the page with plots; it is replaced atomically."""
    replace_file(path, page(cluster or "", time_text(wall_ms()), topics, items).encode())


def summary_lines(topic: Mapping[str, Any]) -> list[str]:
    """The topic in a few lines of text."""
    about = "" if topic["distinct_keys_exact"] else "about "
    lines = [
        f"{topic['topic']}: {counted(topic['records'], 'record')}, {size_text(topic['bytes'])}, "
        f"{about}{counted(topic['distinct_keys'], 'key')}"
        + (f", the largest partition has {topic['skew']:.2f} times the average" if topic["skew"] else "")
    ]
    for name, title in (("key_sizes", "keys"), ("value_sizes", "values")):
        sizes = topic[name]
        if sizes["average"] is not None:
            lines.append(
                f"  {title}: {sizes['min']:,} to {sizes['max']:,} bytes, {sizes['average']:,} on average"
            )
    width = max((len(one["key"]) for one in topic["top_keys"]), default=0)
    lines += [
        f"  {one['key']:{min(width, 40)}}  {one['records']:>12,}  {one['share']:.1%}"
        for one in topic["top_keys"]
    ]
    values = topic["values"]
    if values["sampled"]:
        lines.append(
            f"  of {counted(values['sampled'], 'value')}: {values['json']:,} JSON, {values['text']:,} other text, "
            f"{values['binary']:,} binary"
            + (f", {values['undecoded']:,} that the serde cannot decode" if values["undecoded"] else "")
        )
    schema = topic["json_schema"] or {}
    for name, inner in schema.get("properties", {}).items():
        kind = inner["type"] if isinstance(inner["type"], str) else " or ".join(inner["type"])
        lines.append(
            f"    {name}: {kind}" + ("" if name in schema.get("required", ()) else ", sometimes absent")
        )
    return lines
