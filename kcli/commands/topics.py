"""``kcli topics``: list, describe, offsets, create, delete. What is printed is made in ``_topic_rows.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kcli.commands.shared.cluster import connect, open_admin, unique, without_errors
from kcli.commands.shared.command import group
from kcli.commands.shared.context import PARTLY, Invocation, pass_invocation
from kcli.commands.shared.params import OFFSET, check_topic_name
from kcli.commands.shared.types import TOPIC, CountType
from kcli.output.listing import list_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kcli.commands.shared.usage import Refused
    from kcli.core.admin.admin import Admin
    from kcli.core.admin.topics import TopicInfo
    from kcli.core.positions import OffsetSpec
    from kcli.core.types import TopicPartition
    from kcli.flows.groups.offsets import LogEnds
    from kcli.flows.topic_sizes import TopicSize

EARLIEST, LATEST = -2, -1


@group("topics", examples=(("kcli topics list", "all topics"), ("kcli topics describe orders", "one topic")))
def topics() -> None:
    """List, describe, create and delete topics."""


@topics.command(
    "list",
    examples=(
        ("kcli topics list --match 'orders*'", "by a shell pattern"),
        ("kcli topics list -o name", "one name a line, for scripts"),
        ("kcli topics list --internal -o wide", "the cluster's own topics too, with their ids"),
        ("kcli topics list --with-size", "how much of the brokers' disks each takes"),
    ),
)
@click.option("--match", metavar="GLOB", help="only names that match this shell pattern")
@click.option("--internal", is_flag=True, help="show the cluster's own topics too, as __consumer_offsets")
@click.option("--with-size", is_flag=True, help="show the size on the brokers' disks, in bytes")
@pass_invocation
def list_topics(inv: Invocation, match: str | None, internal: bool, with_size: bool) -> int:
    """List topics.

    UNDER-REPLICATED counts partitions with fewer replicas in sync than they should have. SIZE-BYTES is the sum of the
    leaders' logs, DISK-BYTES (-o wide) that of all replicas.
    """
    from kcli.commands import _topic_rows as view

    inv.page()
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = [topic for topic in admin.list_topics() if _wanted(topic, match, internal)]
        sizes = _sizes(inv, admin, found) if with_size else None
    _tell_partial(inv, found)
    columns = view.LIST if sizes is None else (*view.LIST, *view.SIZES)
    with list_rows(
        inv.out, "TopicList", "Topic", columns, cluster=cluster, warnings=inv.talk.warnings
    ) as rows:
        for topic in found:
            rows.add(view.list_row(topic) | (view.size_row(sizes[topic.name]) if sizes else {}))
    if not found:
        inv.talk.note(view.no_topics(match, internal=internal))
    return inv.finish(done=True)


@topics.command(
    "describe",
    examples=(
        ("kcli topics describe orders", "partitions, leaders, replicas, offsets"),
        (
            "kcli topics describe orders payments -o json",
            "for scripts: one item a topic, with its configuration",
        ),
        ("kcli topics describe --unavailable", "of all topics the partitions without a leader"),
        ("kcli topics describe --match 'orders*' --under-replicated", "where replicas are not in sync"),
    ),
)
@click.argument("names", nargs=-1, type=TOPIC, metavar="[TOPIC…]")
@click.option("--match", metavar="GLOB", help="all topics whose names match this shell pattern")
@click.option(
    "--under-replicated",
    is_flag=True,
    help="only partitions with fewer replicas in sync than they should have",
)
@click.option("--unavailable", is_flag=True, help="only partitions without a leader")
@pass_invocation
def describe_topics(
    inv: Invocation, names: tuple[str, ...], match: str | None, under_replicated: bool, unavailable: bool
) -> int:
    """Show the partitions, offsets and configuration of topics.

    A line per partition; LOG-START and END are its first offset and the one that the next record gets. The
    configuration is what was set on the topic itself, where it differs from the brokers' defaults. --under-replicated
    and --unavailable look at all topics, internal ones too, unless some are named; with both, a partition that is
    either is shown. Exit code 6 where offsets cannot be shown: the partition has no leader, for one.
    """
    from kcli.commands import _topic_rows as view

    wanted = view.wanted_partitions(under_replicated=under_replicated, unavailable=unavailable)
    if not names and match is None and wanted is None:
        raise _nothing_named()
    inv.page()
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = _described(inv, admin, names, match, every=not names and match is None)
        whole = found
        if wanted is not None:
            found = view.with_partitions(whole, wanted)
        _tell_partial(inv, found.values())
        ends = _ends(admin, found.values())
        unknown = _warn_of_unknown(inv, ends)
        configs = without_errors(inv, admin.describe_topic_configs(list(found)) if found else {})
        nodes = admin.connect().nodes
    view.print_descriptions(inv, cluster, found, whole, view.spans(ends), configs, nodes, listed=not names)
    if not found and (whole or not names):
        inv.talk.note(
            view.nothing_described(match, under_replicated=under_replicated, unavailable=unavailable)
        )
    return inv.finish(done=bool(found) or not names, also=[PARTLY] if unknown else [])


@topics.command(
    "offsets",
    examples=(
        ("kcli topics offsets orders", "first offset, end and number of offsets of every partition"),
        ("kcli topics offsets orders --time @-1h", "the first record of the last hour"),
    ),
)
@click.argument("names", nargs=-1, type=TOPIC, metavar="[TOPIC…]")
@click.option(
    "--time",
    "when",
    type=OFFSET,
    metavar="SPEC",
    help="earliest, latest, or a time: the offset of the first record that is not older",
)
@pass_invocation
def topic_offsets(inv: Invocation, names: tuple[str, ...], when: OffsetSpec | None) -> int:
    """Show the offsets of topics, by partition.

    Without a TOPIC: of all topics but the cluster's own.
    """
    from kcli.commands import _topic_rows as view
    from kcli.core.cluster.offsets import OffsetInfo
    from kcli.core.errors import KcliError, NoLeaderError
    from kcli.flows.groups.offsets import offsets_at

    query = _query(when)
    inv.page()
    names = unique(names)
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        if names:
            found = without_errors(inv, admin.describe_topics(names))
        else:
            found = {topic.name: topic for topic in admin.list_topics() if not topic.internal}
        if query is None:
            ends = _ends(admin, found.values())
            done = any(log.end is not None for log in ends.values())
            for error in view.unknown_offsets(ends):
                inv.failed(error, partly=done and isinstance(error.first, NoLeaderError))
            rows_to_add = view.end_rows(view.spans(ends))
        else:
            answers = offsets_at(admin, _places(found.values()), query)
            done = any(isinstance(answer, OffsetInfo) for answer in answers.values())
            for answer in answers.values():
                if isinstance(answer, KcliError):
                    inv.failed(answer, partly=done and isinstance(answer, NoLeaderError))
            rows_to_add = view.time_rows(answers)
    columns = view.ENDS if query is None else view.TIMES
    with list_rows(
        inv.out, "TopicOffsetList", "TopicOffset", columns, cluster=cluster, warnings=inv.talk.warnings
    ) as rows:
        for row in rows_to_add:
            rows.add(row)
    if not found and not names:
        inv.talk.note(view.no_topics(None, internal=False))
    return inv.finish(done=done)


@topics.command(
    "create",
    examples=(
        ("kcli topics create orders --partitions 12", "the broker's default replication factor"),
        (
            "kcli topics create orders --config retention.ms=3600000 --if-not-exists",
            "no error when it already exists",
        ),
        ("kcli topics create orders --partitions 12 --dry-run", "only let the broker check the request"),
    ),
)
@click.argument("names", nargs=-1, required=True, metavar="TOPIC…")
@click.option(
    "--partitions", type=CountType(1), metavar="N", help="number of partitions (default: the broker's)"
)
@click.option(
    "--replication-factor",
    type=CountType(1, 32767),
    metavar="N",
    help="replicas of each partition (default: the broker's)",
)
@click.option(
    "--config", "configs", multiple=True, metavar="K=V", help="configuration of the topic; repeatable"
)
@click.option("--if-not-exists", is_flag=True, help="a topic that already exists is not an error")
@pass_invocation
def create_topics(
    inv: Invocation,
    names: tuple[str, ...],
    partitions: int | None,
    replication_factor: int | None,
    configs: tuple[str, ...],
    if_not_exists: bool,
) -> int:
    """Create topics.

    All TOPICs get the same number of partitions and the same configuration. Exit code 7 where one exists; with
    --if-not-exists only where it differs from what is requested. With -o, shows the topics created.
    """
    from kcli.commands import _topic_creation as creation
    from kcli.core.types import TopicSpec

    for name in names:
        check_topic_name(name, "topics create")
    settings = _config_pairs(configs)
    specs = [TopicSpec(name, partitions or -1, replication_factor or -1, settings) for name in unique(names)]
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        outcome = creation.create(admin, specs, may_exist=if_not_exists, dry_run=inv.dry_run)
    for error in outcome.failed:
        inv.failed(error)
    for name in outcome.existing:
        inv.talk.note(f"topic {name} already exists")
    for name in outcome.created:
        inv.talk.note(f"{'would create' if inv.dry_run else 'created'} topic {name}")
    creation.print_topics(inv, cluster, outcome)
    return inv.finish(done=bool(outcome.created or outcome.existing))


@topics.command(
    "delete",
    examples=(
        ("kcli topics delete scratch", "asks for the name to be typed"),
        ("kcli topics delete scratch --yes", "in a script"),
        ("kcli topics delete scratch --dry-run", "only show what would go"),
    ),
)
@click.argument("names", nargs=-1, required=True, type=TOPIC, metavar="TOPIC…")
@pass_invocation
def delete_topics(inv: Invocation, names: tuple[str, ...]) -> int:
    """Delete topics with all their records.

    There is no way back, so each name has to be typed, or --yes or --confirm NAME be given. An internal topic,
    as __consumer_offsets, takes --confirm NAME: --yes is not enough. All questions come before the
    first topic is deleted.
    """
    names = unique(names)
    done = False
    with open_admin(inv) as admin:
        connect(inv, admin)
        found = without_errors(inv, admin.describe_topics(names))
        ends = _ends(admin, found.values())
        _warn_of_unknown(inv, ends)
        agreed = _agreed(inv, found, ends)
        for name, error in (admin.delete_topics(agreed) if agreed else {}).items():
            if error is None:
                done = True
                inv.talk.note(f"deleted topic {name}")
            else:
                inv.failed(error)
    return inv.finish(done=done)


def _agreed(
    inv: Invocation, found: Mapping[str, TopicInfo], ends: Mapping[TopicPartition, LogEnds]
) -> list[str]:
    """The topics that are to go, after all questions; internal ones are asked about first."""
    from kcli.commands import _topic_rows as view
    from kcli.commands.shared.confirm import confirm

    agreed = []
    own = [topic.name for topic in found.values() if view.purpose(topic) is not None]
    for topic in sorted(found.values(), key=lambda topic: topic.name not in own):
        purpose = view.purpose(topic)
        plan = view.deletion_plan(topic, view.spans(ends))
        question = f"Delete topic {topic.name}?"
        if confirm(inv, plan, question, name=topic.name, among=own, danger=purpose):
            agreed.append(topic.name)
    return agreed


def _nothing_named() -> Refused:
    from kcli.commands.shared.usage import usage

    return usage(
        "topics describe: missing argument TOPIC",
        why="it is required without --match, --under-replicated and --unavailable",
        do="name some, or use --match GLOB, --under-replicated or --unavailable",
    )


def _described(
    inv: Invocation, admin: Admin, names: Sequence[str], match: str | None, *, every: bool
) -> dict[str, TopicInfo]:
    """The topics that are named, then those that match; a name that does not exist is reported."""
    found = without_errors(inv, admin.describe_topics(unique(names)) if names else {})
    if every or match is not None:
        listed = [topic for topic in admin.list_topics() if every or _wanted(topic, match, internal=True)]
        found |= {topic.name: topic for topic in listed if topic.name not in found}
    return found


def _sizes(inv: Invocation, admin: Admin, found: Sequence[TopicInfo]) -> dict[str, TopicSize]:
    """Of each topic; what a broker does not tell is a failure, and the sums that need it are unknown."""
    from kcli.flows.topic_sizes import topic_sizes

    sizes, errors = topic_sizes(admin, found)
    for error in errors:
        inv.failed(error)
    return sizes


def _wanted(topic: TopicInfo, match: str | None, internal: bool) -> bool:
    from fnmatch import fnmatchcase

    return (internal or not topic.internal) and (match is None or fnmatchcase(topic.name, match))


def _tell_partial(inv: Invocation, found: Iterable[TopicInfo]) -> None:
    """A topic that the broker told of with an error is shown all the same, and is not complete."""
    for topic in found:
        if topic.error is not None:
            inv.talk.warn(f"what is known of topic {topic.name} is not complete: {topic.error}")


def _places(found: Iterable[TopicInfo]) -> list[TopicPartition]:
    from kcli.core.types import TopicPartition

    return [TopicPartition(topic.name, part.partition) for topic in found for part in topic.partitions]


def _ends(admin: Admin, found: Iterable[TopicInfo]) -> dict[TopicPartition, LogEnds]:
    """(log start, end) of every partition; nobody waits for one without a leader."""
    from kcli.flows.groups.offsets import log_ends

    return log_ends(admin, _places(found))


def _warn_of_unknown(inv: Invocation, ends: Mapping[TopicPartition, LogEnds]) -> bool:
    """Whether offsets are unknown that are shown along with something else: it is not complete without them."""
    from kcli.commands import _topic_rows as view

    unknown = view.unknown_offsets(ends)
    for error in unknown:
        inv.talk.warn(str(error))
    return bool(unknown)


def _query(when: OffsetSpec | None) -> int | None:
    """What ListOffsets is asked for."""
    if when is None:
        return None
    if when.kind == "timestamp":
        return when.value
    if when.kind in ("earliest", "latest"):
        return EARLIEST if when.kind == "earliest" else LATEST
    from kcli.commands.shared.usage import usage

    raise usage(
        "topics offsets: --time takes earliest, latest or a time",
        why="an offset cannot be looked up by an offset",
        do="write --time @-1h or --time 2026-11-21T10:00Z",
    )


def _config_pairs(configs: Iterable[str]) -> dict[str, str]:
    from kcli.commands.shared.usage import usage

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
