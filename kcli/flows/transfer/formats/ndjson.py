"""kcli's own format: one object of the kind OffsetExport per line, with all known fields of a commit. Pure.

Keys: ``kind, api, cluster, at, group, group_type, topic, topic_id, partition, offset, leader_epoch, metadata,
timestamp, drained``. ``at`` is when the commit was read, ``timestamp`` that of the first unread record in ms,
``drained`` means that there was none. Other keys are ignored, so that later versions may add some. A file that does not
have everything begins with an OffsetExportHead, which says what is missing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kcli.core.positions import read_instant
from kcli.flows.transfer.formats import fields
from kcli.flows.transfer.formats.fields import BrokenFileError
from kcli.flows.transfer.saved_offset import SavedOffset
from kcli.output.envelope import API, compact, ending
from kcli.output.tables import time_text
from kcli.serde.json_text import NotJsonError, RepeatedMemberError, parse_json

KIND = "OffsetExport"
HEAD = "OffsetExportHead"
_KEYS = (
    "group", "group_type", "topic", "topic_id", "partition", "offset", "leader_epoch", "metadata", "timestamp", "drained",
)  # fmt: skip


def ndjson_lines(
    offsets: Iterable[SavedOffset], missing: Sequence[Mapping[str, object]] = (), warning: str = ""
) -> str:
    """The lines; see ``gaps.comments``."""
    head = {"kind": HEAD, "api": API, **ending([warning] * bool(warning), missing)}
    lines = [compact(_item(saved)) for saved in offsets]
    return "".join(f"{line}\n" for line in ([compact(head)] if missing or warning else []) + lines)


def read_ndjson(text: str) -> list[SavedOffset]:
    """The offsets; BrokenFileError names the invalid line."""
    lines = enumerate(text.split("\n"), 1)
    return [saved for number, line in lines if line.strip() and (saved := _saved(f"line {number}", line))]


def _item(saved: SavedOffset) -> dict[str, Any]:
    at = time_text(saved.at_ms) if saved.at_ms is not None else None
    head = {"kind": KIND, "api": API, "cluster": saved.cluster, "at": at}
    return head | {key: getattr(saved, key) for key in _KEYS}


def _saved(location: str, line: str) -> SavedOffset | None:
    """None for a head."""
    try:
        item = parse_json(line)
    except RepeatedMemberError as error:
        raise BrokenFileError(location, error.reason) from None
    except NotJsonError as error:
        raise BrokenFileError(location, f"it is not JSON: {error.reason}") from None
    if isinstance(item, dict) and item.get("kind") == HEAD:
        return None
    if not isinstance(item, dict) or item.get("kind") != KIND:
        raise BrokenFileError(location, f"it is not an object of the kind {KIND}")
    return fields.saved_offset(
        location,
        item.get("topic"),
        item.get("partition"),
        item.get("offset"),
        group=fields.group(location, item["group"]) if item.get("group") is not None else None,
        leader_epoch=_optional(location, item, "leader_epoch", int),
        metadata=_optional(location, item, "metadata", str),
        cluster=_optional(location, item, "cluster", str),
        topic_id=_optional(location, item, "topic_id", str),
        timestamp=fields.timestamp(location, item["timestamp"])
        if item.get("timestamp") is not None
        else None,
        drained=_optional(location, item, "drained", bool),
        at_ms=_instant(location, _optional(location, item, "at", str)),
        group_type=_optional(location, item, "group_type", str),
    )


def _optional(location: str, item: dict[str, Any], key: str, kind: type) -> Any:
    value = item.get(key)
    if value is None or type(value) is kind:
        return value
    raise BrokenFileError(location, f"its {key} is {value!r}")


def _instant(location: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        instant, note = read_instant(text, 0)
    except ValueError as error:
        raise BrokenFileError(location, str(error)) from None
    if note and not instant:  # before 1970, which it is taken for elsewhere
        raise BrokenFileError(
            location, f"{text!r} is no time of a record: timestamps begin at 1970-01-01T00:00Z"
        )
    return fields.timestamp(location, instant)
