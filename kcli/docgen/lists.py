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


def _screen(name: str, rows: str) -> Listed:
    return _list("top", f"An export of a screen of kcli top: {rows}.", Items(name))


LISTS = {
    made.kind: made
    for made in (
        _list("acls list", "ACLs: who may do what.", Items("Acl")),
        _list("config check", "What is wrong with the options of the clients.", Items("ConfigProblem")),
        _list("cluster describe", "The cluster: the only item.", Items("ClusterDescription")),
        _list("configs describe", "Configuration values of topics, brokers or groups.", Items("ConfigValue")),
        _list("consume -o json", "Records.", Items("Record")),
        _list("groups describe", "Descriptions of groups.", Items("GroupDescription")),
        Listed(
            "GroupLagList",
            "The lag of groups.",
            "groups lag",
            (Items("PartitionLag"), Items("TopicLag"), Items("MemberLag"), Items("GroupLag")),
        ),
        _list("groups list", "The groups of a cluster.", Items("Group")),
        _list(
            "groups rewind --journal", "The rewinds that were made from this machine.", Items("RewindJournal")
        ),
        _list("mirror status", "The mirror jobs of a target.", Items("MirrorJob")),
        _list("profile list", "The profiles of this user.", Items("Profile")),
        _list("quotas list", "Quotas.", Items("Quota")),
        _list(
            "reassign status", "The moves that are in progress, or those of a file.", Items("Reassignment")
        ),
        _list("schema", "The kinds that have a schema.", Items("Schema")),
        _screen("TopBroker", "brokers"),
        _screen("TopConfig", "configuration of a group"),
        _screen("TopEvent", "events"),
        _screen("TopGroup", "groups"),
        _screen("TopMember", "members of a group"),
        _screen("TopPartition", "partitions of a group"),
        _screen("TopTopic", "topics"),
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
        _list("txn describe --topic", "Open transactions of partitions.", Items("PartitionTransaction")),
        _list("txn describe TXN_ID", "A transactional id: the only item.", Items("TransactionDescription")),
        _list("txn list", "Transactions.", Items("Transaction")),
        _list("undo", "The changes made from this machine that can be undone.", Items("UndoJournal")),
        _list("users list", "SCRAM credentials of users.", Items("User")),
    )
}
