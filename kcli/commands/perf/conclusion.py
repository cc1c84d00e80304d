"""The end of a test: its result on stdout, the summary, limits and failures on stderr, the exit status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.commands.perf.result import print_result, said
from kcli.commands.shared.context import Invocation
from kcli.core.errors import KcliError, PartlyFailedError
from kcli.core.exit_codes import ExitCode
from kcli.files.atomic import FileError, replace_file
from kcli.flows.perf.html import perf_page
from kcli.flows.perf.limits import Limit, LimitError, exceeded
from kcli.flows.stop import Stop
from kcli.output.progress import counted


class RecordsDifferError(KcliError):
    """Records were lost, repeated, or came in another order."""

    exit_code = ExitCode.DATA


class FailedRecordsError(KcliError):
    """Some records were not confirmed."""


def conclude(
    inv: Invocation,
    item: Mapping[str, Any],
    *,
    fail_if: Sequence[Limit],
    html: str | None,
    cluster: str | None,
    stop: Stop,
    first: KcliError | None = None,
) -> int:
    """Prints the item of ``result.perf_item`` and returns the exit status. ``html``: also a page, with this path.

    ``first`` is the error of the first record that failed; its exit status counts if no record was confirmed.
    """
    if html is not None:  # first: stdout may be full, or closed, and the test is not to be repeated for that
        _write_page(inv, html, perf_page(item, fail_if, cluster))
    print_result(inv, item, cluster)
    for line in said(inv, item):
        inv.talk.note(line)
    if stop:
        inv.talk.note("stopped before its end; these are the figures until then")
    for error in (*_failures(item, first), *_differences(item)):
        inv.failed(error)
    for text in exceeded(fail_if, item):
        inv.failed(LimitError(f"{item['test']} {item['topic']}", text))
    return inv.finish(done=item["records"] > 0, also=[stop.exit_code])


def _write_page(inv: Invocation, path: str, page: str) -> None:
    try:
        replace_file(path, page.encode("utf-8", "backslashreplace"), mode=0o666)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        inv.failed(FileError(f"cannot write {path}", why=why, do="make room, or name another file"))
    else:
        inv.talk.note(f"wrote {path}")


def _failures(item: Mapping[str, Any], first: KcliError | None) -> list[KcliError]:
    found: list[KcliError] = []
    topic, errors, unconfirmed = item["topic"], item["errors"], item["unconfirmed"]
    if errors:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in item["errors_by_kind"].items())
        what = f"{errors:,} of {errors + item['records']:,} records of {topic} failed: {kinds}"
        found.append(_failed(what) if first is None else PartlyFailedError(what, first))
    elif first is not None:
        found.append(first)
    if unconfirmed:
        found.append(
            FailedRecordsError(
                f"{counted(unconfirmed, 'record')} of {topic} may or may not be stored",
                why="there was neither a confirmation nor a refusal when the test ended",
                do="check the brokers; --verify reads back what is stored",
            )
        )
    return found


def _failed(what: str) -> FailedRecordsError:
    why = "brokers refused them, or did not confirm them in time"
    return FailedRecordsError(what, why=why, do="check the logs of the brokers")


def _differences(item: Mapping[str, Any]) -> list[KcliError]:
    found = [f"{item[name]:,} {name}" for name in ("lost", "duplicated", "reordered") if item[name]]
    if not found:
        return []
    expected = item["checked"] - item["duplicated"] + item["lost"]
    others = "other writers do not matter, since records of other runs are left out"
    if item["test"] == "consume" and item["lost"]:
        others = "records that failed in the test which sent them, as it has reported, are missing too"
    return [
        RecordsDifferError(
            f"{', '.join(found)} of {counted(expected, 'record')} of {item['topic']}",
            why="the sequence numbers in their values are not those that were sent",
            do=f"check acks, enable.idempotence, retention and unclean leader elections; {others}",
        )
    ]
