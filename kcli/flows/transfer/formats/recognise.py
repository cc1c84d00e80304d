"""From the bytes of a file to its offsets, whichever tool wrote it: the format is detected from the content. Pure.

A list is kcl's, an object with ``groupid`` kafka-utils', objects with a kind are kcli's own; lines with a ZooKeeper path
are of Kafka's old tools, lines with a comma Kafka's csv, other lines rpk's. Comments before the first line say what is
not there of all that was asked for; a file that has everything is as other tools write it.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from kcli.core.errors import ConfigError
from kcli.flows.transfer.formats.fields import BrokenFileError
from kcli.flows.transfer.formats.kafka_csv import read_csv
from kcli.flows.transfer.formats.ndjson import KIND, read_ndjson
from kcli.flows.transfer.formats.other_tools import read_kafka_utils, read_kcl, read_rpk
from kcli.flows.transfer.formats.zookeeper_text import is_zookeeper_line, read_zookeeper
from kcli.flows.transfer.saved_offset import SavedOffset
from kcli.output.sanitise import visible_line
from kcli.serde import json_text

_BEGIN = "# not complete: "


def comments(missing: Sequence[Mapping[str, object]], warning: str) -> str:
    """A line for each part that is missing, and one for a warning that there may be more; empty without both."""
    texts = [": ".join(dict.fromkeys((str(part["what"]), str(part["why"])))) for part in missing]
    texts += [warning] * bool(warning)
    return "".join(f"{_BEGIN}{visible_line(text)}\n" for text in texts)


def without_comments(text: str) -> str:
    """The text with empty lines in place of the comments, so that the others keep their numbers."""
    lines = text.split("\n")
    count = next((at for at, line in enumerate(lines) if not line.startswith(_BEGIN)), 0)
    return "\n".join([*[""] * count, *lines[count:]])


_FORMS = (
    "kcli's ndjson, Kafka's csv and ZooKeeper lines, and the files of kcl, rpk and kafka-utils can be read"
)


class NotJsonError(BrokenFileError):
    """The file begins like JSON but is not."""


def parse_offsets(data: bytes, name: str) -> list[SavedOffset]:
    """The offsets of a file. ConfigError names the line or entry: also for a duplicate partition or an empty file."""
    try:
        offsets = _read(without_comments(_text(data)))
        _check_duplicates(offsets)
    except BrokenFileError as error:
        raise ConfigError(
            f"{name} cannot be read: {error.location}", why=error.reason, do=f"correct it; {_FORMS}"
        ) from None
    if not offsets:
        raise ConfigError(f"{name} has no offsets", why="the file is empty", do=_FORMS)
    return offsets


def _read(text: str) -> list[SavedOffset]:
    try:
        return _read_recognised(text)
    except NotJsonError:
        with suppress(BrokenFileError):  # a group may be named "[", so that Kafka's csv begins with it
            return read_csv(text)
        raise


def _read_recognised(text: str) -> list[SavedOffset]:
    start = text.lstrip()[:1]
    if start == "[":
        return read_kcl(_document(text))
    if start == "{":
        if _is_ndjson(text):
            return read_ndjson(text)
        document = _document(text)
        if "groupid" not in document:
            raise BrokenFileError("line 1", f"it is not an object of the kind {KIND}, and has no groupid")
        return read_kafka_utils(document)
    first = next((line for line in text.split("\n") if line.strip()), "")
    if is_zookeeper_line(first.strip()):
        return read_zookeeper(text)
    return read_csv(text) if "," in first else read_rpk(text)


def _text(data: bytes) -> str:
    try:
        return data.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BrokenFileError(f"line {line}", "it is not UTF-8") from None


def _is_ndjson(text: str) -> bool:
    """Whether the first line is an object with a kind; a document of several lines is not."""
    first = text.lstrip().split("\n", 1)[0]
    try:
        return "kind" in json_text.parse_json(first)
    except json_text.RepeatedMemberError:
        return text.strip() != first  # a document of one line is read as a whole
    except json_text.NotJsonError:
        return False


def _document(text: str) -> Any:
    try:
        return json_text.parse_json(text)
    except json_text.RepeatedMemberError as error:
        raise BrokenFileError(f"line {error.line_in(text)}", error.reason) from None
    except json_text.NotJsonError as error:
        raise NotJsonError(f"line {error.line_in(text)}", f"it is not JSON: {error.reason}") from None


def _check_duplicates(offsets: list[SavedOffset]) -> None:
    seen: dict[tuple[str | None, str, int | None, int], str] = {}
    for saved in offsets:
        key = (saved.group, saved.topic, saved.broker, saved.partition)
        if key in seen:
            whose = f" of group {saved.group}" if saved.group is not None else ""
            raise BrokenFileError(saved.location, f"{saved.tp}{whose} occurs twice: see {seen[key]}")
        seen[key] = saved.location
