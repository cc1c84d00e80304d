"""Names as ``kcli registry`` takes them: ``SUBJECT``, ``SUBJECT:VERSION``, contexts, references, types. Pure.

A context is a part of a subject's name, ``:.CONTEXT:SUBJECT``; a name without one is of the default context.
"""

from __future__ import annotations

from collections.abc import Mapping

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.serde.registry.client import Reference, Schema

LATEST = "latest"
COMPATIBILITY, MODE = 0, -1
"""What stands for the version in the key of a setting of a subject."""
TYPES: Mapping[str, str] = {"avro": "AVRO", "protobuf": "PROTOBUF", "json": "JSON"}
"""The registry's word for each value of ``--type``."""
_BY_SUFFIX = {".avsc": "AVRO", ".avro": "AVRO", ".proto": "PROTOBUF", ".json": "JSON"}


class VersionKey(NamedTuple):
    """A version of a subject, or its ``COMPATIBILITY`` or ``MODE``."""

    subject: str
    version: int

    def __str__(self) -> str:
        if self.version > 0:
            return f"{self.subject} version {self.version}"
        return f"{'mode' if self.version == MODE else 'compatibility'} of {self.subject}"


class Named(NamedTuple):
    """A subject, and the version that was named with it; None without one, −1 for the latest."""

    subject: str
    version: int | None

    def __str__(self) -> str:
        if self.version is None:
            return self.subject
        return f"{self.subject}:{LATEST if self.version < 0 else self.version}"


def parse_named(text: str, context: str | None) -> Named:
    """``orders-value:2``; a colon belongs to the name where no version follows it. ConfigError for an empty name."""
    name, colon, last = text.rpartition(":")
    is_version = (last.isascii() and last.isdigit()) or last == LATEST
    if not colon or not is_version or (name.startswith(":.") and ":" not in name[1:]):
        return Named(qualified(text, context), None)
    return Named(qualified(name, context), -1 if last == LATEST else int(last))


def qualified(subject: str, context: str | None) -> str:
    """The name in the context of ``--context``; ConfigError for an empty name, and for one of another context."""
    if not subject:
        raise ConfigError(
            "the name of the subject is empty",
            why="perhaps a variable is not set",
            do="`kcli registry list` lists the subjects",
        )
    if context is None:
        return subject
    start = prefix_of(context)
    if subject.startswith(":.") and not subject.startswith(start):
        raise ConfigError(
            f"subject {subject} is not of context {context}",
            why="its name has a context, and --context is another one",
            do="leave one of them out",
        )
    return subject if subject.startswith(start) else f"{start}{subject}"


def prefix_of(context: str) -> str:
    """What names of subjects of a context begin with; empty for the default context, ``.``."""
    name = context.strip(":").removeprefix(".")
    return f":.{name}:" if name else ""


def is_of(subject: str, context: str | None) -> bool:
    """Whether a subject is of the context of ``--context``; of any without it."""
    if context is None:
        return True
    start = prefix_of(context)
    return subject.startswith(start) if start else not subject.startswith(":.")


def moved(subject: str, context: str | None) -> str:
    """The name in another context."""
    if context is None:
        return subject
    plain = subject[2:].partition(":")[2] if subject.startswith(":.") else subject
    return f"{prefix_of(context)}{plain}"


def type_word(schema: Schema) -> str:
    """``avro``, ``protobuf`` or ``json``; another type of a registry in small letters."""
    return schema.kind.lower()


def type_of_file(path: str, given: str | None) -> str:
    """The registry's word for ``--type``, else for the name of the file; ConfigError where neither tells."""
    if given is not None:
        return TYPES[given]
    for suffix, kind in _BY_SUFFIX.items():
        if path.endswith(suffix):
            return kind
    raise ConfigError(
        f"the type of the schema in {'stdin' if path == '-' else path} is not known",
        why="the name of the file tells by .avsc, .proto or .json",
        do=f"give --type {', '.join(TYPES)}",
    )


def parse_reference(text: str) -> tuple[str, Named]:
    """``NAME=SUBJECT:VERSION``; ValueError."""
    name, sign, target = text.partition("=")
    named = parse_named(target, None) if target else None
    if not name or not sign or named is None or named.version is None:
        raise ValueError(f"{text!r} is not NAME=SUBJECT:VERSION")
    return name, named


def reference_text(reference: Reference) -> str:
    """As ``--reference`` takes it."""
    return f"{reference.name}={reference.subject}:{reference.version}"
