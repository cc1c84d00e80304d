"""The kinds of lists, and what their items have: a new list needs a row here.

Columns are named by module (below ``kcli``) and name; they are imported when they are needed.
"""

from typing import NamedTuple


class Items(NamedTuple):
    """Items of a list. ``columns``: ``MODULE:NAME``, or several names with ``+``; empty where the schema is a file.
    ``printed_by``: commands, where they are not those of the list.
    """

    kind: str
    meaning: str = ""
    columns: str = ""
    printed_by: str = ""


class Listed(NamedTuple):
    """A list of such items. ``printed_by``: commands, with commas between them. ``head``: columns that are keys of the
    document itself.
    """

    kind: str
    meaning: str
    printed_by: str
    items: tuple[Items, ...]
    head: str = ""


def _list(printed_by: str, meaning: str, item: Items, *, kind: str = "", head: str = "") -> Listed:
    return Listed(kind or f"{item.kind}List", meaning, printed_by, (item,), head)


def _screen(name: str, rows: str, module: str) -> Listed:
    items = Items(name, f"A row of a screen of kcli top: {rows}.", f"tui.{module}:FIELDS")
    return _list("top", f"An export of a screen of kcli top: {rows}.", items)


LISTS = {
    made.kind: made
    for made in (
        _list(
            "groups describe",
            "Descriptions of groups.",
            Items(
                "GroupDescription",
                "A group with its members and its partitions.",
                "commands.groups._description_rows:STATES+PARTS",
            ),
        ),
        Listed(
            "GroupLagList",
            "The lag of groups.",
            "groups lag",
            (
                Items(
                    "PartitionLag",
                    "The lag of a group in a partition.",
                    "commands.groups._lag_rows:BY_PARTITION+WATCHED",
                    "groups lag GROUP, groups lag --by partition",
                ),
                Items(
                    "TopicLag",
                    "The lag of a group in a topic.",
                    "commands.groups._lag_rows:BY_TOPIC+WATCHED",
                    "groups lag --by topic",
                ),
                Items(
                    "MemberLag",
                    "The lag of a member of a group.",
                    "commands.groups._lag_rows:BY_MEMBER+WATCHED",
                    "groups lag --by member",
                ),
                Items(
                    "GroupLag",
                    "The lag of a group: the sum of its partitions in records, the worst of them in time.",
                    "commands.groups._lag_rows:BY_GROUP+TREND+WATCHED",
                    "groups lag, groups lag --by group",
                ),
            ),
        ),
        _list(
            "groups list",
            "The groups of a cluster.",
            Items("Group", "A group.", "commands.groups._list_run:COLUMNS+LAG"),
        ),
        _screen("TopBroker", "brokers", "broker_columns"),
        _screen("TopConfig", "configuration of a group", "config_columns"),
        _screen("TopEvent", "events", "event_columns"),
        _screen("TopGroup", "groups", "group_columns"),
        _screen("TopMember", "members of a group", "member_columns"),
        _screen("TopPartition", "partitions of a group", "partition_columns"),
        _screen("TopTopic", "topics", "topic_columns"),
        _list(
            "topics describe",
            "Descriptions of topics.",
            Items("TopicDescription", "A topic with its partitions.", "commands.topics._rows:DESCRIPTION"),
        ),
        _list("topics list", "Topics.", Items("Topic", "A topic.", "commands.topics._rows:LIST+SIZES")),
        _list(
            "topics offsets",
            "Offsets of topics: their ends, or with --time those of a time.",
            Items("TopicOffset", "A partition.", "commands.topics._rows:ENDS+TIMES"),
        ),
    )
}
