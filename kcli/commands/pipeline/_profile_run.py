"""What ``kcli pipeline profile`` does: pins the ranges, counts, merges, and shows."""

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.commands.pipeline._job_run import (
    cluster_of,
    print_report,
    run_job,
    runner_of,
    with_runner,
)
from kcli.commands.pipeline._ranges import wanted_range
from kcli.commands.shared.context import Invocation
from kcli.core.clock import wall_ms
from kcli.core.consumer.consumer import Consumer
from kcli.core.options import ConsumerOptions
from kcli.files.atomic import replace_file
from kcli.flows.stop import Stop
from kcli.output.progress import counted, size_text
from kcli.output.tables import Column, time_text
from kcli.pipeline.arrow_library import check_pyarrow
from kcli.pipeline.job import Job
from kcli.pipeline.kernels.profile import ProfileSettings
from kcli.pipeline.plan import Slice, pin, split
from kcli.pipeline.profile.html import page
from kcli.pipeline.profile.partition_profile import RangeProfile, partition_item, topic_item

_COLUMNS = (
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


def run(inv: Invocation, topics: Sequence[str], flags: Mapping[str, Any]) -> int:
    """Runs the job; returns the exit status."""
    check_pyarrow("counts")
    flags = with_runner(inv, flags, "profile")
    spec = wanted_range("profile", offset=flags["offset"], since=flags["since"], until=flags["until"])
    options = inv.client_options(ConsumerOptions, isolation_level="read_committed", group_id="")
    with Consumer(options, hooks=inv.hooks) as consumer:
        with inv.first_contact(options.bootstrap_servers):
            consumer.connect(inv.timeout)
        slices = pin(consumer, dict.fromkeys(topics), spec, inv.timeout, partitions=flags["partitions"])
        cluster = consumer.cluster.view.cluster_id
    total = sum(one.offsets for one in slices)
    with Stop() as stop, runner_of(inv, flags) as runner:
        tasks = [one for one in split(slices, runner.slots) if one.offsets]
        settings = ProfileSettings(
            cluster_of(inv, inv.configuration), _stride(total, len(topics), flags["sample"])
        )
        places = [_place(one) for one in tasks]
        report = run_job(
            inv, runner, Job("profile", settings, tuple(tasks)), places, stop, title="profiled", total=total
        )
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
    summaries = [_topic(name, by_partition, flags["top"]) for name in dict.fromkeys(topics)]
    if flags["html"] is not None:
        if not inv.dry_run:
            replace_file(flags["html"], page(cluster or "", time_text(wall_ms()), summaries, shown).encode())
        inv.talk.note(f"{'would write' if inv.dry_run else 'wrote'} {flags['html']}")
    code = print_report(
        inv,
        report._replace(items=shown),
        _COLUMNS,
        stop,
        command="profile",
        runner=runner.name,
        cluster=cluster,
        title="profiled",
        head={"topics": summaries},
    )
    if inv.out.kind in (None, "table", "plain", "wide"):
        inv.out.shown("".join(f"\n{line}" for summary in summaries for line in _lines(summary)) + "\n")
    return code


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


def _lines(topic: Mapping[str, Any]) -> list[str]:
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
        )
    schema = topic["json_schema"] or {}
    for name, inner in schema.get("properties", {}).items():
        kind = inner["type"] if isinstance(inner["type"], str) else " or ".join(inner["type"])
        lines.append(
            f"    {name}: {kind}" + ("" if name in schema.get("required", ()) else ", sometimes absent")
        )
    return lines
