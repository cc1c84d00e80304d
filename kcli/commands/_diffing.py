"""What ``kcli diff`` does: reads files, compares, shows what differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kcli.account.survey import Missing, Survey
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.profile_clusters import DocumentCluster, document_clusters
from kcli.commands.shared.resource_kinds import KINDS
from kcli.commands.shared.row_output import print_rows
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.flows.permitted import hidden
from kcli.flows.resources.comparison import PRUNED, Compared, as_copied, chosen, compare
from kcli.flows.resources.resource import Kind, Resource
from kcli.flows.resources.unified import unified_lines
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column

COLUMNS = (
    Column("resource_kind", values=KINDS, meaning="The kind of the document."),
    Column(
        "name", values="string", meaning="Its name; of an ACL the whole of it, of a quota what it is for."
    ),
    Column(
        "profile", values="string?", meaning="The profile that the document names; null where it names none."
    ),
    Column("cluster", values="string?", meaning="Id of the cluster."),
    Column("file", values="string?", meaning="The file that has it; null where none has."),
    Column("line", "number", values="count?", meaning="Its line there."),
    Column(
        "status",
        values=("equal", "differs", "not_on_cluster", "in_no_file"),
        meaning="in_no_file: with --prune, what the cluster has beside what files describe.",
    ),
    Column(
        "differences",
        values="objects",
        inner=(
            Column("path", values="strings", meaning="The keys below spec that lead to the value."),
            Column("now", values="any", meaning="What the cluster has; null where nothing is set."),
            Column("wanted", values="any", meaning="What the file has; null where nothing is to be set."),
        ),
        meaning="What differs; secrets are (hidden).",
    ),
)

_EQUAL, _DIFFERS, _ABSENT, _SURPLUS = "equal", "differs", "not_on_cluster", "in_no_file"
_COLOURS = {"---": "\x1b[1m", "+++": "\x1b[1m", "@@ ": "\x1b[36m", "-": "\x1b[31m", "+": "\x1b[32m"}
_RESET = "\x1b[0m"


class Wish(NamedTuple):
    """The options: of ``kinds`` (none: all) and with names that ``match`` selects."""

    kinds: tuple[str, ...]
    match: str | None
    prune: bool
    exact: bool


class _Answer(NamedTuple):
    """What was compared with a cluster, whose id is empty where it could not be reached. ``unread``: how many of the
    documents could not be compared.
    """

    profile: str | None
    cluster: str
    rows: Sequence[Compared]
    unread: int


def compare_files(inv: Invocation, resources: Sequence[Resource], wish: Wish) -> int:
    """Returns the exit status."""
    inv.page()
    wanted = chosen(resources, [Kind(kind) for kind in wish.kinds], wish.match)
    if not wanted and not wish.prune:
        inv.talk.note("no document is selected" if resources else "the files have no documents")
    clusters = document_clusters(inv, wanted, changes=False)
    if not clusters and wish.prune:
        clusters = document_clusters(inv, resources, changes=False)
    answers = [_compared(inv, one, wish, alone=len(clusters) == 1) for one in clusters]
    if inv.out.kind is not None:
        rows = (_row(one, compared) for one in answers for compared in one.rows)
        ids = {one.cluster for one in answers}
        cluster = ids.pop() if len(ids) == 1 else None
        print_rows(inv, "ClusterDiff", COLUMNS, rows, cluster or None, item="ResourceDifference")
    else:
        for line in _text(inv, answers):
            inv.out.text(f"{line}\n")
        inv.out.flush()
    found = [compared for one in answers for compared in one.rows]
    unread = sum(one.unread for one in answers)
    inv.talk.note(_summary(found, unread, further=wish.prune and bool(inv.missing)))
    differs = any(not compared.is_equal for compared in found)
    return inv.finish(done=bool(found) or not inv.missing, also=[ExitCode.CHECK] if differs else [])


def _compared(inv: Invocation, of: DocumentCluster, wish: Wish, *, alone: bool) -> _Answer:
    cluster = ""
    kinds = [Kind(kind) for kind in wish.kinds] or list({one.ref.kind: 0 for one in of.resources})
    wanted = chosen(of.resources, kinds, wish.match)
    try:
        with of.open(inv) as admin:
            with inv.first_contact(of.servers):
                cluster = admin.cluster_id()
            pruned = [kind for kind in kinds if kind in PRUNED] if wish.prune else []
            found = compare(admin, wanted, exact=wish.exact, prune=pruned, match=wish.match)
            found = as_copied(admin, found)
            for part in found.missing:
                inv.lacks(part)
            if Kind.TOPIC in pruned:
                for text in hidden(admin, "topics"):
                    inv.talk.warn(text)
    except KcliError as error:
        if alone:
            raise
        inv.lacks(Missing.of(error, f"the cluster of profile {of.profile or '(none)'}"))
        found = Survey([])
    compared = sum(one.wanted is not None for one in found.items)
    return _Answer(of.profile, cluster, found.items, len(wanted) - compared)


def _row(answer: _Answer, compared: Compared) -> dict[str, Any]:
    wanted = compared.wanted
    return {
        "resource_kind": str(compared.ref.kind),
        "name": compared.ref.name,
        "profile": answer.profile,
        "cluster": answer.cluster or None,
        "file": wanted.place.file if wanted is not None else None,
        "line": wanted.place.line if wanted is not None else None,
        "status": _status(compared),
        "differences": [one._asdict() | {"path": list(one.path)} for one in compared.differences],
    }


def _status(compared: Compared) -> str:
    if compared.is_equal:
        return _EQUAL
    if compared.now is None:
        return _ABSENT
    return _SURPLUS if compared.wanted is None else _DIFFERS


def _text(inv: Invocation, answers: Sequence[_Answer]) -> Iterator[str]:
    for answer in answers:
        differing = [compared for compared in answer.rows if not compared.is_equal]
        if len(answers) > 1 and differing:
            yield f"profile {answer.profile}" if answer.profile is not None else "the cluster of this command"
        for compared in differing:
            for line in unified_lines(compared):
                shown = visible_line(line) if inv.out.isatty else line
                yield _coloured(shown) if inv.out.colour else shown


def _coloured(line: str) -> str:
    start = next((code for begin, code in _COLOURS.items() if line.startswith(begin)), "")
    return f"{start}{line}{_RESET}" if start else line


def _summary(found: Iterable[Compared], unread: int, *, further: bool) -> str:
    """``3 resources: 1 differs, 1 equal, 1 could not be read``. ``further``: there may be more in no file."""
    count = dict.fromkeys((_EQUAL, _DIFFERS, _ABSENT, _SURPLUS), 0)
    for compared in found:
        count[_status(compared)] += 1
    total = sum(count.values()) + unread
    if count[_EQUAL] == total and not further:
        return f"{counted(total, 'resource')}: all as the files say"
    words = {
        _DIFFERS: "differs" if count[_DIFFERS] == 1 else "differ",
        _ABSENT: "not on the cluster",
        _SURPLUS: "in no file",
        _EQUAL: "equal",
    }
    parts = [f"{count[status]:,} {word}" for status, word in words.items() if count[status]]
    if unread:
        parts.append(f"{unread:,} could not be read")
    if further:
        parts.append("what is in no file could not all be read")
    return f"{counted(total, 'resource')}: {', '.join(parts)}"
