"""What ``kcli groups import`` does: commits the offsets of a file, with the plan and the undo of a rewind."""

from collections.abc import Mapping, Sequence
from functools import partial
from shlex import join

from kcli.commands.groups._executing import confirm_and_execute
from kcli.commands.groups._options import selected, single_partitions
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.context import Invocation, stdin_is_terminal
from kcli.commands.shared.params import TopicPartitions
from kcli.core.clock import wall_ms
from kcli.core.errors import ConfigError
from kcli.flows.rewind.outcomes import rewind_command
from kcli.flows.rewind.spans import time_spans
from kcli.flows.transfer.file import STDIN, file_name, read_file
from kcli.flows.transfer.importing import ImportRequest, import_targets
from kcli.flows.transfer.saved_offset import SavedOffset
from kcli.flows.transfer.stopping import advise_stopping
from kcli.flows.transfer.survey import survey_import


def run(
    inv: Invocation,
    topics: Mapping[str, str],
    zookeeper: str | None,
    *,
    path: str,
    group: str | None,
    scopes: Sequence[TopicPartitions],
    by_time: bool,
    clamp: bool,
    force: bool,
) -> int:
    """The exit status. ``topics`` maps names in the file to names here."""
    request = ImportRequest(group, topics, selected(scopes), by_time, clamp, force)
    if path == STDIN and stdin_is_terminal():
        inv.talk.note("reading offsets from the terminal; end with Ctrl-D …")
    offsets, name = read_file(path, of_brokers=zookeeper is not None), file_name(path)
    for part in single_partitions(scopes):
        if not any(saved.tp in part for saved in offsets):
            raise ConfigError(
                f"{name} has no offset of {part}", why="--topic names it", do="correct --topic, see the file"
            )
    targets = import_targets(offsets, request)
    words = f"the {'times' if by_time else 'offsets'} in {name}"
    if zookeeper is not None:
        from kcli.commands.groups._zookeeper_run import import_into_zookeeper  # needs an extra

        return import_into_zookeeper(inv, zookeeper, targets, words, force=force)
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        plan, failures = survey_import(
            admin, cluster, targets, request, words, wall_ms(), partial(time_spans, admin)
        )
        not_live = path == STDIN or bool(scopes) or admin.lacks("hold_group") is not None
        plan = advise_stopping(
            plan, lambda one: "" if not_live else _live_command(offsets, path, one, request)
        )
        return confirm_and_execute(inv, admin, plan, failures, kind="OffsetImportReport")


def _live_command(offsets: Sequence[SavedOffset], path: str, group: str, request: ImportRequest) -> str:
    """The rewind that does the same to a group with members; empty where there is none."""
    renamed = request.group is not None and any(saved.group not in (None, group) for saved in offsets)
    if renamed or request.topics or request.by_time or request.clamp or request.force:
        return ""
    return rewind_command(group, join(["--from-file", path, "--live"]))
