"""``kcli undo``: list the changes that can be undone, and make again what one of them destroyed."""

from collections.abc import Collection, Mapping
from typing import Any

import click

from kcli.commands.shared.changing import change_with, run_change
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.move_watch import wait_for_directories, wait_for_moves
from kcli.commands.shared.registry_client import open_registry, registry_address
from kcli.commands.shared.row_output import print_rows
from kcli.core.admin.admin import Admin
from kcli.core.types import TopicPartition
from kcli.flows.journal import REGISTRY_ENTRIES, Journal, LogDirEntry, find, listed
from kcli.flows.reassign.change import Moving
from kcli.flows.undo import registry_restore_of, restore_of
from kcli.output.tables import Column
from kcli.profiles.resolve import NoBrokerError

JOURNALS = (
    Column("id", "id", values="string", meaning="Id that undo takes."),
    Column("at", "time", spare=1, values="time", meaning="When it was made."),
    Column("command", values="string", meaning="The command that made it, without kcli."),
    Column("what", "prose", values="string", meaning="What was deleted, in words."),
)
ENTRIES = (
    Column(
        "entries",
        values="objects",
        inner=(
            Column(
                "what",
                values=(
                    "offset",
                    "share_offset",
                    "topic",
                    "created_topic",
                    "partitions",
                    "rewind",
                    "acl",
                    "created_acl",
                    "quota",
                    "user",
                    "created_user",
                    "retention",
                    "config",
                    "secret_config",
                    "replicas",
                    "log_dir",
                    "controller",
                    "feature",
                    "schema",
                    "created_schema",
                    "registry_setting",
                ),
                meaning="A committed offset, a start offset of a share group, a topic without its records, a topic that "
                "was created, the number of partitions of a topic, offsets of a group that were set, an ACL that was "
                "deleted or created, a quota, a SCRAM credential without its secrets, one that was made, "
                "retention.ms of a topic, a configuration key, one that is a secret, the replicas of a partition, the "
                "log directory of a replica, a voter of the quorum, the level of a feature, a version of a subject "
                "that was deleted or registered, a compatibility or mode of a schema registry.",
            ),
            Column("user", values="string", meaning="Of a credential: the user.", sometimes=True),
            Column("mechanism", values="string", meaning="Of a credential: its mechanism.", sometimes=True),
            Column(
                "iterations", values="integer?", meaning="Of a credential: its iterations.", sometimes=True
            ),
            Column("acl", values="string", meaning="The ACL in words.", sometimes=True),
            Column("entity", values="string", meaning="Whose quota it is.", sometimes=True),
            Column("key", values="string", meaning="Of a quota or a configuration: its key.", sometimes=True),
            Column("resource", values="string", meaning="What the key configures.", sometimes=True),
            Column(
                "before",
                values="string?",
                meaning="Of a configuration key: the value before; null where it was not set.",
                sometimes=True,
            ),
            Column(
                "after",
                values="string?",
                meaning="Of a configuration key: the value after; null where it was unset.",
                sometimes=True,
            ),
            Column(
                "old",
                values="number?",
                meaning="Of a quota, retention.ms, a feature, or a number of partitions: the value before; null "
                "where there was none.",
                sometimes=True,
            ),
            Column(
                "new",
                values="number?",
                meaning="Of a quota, retention.ms, a feature, or a number of partitions: the value after; null "
                "where it was removed.",
                sometimes=True,
            ),
            Column("feature", values="string", meaning="Of a level: the feature.", sometimes=True),
            Column("node", values="integer", meaning="Of a voter: its node id.", sometimes=True),
            Column(
                "directory_id",
                values="string",
                meaning="Of a voter: where its metadata log is.",
                sometimes=True,
            ),
            Column(
                "added", values="boolean", meaning="Of a voter: it was added, else removed.", sometimes=True
            ),
            Column(
                "subject",
                values="string?",
                meaning="Of a schema registry: the subject; null for all subjects.",
                sometimes=True,
            ),
            Column(
                "version",
                values="integer?",
                meaning="Its version; null where the registry chose it.",
                sometimes=True,
            ),
            Column(
                "id", values="integer?", meaning="Its id; null where the registry chose it.", sometimes=True
            ),
            Column("schema", values="string", meaning="The text of the schema.", sometimes=True),
            Column("permanent", values="boolean", meaning="Whether it was deleted for good.", sometimes=True),
            Column(
                "rewind",
                values="string",
                meaning="Of offsets that were set: the id of their own journal, see kcli groups rewind --journal.",
                sometimes=True,
            ),
            Column("group", sometimes=True),
            Column("topic", sometimes=True),
            Column("topic_id", meaning="Id of the topic; null where it is unknown.", sometimes=True),
            Column("partition", sometimes=True),
            Column("committed", sometimes=True),
            Column("leader_epoch", sometimes=True),
            Column("metadata", values="string", meaning="Metadata of the commit.", sometimes=True),
            Column(
                "replicas",
                values="integers",
                meaning="Of a partition whose replicas were moved: those before.",
                sometimes=True,
            ),
            Column("new_replicas", values="integers", meaning="Those that it was to have.", sometimes=True),
            Column("broker", values="integer", meaning="Of a log directory: the broker.", sometimes=True),
            Column("log_dir", values="string", meaning="The directory before.", sometimes=True),
            Column("new_log_dir", values="string", meaning="The one that it was to have.", sometimes=True),
            Column(
                "partitions",
                values="integer",
                meaning="Of a topic: how many partitions it had.",
                sometimes=True,
            ),
            Column(
                "replication_factor",
                values="integer",
                meaning="Of a topic: replicas of a partition.",
                sometimes=True,
            ),
            Column(
                "configs",
                values="object?",
                meaning="Of a topic: what was set on it; null where it could not be read.",
                sometimes=True,
            ),
        ),
        meaning="What was deleted.",
    ),
)


def _changes(flags: Mapping[str, Any]) -> bool:
    """Not where it lists."""
    return flags["journal_id"] is not None


@command(
    "undo",
    changes=_changes,
    exits={
        1: "there is no such journal, or a topic does not exist any more",
        7: "the group has members, or has committed offsets since, or the topic exists",
    },
    reads=("XDG_STATE_HOME",),
    examples=(
        ("kcli undo", "list what can be undone"),
        ("kcli undo -X schema.registry.url=http://registry:8081", "of a schema registry, too"),
        ("kcli undo 20261121-091403-3fa9c1 --dry-run", "show what would be made again"),
        ("kcli undo 20261121-091403-3fa9c1", "make it again"),
    ),
)
@click.argument("journal_id", required=False, metavar="[ID]")
@pass_invocation
def undo(inv: Invocation, journal_id: str | None) -> int:
    """Undo a change that deleted or moved something, or created ACLs.

    What deletes groups, committed offsets, topics, ACLs and users, or replaces quotas, levels of loggers and client
    metrics, keeps what was there in a journal on this machine, and what creates ACLs keeps which; ID is in its last line.
    Without ID the changes of the cluster are listed, and those of a schema registry that is named; of that alone if no
    cluster is.

    What drains brokers, moves replicas between log directories, adds voters to the quorum or removes them, or changes
    levels of features keeps a journal, too. Only what is gone is made again: an offset that was committed since, or a
    quota or key that was changed since, stays as it is, exit code 7. A topic comes back with its partitions and
    configuration, but without its records. Of users the list has the names only: brokers return no passwords. Rewinds
    are undone with `kcli groups rewind GROUP --undo`.
    """
    if journal_id is None:
        return _list(inv)
    journal = find(journal_id)
    first = journal.entries[0]
    if isinstance(first, REGISTRY_ENTRIES):
        with open_registry(inv, known=journal.cluster) as registry:
            return change_with(inv, registry, registry.address, registry_restore_of(journal, registry))

    def wait(admin: Admin, moving: Collection[TopicPartition]) -> int:
        if isinstance(first, LogDirEntry):
            return wait_for_directories(inv, admin, first.broker, moving)
        return wait_for_moves(inv, admin, moving)

    return run_change(
        inv, restore_of(journal, Moving(inv.talk, wait=wait), inv.cluster_name, dry=inv.dry_run)
    )


def _list(inv: Invocation) -> int:
    inv.page()
    places = _places(inv)
    found: list[Journal] = []
    for place in places:
        good, broken = listed(place)
        found += good
        for path in broken:
            inv.talk.warn(f"{path} is not a journal of {place}")
    found.sort(key=lambda one: (one.at, one.id))
    rows = [
        {
            "id": journal.id,
            "at": journal.at,
            "command": journal.command,
            "what": journal.what,
            "entries": [entry.row for entry in journal.entries],
        }
        for journal in found
    ]
    print_rows(inv, "UndoJournalList", JOURNALS, rows, places[0], item="UndoJournal")
    if not rows:
        which = "cluster" if len(places) == 1 and inv.cluster_id else "schema registry"
        which = "cluster or schema registry" if len(places) > 1 else which
        inv.talk.note(f"no change of this {which} that can be undone was made from this machine")
    return inv.finish(done=True)


def _places(inv: Invocation) -> list[str]:
    """The cluster and the schema registry that are named; a registry alone will do."""
    try:
        with open_admin(inv, with_registry=True) as admin:
            cluster = [connect(inv, admin)]
    except NoBrokerError:
        inv.read_profile()
        if registry_address(inv) is None:
            raise
        cluster = []
    registry = registry_address(inv)
    return cluster if registry is None else [*cluster, registry]
