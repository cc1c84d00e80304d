"""``kcli topics``: list, describe, offsets, create, delete. What is printed is made in ``_topic_rows.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kcli.commands._cluster import connect, open_admin, unique, without_errors
from kcli.commands._command import group
from kcli.commands._context import Invocation, pass_invocation
from kcli.commands._params import OFFSET, check_topic_name
from kcli.commands._types import TOPIC, CountType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcli.commands import _topic_rows as view
    from kcli.core.admin.admin import Admin
    from kcli.core.admin.topics import TopicInfo
    from kcli.core.cluster.offsets import OffsetInfo
    from kcli.core.errors import KcliError
    from kcli.core.positions import OffsetSpec
    from kcli.core.types import TopicPartition

EARLIEST, LATEST = -2, -1
TOPIC_ALREADY_EXISTS = 36


@group(
    "topics", examples=(("kcli topics list", "all topics"), ("kcli topics describe orders", "one of them"))
)
def topics() -> None:
    """List, describe, create and delete topics."""


@topics.command(
    "list",
    examples=(
        ("kcli topics list --match 'orders*'", "by a shell pattern"),
        ("kcli topics list -o name", "one name a line, for scripts"),
        ("kcli topics list --internal -o wide", "the cluster's own topics too, with their ids"),
    ),
)
@click.option("--match", metavar="GLOB", help="only names that match this shell pattern")
@click.option("--internal", is_flag=True, help="show the cluster's own topics too, as __consumer_offsets")
@pass_invocation
def list_topics(inv: Invocation, match: str | None, internal: bool) -> int:
    """List topics.

    UNDER-REPLICATED counts partitions with fewer replicas in sync than they should have.
    """
    from kcli.commands import _topic_rows as view

    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = [topic for topic in admin.list_topics() if _wanted(topic, match, internal)]
    _tell_partial(inv, found)
    with inv.out.rows("TopicList", "Topic", view.LIST, cluster=cluster, warnings=inv.talk.warnings) as rows:
        for topic in found:
            rows.add(view.list_row(topic))
    return inv.finish(done=True)


@topics.command(
    "describe",
    examples=(
        ("kcli topics describe orders", "partitions, leaders, replicas, offsets"),
        (
            "kcli topics describe orders payments -o json",
            "for scripts: one item a topic, with its configuration",
        ),
    ),
)
@click.argument("names", nargs=-1, required=True, type=TOPIC, metavar="TOPIC…")
@pass_invocation
def describe_topics(inv: Invocation, names: tuple[str, ...]) -> int:
    """Show the partitions, offsets and configuration of topics.

    A line per partition; LOG-START and END are its first offset and the one that the next record gets. The
    configuration is what was set on the topic itself, where it differs from the brokers' defaults.
    """
    from kcli.commands import _topic_rows as view

    names = unique(names)
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = without_errors(inv, admin.describe_topics(names))
        _tell_partial(inv, found.values())
        ends = _ends(admin, found.values(), _warning(inv))
        configs = without_errors(inv, admin.describe_topic_configs(list(found)) if found else {})
    view.print_descriptions(inv, cluster, found, ends, configs)
    return inv.finish(done=bool(found))


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

    query = _query(when)
    names = unique(names)
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        if names:
            found = without_errors(inv, admin.describe_topics(names))
        else:
            found = {topic.name: topic for topic in admin.list_topics() if not topic.internal}
        if query is None:
            ends = _ends(admin, found.values(), lambda _place, error: inv.failed(error))
            rows_to_add = view.end_rows(found, ends)
            done = any(end is not None for _start, end in ends.values())
        else:
            wanted = dict.fromkeys(_places(found.values()), query)
            rows_to_add = view.time_rows(without_errors(inv, admin.list_offsets(wanted)))
            done = bool(rows_to_add)
    columns = view.ENDS if query is None else view.TIMES
    with inv.out.rows(
        "TopicOffsetList", "TopicOffset", columns, cluster=cluster, warnings=inv.talk.warnings
    ) as rows:
        for row in rows_to_add:
            rows.add(row)
    return inv.finish(done=done)


@topics.command(
    "create",
    examples=(
        ("kcli topics create orders --partitions 12", "the broker's default replication factor"),
        ("kcli topics create orders --config retention.ms=3600000 --if-not-exists", "fine when it is there"),
        ("kcli topics create orders --partitions 12 --dry-run", "let the broker check it only"),
    ),
)
@click.argument("names", nargs=-1, required=True, metavar="TOPIC…")
@click.option("--partitions", type=CountType(1), metavar="N", help="how many (the broker's default)")
@click.option(
    "--replication-factor", type=CountType(1, 32767), metavar="N", help="copies (the broker's default)"
)
@click.option(
    "--config", "configs", multiple=True, metavar="K=V", help="configuration of the topic; repeatable"
)
@click.option("--if-not-exists", is_flag=True, help="a topic that is there already is no error")
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

    All TOPICs get the same number of partitions and the same configuration. Exit code 7 where one exists.
    """
    from kcli.core.errors import BrokerError
    from kcli.core.types import TopicSpec

    for name in names:
        check_topic_name(name, "topics create")
    settings = _config_pairs(configs)
    specs = [TopicSpec(name, partitions or -1, replication_factor or -1, settings) for name in unique(names)]
    done = False
    with open_admin(inv) as admin:
        connect(inv, admin)
        for name, error in admin.create_topics(specs, validate_only=inv.dry_run).items():
            if error is None:
                inv.talk.note(f"{'could create' if inv.dry_run else 'created'} topic {name}")
            elif if_not_exists and isinstance(error, BrokerError) and error.code == TOPIC_ALREADY_EXISTS:
                inv.talk.note(f"topic {name} exists already")
            else:
                inv.failed(_with_remedy(error))
                continue
            done = True
    return inv.finish(done=done)


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

    There is no way back, so each name has to be typed, or --yes or --confirm NAME be given. All questions
    come before the first topic is deleted.
    """
    names = unique(names)
    done = False
    with open_admin(inv) as admin:
        connect(inv, admin)
        found = without_errors(inv, admin.describe_topics(names))
        ends = _ends(admin, found.values(), _warning(inv))
        agreed = [name for name, topic in found.items() if _agreed(inv, topic, ends)]
        for name, error in (admin.delete_topics(agreed) if agreed else {}).items():
            if error is None:
                done = True
                inv.talk.note(f"deleted topic {name}")
            else:
                inv.failed(error)
    return inv.finish(done=done)


def _with_remedy(error: KcliError) -> KcliError:
    from kcli.core.errors import BrokerError

    if isinstance(error, BrokerError) and error.code == TOPIC_ALREADY_EXISTS and not error.do:
        error.do = "with --if-not-exists that is fine; `kcli topics describe` shows the topic"
    return error


def _agreed(inv: Invocation, topic: TopicInfo, ends: view.Ends) -> bool:
    from kcli.commands import _topic_rows as view

    return inv.confirm(view.deletion_plan(topic, ends), f"Delete topic {topic.name}?", name=topic.name)


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


def _ends(
    admin: Admin, found: Iterable[TopicInfo], unknown: Callable[[TopicPartition, KcliError], None]
) -> view.Ends:
    """(log start, end) of every partition; what a broker cannot tell is None, and told to ``unknown`` once."""
    from kcli.core.errors import KcliError

    ends: view.Ends = dict.fromkeys(_places(found), (None, None))
    starts = admin.list_offsets(dict.fromkeys(ends, EARLIEST)) if ends else {}
    answering = [place for place, start in starts.items() if not isinstance(start, KcliError)]
    latest = admin.list_offsets(dict.fromkeys(answering, LATEST)) if answering else {}
    for place, start in starts.items():
        end = start if isinstance(start, KcliError) else latest[place]
        ends[place] = (_offset(start), _offset(end))
        if isinstance(end, KcliError):
            unknown(place, end)
    return ends


def _offset(answer: OffsetInfo | KcliError) -> int | None:
    from kcli.core.cluster.offsets import OffsetInfo

    return answer.offset if isinstance(answer, OffsetInfo) else None


def _warning(inv: Invocation) -> Callable[[TopicPartition, KcliError], None]:
    """Offsets are shown along with something else: without them it is not complete, and still worth showing."""
    return lambda place, error: inv.talk.warn(f"offsets of {place} are unknown: {error}")


def _query(when: OffsetSpec | None) -> int | None:
    """What ListOffsets is asked for."""
    if when is None:
        return None
    if when.kind == "timestamp":
        return when.value
    if when.kind in ("earliest", "latest"):
        return EARLIEST if when.kind == "earliest" else LATEST
    from kcli.commands._exit import usage

    raise usage(
        "topics offsets: --time takes earliest, latest or a time",
        why="an offset cannot be looked up by an offset",
        do="write --time @-1h or --time 2026-11-21T10:00Z",
    )


def _config_pairs(configs: Iterable[str]) -> dict[str, str]:
    from kcli.commands._exit import usage

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
