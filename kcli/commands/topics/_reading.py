"""What ``kcli topics`` does: list, describe, offsets, create, delete. Columns and rows are in ``_topic_rows.py``."""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from kcli.account.survey import Missing
from kcli.commands.shared.cluster import connect, open_admin, readable, unique, warn_of_hidden
from kcli.commands.shared.confirm import confirm, show_plan
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import check_topic_name
from kcli.commands.shared.plan_output import not_checked
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import usage
from kcli.commands.topics import _creation as creation
from kcli.commands.topics import _rows as view
from kcli.commands.topics._partitions import many_partitions
from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.errors import NotValidatedError
from kcli.core.positions import OffsetSpec
from kcli.core.types import TopicPartition, TopicSpec
from kcli.flows.groups.offsets import LogEnds, log_ends, offsets_at
from kcli.flows.topic_sizes import TopicSize, topic_sizes
from kcli.flows.topics.offsets import unknown_offsets
from kcli.output.progress import counted


def list_topics(inv: Invocation, match: str | None, internal: bool, with_size: bool) -> int:
    """Lists topics. Returns the exit status."""
    inv.page()
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = [topic for topic in admin.list_topics() if _wanted(topic, match, internal)]
        sizes = _sizes(inv, admin, found) if with_size else None
        warn_of_hidden(inv, admin, "topics")
    _warn_of_incomplete(inv, found)
    columns = view.LIST if sizes is None else (*view.LIST, *view.SIZES)
    rows = (view.list_row(topic) | (view.size_row(sizes[topic.name]) if sizes else {}) for topic in found)
    if not found:
        inv.talk.remark(view.no_topics(match, internal=internal))
    print_rows(inv, "TopicList", columns, rows, cluster, item="Topic")
    return inv.finish(done=True)


def describe_topics(
    inv: Invocation, names: tuple[str, ...], match: str | None, under_replicated: bool, unavailable: bool
) -> int:
    """Describes topics. Returns the exit status."""
    wanted = view.wanted_partitions(under_replicated=under_replicated, unavailable=unavailable)
    if not names and match is None and wanted is None:
        raise usage(
            "topics describe: missing argument TOPIC",
            why="it is required without --match, --under-replicated and --unavailable",
            do="name some, or use --match GLOB, --under-replicated or --unavailable",
        )
    inv.page()
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = _described(inv, admin, names, match, every=not names and match is None)
        whole = found
        if wanted is not None:
            found = view.with_partitions(whole, wanted)
        _warn_of_incomplete(inv, found.values())
        ends = _ends(admin, found.values())
        _warn_of_unknown(inv, ends)
        configs = readable(
            inv, admin.describe_topic_configs(list(found)) if found else {}, "the configuration of topic"
        )
        if not names:
            warn_of_hidden(inv, admin, "topics")
        nodes = admin.connect().nodes
    if not found and (whole or not names):
        inv.talk.remark(
            view.nothing_described(match, under_replicated=under_replicated, unavailable=unavailable)
        )
    view.print_descriptions(inv, cluster, found, whole, view.spans(ends), configs, nodes, listed=not names)
    return inv.finish(done=bool(found) or not names)


def topic_offsets(inv: Invocation, names: tuple[str, ...], when: OffsetSpec | None) -> int:
    """Prints the offsets of topics. Returns the exit status."""
    query = _query(when)
    inv.page()
    names = unique(names)
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        if names:
            found = readable(inv, admin.describe_topics(names), "topic")
        else:
            warn_of_hidden(inv, admin, "topics")
            found = {topic.name: topic for topic in admin.list_topics() if not topic.internal}
        if query is None:
            ends = _ends(admin, found.values())
            done = any(log.end is not None for log in ends.values())
            for error in unknown_offsets(ends):
                inv.lacks(Missing.of(error))
            rows_to_add = view.end_rows(view.spans(ends))
        else:
            answers = offsets_at(admin, _partitions(found.values()), query)
            done = any(isinstance(answer, OffsetInfo) for answer in answers.values())
            readable(inv, answers, "the offset of")
            rows_to_add = view.time_rows(answers)
    columns = view.ENDS if query is None else view.TIMES
    if not found and not names:
        inv.talk.remark(view.no_topics(None, internal=False))
    print_rows(inv, "TopicOffsetList", columns, rows_to_add, cluster, item="TopicOffset")
    return inv.finish(done=done)


def create_topics(
    inv: Invocation,
    names: tuple[str, ...],
    partitions: int | None,
    replication_factor: int | None,
    configs: tuple[str, ...],
    if_not_exists: bool,
) -> int:
    """Creates topics. Returns the exit status."""
    for name in names:
        check_topic_name(name, "topics create")
    settings = _config_pairs(configs)
    specs = [TopicSpec(name, partitions or -1, replication_factor or -1, settings) for name in unique(names)]
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        if many_partitions(sum(spec.partitions for spec in specs)) is not None:
            outcome = _create_many(inv, admin, specs, may_exist=if_not_exists)
        else:
            outcome = _create(inv, admin, specs, may_exist=if_not_exists)
    for error in outcome.failed:
        inv.failed(error)
    for name in outcome.existing:
        inv.talk.note(f"topic {name} already exists")
    for name in outcome.created:
        inv.talk.note(f"{'would create' if inv.dry_run else 'created'} topic {name}")
    creation.print_topics(inv, cluster, outcome)
    return inv.finish(done=bool(outcome.created or outcome.existing))


def _create(
    inv: Invocation, admin: Admin, specs: Sequence[TopicSpec], *, may_exist: bool
) -> creation.Outcome:
    """Creates the topics; a dry run has brokers check them that are known to do no more, and else compares metadata."""
    try:
        return creation.create(admin, specs, may_exist=may_exist, dry_run=inv.dry_run)
    except NotValidatedError as error:
        known, left = creation.known_without_check(admin, specs, may_exist=may_exist)
        inv.talk.warn(not_checked(error))
        return known.with_more(creation.unchecked(left))


def _create_many(
    inv: Invocation, admin: Admin, specs: Sequence[TopicSpec], *, may_exist: bool
) -> creation.Outcome:
    """The same with so many partitions that brokers are asked only after an answer."""
    known, left = creation.known_without_check(admin, specs, may_exist=may_exist)
    if not left or _is_confirmed(inv, left):
        return known.with_more(creation.create(admin, left, may_exist=may_exist, dry_run=inv.dry_run))
    inv.talk.warn("not checked by the broker: a check takes as much of its memory as the creation")
    return known.with_more(creation.unchecked(left))


def _is_confirmed(inv: Invocation, specs: Sequence[TopicSpec]) -> bool:
    """Whether the topics may be created; those with very many partitions only by name, and so one at a time."""
    count = sum(spec.partitions for spec in specs)
    danger = many_partitions(count)
    if danger is None:
        return True
    if len(specs) > 1:
        show_plan(inv, creation.plan_text(specs))
        raise usage(
            f"topics create: {counted(count, 'partition')} of {counted(len(specs), 'topic')}",
            why=f"{danger}, so that --confirm has to name the topic; nothing was created",
            do="create the topics one at a time",
        )
    (spec,) = specs
    return confirm(inv, creation.plan_text(specs), f"Create {spec.name}?", name=spec.name, danger=danger)


def _described(
    inv: Invocation, admin: Admin, names: Sequence[str], match: str | None, *, every: bool
) -> dict[str, TopicInfo]:
    """The topics that are named, then those that match; a name that does not exist is reported."""
    found = readable(inv, admin.describe_topics(unique(names)) if names else {}, "topic")
    if every or match is not None:
        listed = [topic for topic in admin.list_topics() if every or _wanted(topic, match, internal=True)]
        found |= {topic.name: topic for topic in listed if topic.name not in found}
    return found


def _sizes(inv: Invocation, admin: Admin, found: Sequence[TopicInfo]) -> dict[str, TopicSize]:
    """The size of each topic; errors of brokers are failures, and the sums that include them are unknown."""
    sizes = topic_sizes(admin, found)
    for part in sizes.missing:
        inv.lacks(part)
    return sizes.items


def _wanted(topic: TopicInfo, match: str | None, internal: bool) -> bool:
    return (internal or not topic.internal) and (match is None or fnmatchcase(topic.name, match))


def _warn_of_incomplete(inv: Invocation, found: Iterable[TopicInfo]) -> None:
    """A topic that the broker returned with an error is shown, although it is incomplete."""
    for topic in found:
        if topic.error is not None:
            inv.talk.warn(f"the description of topic {topic.name} is incomplete: {topic.error}")
            inv.lacks(
                Missing.of(topic.error, f"a part of the description of topic {topic.name}"),
                told=True,
            )


def _partitions(found: Iterable[TopicInfo]) -> list[TopicPartition]:
    return [TopicPartition(topic.name, part.partition) for topic in found for part in topic.partitions]


def _ends(admin: Admin, found: Iterable[TopicInfo]) -> dict[TopicPartition, LogEnds]:
    """The log start and end of every partition, without waiting for partitions without a leader."""
    return log_ends(admin, _partitions(found))


def _warn_of_unknown(inv: Invocation, ends: Mapping[TopicPartition, LogEnds]) -> None:
    """Warns of unknown offsets."""
    for error in unknown_offsets(ends):
        inv.talk.warn(str(error))
        inv.lacks(Missing.of(error), told=True)


def _query(when: OffsetSpec | None) -> int | None:
    """The timestamp for ListOffsets."""
    if when is None:
        return None
    if when.kind == "timestamp":
        return when.value
    if when.kind in ("earliest", "latest"):
        return EARLIEST if when.kind == "earliest" else LATEST
    word = {1: "latest", 2: "earliest"}.get(when.value) if when.kind == "from_end" else None
    raise usage(
        "topics offsets: --time must be earliest, latest or a time",
        why="an offset cannot be found by an offset",
        do=f"write --time {word}, which is -{when.value} in Kafka's script"
        if word
        else "write --time @-1h or --time 2026-11-21T10:00Z",
    )


def _config_pairs(configs: Iterable[str]) -> dict[str, str]:
    pairs = {}
    for text in configs:
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise usage(
                f"topics create: --config {text!r} is not KEY=VALUE",
                why="there is no = in it",
                do="write --config retention.ms=3600000",
            )
        pairs[key.strip()] = value
    return pairs
