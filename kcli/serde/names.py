"""``-s [key=|value=]SERDE``: the formats, their arguments, and parsing. Pure.

SERDE is ``NAME`` or ``NAME:ARG=VALUE,ARG=VALUE``: ``value=avro:subject=orders-value``, ``protobuf:file=shop.proto``.
"""

import os
import re
from collections.abc import Iterable, Mapping

from kcli.core.classes import dataclass, field
from kcli.core.errors import ConfigError
from kcli.core.near_names import near_names

PLAIN = ("str", "json", "short", "int", "long", "float", "double", "hex", "base64")
WITH_SCHEMA = ("avro", "protobuf", "jsonschema")
INTERNAL = ("consumer_offsets", "transaction_state", "share_group_state", "cluster_metadata")
OTHER_REGISTRIES = ("glue", "apicurio")
NAMES = (*PLAIN, *WITH_SCHEMA, *OTHER_REGISTRIES, *INTERNAL)
ONLY_READ = {
    **dict.fromkeys(INTERNAL, "brokers alone write these records"),
    **dict.fromkeys(OTHER_REGISTRIES, "kcli writes Confluent's framing, and registers with its API"),
}
"""Why the serdes that only decode do not encode."""

_ALIASES = {
    "string": "str",
    "text": "str",
    "utf8": "str",
    "utf-8": "str",
    "integer": "int",
    "int32": "int",
    "int64": "long",
    "int16": "short",
    "float32": "float",
    "float64": "double",
    "proto": "protobuf",
    "json-schema": "jsonschema",
    "json_schema": "jsonschema",
    **{f"__{name}": name for name in INTERNAL},
}

STRATEGIES = ("topic", "record", "topic-record")
_COMMON = {
    "id": "the schema with this number in the registry",
    "subject": "the schema of this subject",
    "version": "which version of the subject; latest without it",
    "strategy": f"how the subject is named: {', '.join(STRATEGIES)}",
    "file": "a schema in a file, without a registry",
    "register": "true: register the schema of the file under the subject when it is not there",
    "framing": "confluent, or none for bytes without a schema's id",
}
_AVRO_JSON = "plain, or avro for the JSON encoding of Avro's specification"
_NAMES = "json for lowerCamelCase, or proto for names as in the .proto file"
_SHOWN = {"json": f"Avro: {_AVRO_JSON}", "names": f"Protobuf: {_NAMES}"}
ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "avro": {
        **_COMMON,
        "record": "the record's full name, for strategy=record and topic-record",
        "json": _AVRO_JSON,
    },
    "protobuf": {
        **_COMMON,
        "message": "the message's full name; without it the first of the file",
        "import": "a folder where .proto files that others import are; several separated by :",
        "names": _NAMES,
    },
    "jsonschema": {**_COMMON, "record": "the record's name, for strategy=record and topic-record"},
    "glue": {
        "region": "the region of AWS; AWS_REGION and the profile of AWS otherwise",
        "endpoint": "another address of the API of AWS",
        **_SHOWN,
    },
    "apicurio": {
        "ids": "global or content: what the ids in records mean; global for 8 bytes, content for 4 otherwise",
        **_SHOWN,
    },
}
_CHOICES = {
    "strategy": STRATEGIES,
    "register": ("true", "false"),
    "framing": ("confluent", "none"),
    "json": ("plain", "avro"),
    "names": ("json", "proto"),
    "ids": ("global", "content"),
}
_NUMBERS = {"id": 0xFFFF_FFFF, "version": 0x7FFF_FFFF}
_APART = {
    "id": ("subject", "version", "strategy", "file", "register"),
    "subject": ("strategy",),
    "file": ("version",),
}


@dataclass(frozen=True, slots=True)
class SerdeSpec:
    """A requested serde: its name and arguments."""

    name: str
    arguments: Mapping[str, str] = field(default_factory=dict)

    def absolute(self) -> "SerdeSpec":
        """The serde for a process that runs in another folder: paths are absolute."""
        arguments = {
            name: os.pathsep.join(map(os.path.abspath, text.split(os.pathsep)))
            if name in ("file", "import")
            else text
            for name, text in self.arguments.items()
        }
        return SerdeSpec(self.name, arguments)

    @property
    def may_ask_registry(self) -> bool:
        """Whether options of a schema registry have an effect on it."""
        return self.name in (*WITH_SCHEMA, *OTHER_REGISTRIES)

    def __str__(self) -> str:
        arguments = ",".join(f"{name}={value}" for name, value in self.arguments.items())
        return f"{self.name}:{arguments}" if arguments else self.name


@dataclass(frozen=True, slots=True)
class SerdeSpecs:
    """All ``-s`` options of one command; None leaves bytes unchanged."""

    key: SerdeSpec | None = None
    value: SerdeSpec | None = None

    def __bool__(self) -> bool:
        return self.key is not None or self.value is not None

    @property
    def may_ask_registry(self) -> bool:
        """Whether options of a schema registry have an effect on one of them."""
        return any(spec is not None and spec.may_ask_registry for spec in (self.key, self.value))


def parse_serdes(texts: Iterable[str], *, writing: bool = False) -> SerdeSpecs:
    """All ``-s`` of a command line; ConfigError (exit 2) suggests the nearest name.

    Without ``key=`` or ``value=`` an option is for both; an option that names a part takes precedence. ``writing`` is
    for produce: it rejects read-only formats.
    """
    found: dict[str, SerdeSpec] = {}
    for text in texts:
        part, serde = _split_part(text)
        if part in found:
            where = f"for the {part}" if part else "for both parts"
            raise ConfigError(
                f"-s {text}: two serdes {where}", why=f"{found[part]} was given before", do="give one"
            )
        found[part] = parse_serde(serde, writing=writing)
    both = found.get("")
    return SerdeSpecs(key=found.get("key", both), value=found.get("value", both))


def parse_serde(text: str, *, writing: bool = False) -> SerdeSpec:
    """Parses one SERDE without its part; raises ConfigError."""
    name, colon, arguments = text.partition(":")
    name = _ALIASES.get(name.lower(), name.lower())
    if name not in NAMES:
        raise _unknown(text, name)
    if writing and name in ONLY_READ:
        raise ConfigError(f"-s {text}: {name} is only read", why=ONLY_READ[name], do="use hex for bytes")
    if not colon:
        return SerdeSpec(name)
    known = ARGUMENTS.get(name)
    if known is None:
        raise ConfigError(
            f"-s {text}: {name} takes no arguments", why=f"{arguments!r} follows it", do=f"-s {name}"
        )
    spec = SerdeSpec(name, _parse_arguments(text, name, arguments, known))
    _check_together(text, spec.arguments)
    return spec


def _split_part(text: str) -> tuple[str, str]:
    head, equals, rest = text.partition("=")
    if not equals or ":" in head:  # in avro:id=7 the = follows the name
        return "", text
    if head not in ("key", "value"):
        near = near_names(head, ("key", "value"))
        raise ConfigError(
            f"-s {text}: {head!r} is neither key nor value",
            why="only these may precede =",
            do=f"did you mean {near[0]}={rest}?" if near else f"-s key={rest} or -s value={rest}",
        )
    return head, rest


def _unknown(text: str, name: str) -> ConfigError:
    near = near_names(name, [*NAMES, *_ALIASES])
    every = f"known are {', '.join(NAMES)}"
    return ConfigError(
        f"-s {text}: there is no serde {name!r}",
        why=every if near else "no format has this name",
        do=f"did you mean {_ALIASES.get(near[0], near[0])}?" if near else every,
    )


def _parse_arguments(text: str, serde: str, given: str, known: Mapping[str, str]) -> dict[str, str]:
    arguments: dict[str, str] = {}
    for pair in re.split(r",(?=[a-z]+=)", given):
        name, equals, value = pair.partition("=")
        if not equals or not value:
            raise ConfigError(
                f"-s {text}: {pair!r} is not ARG=VALUE", why="", do=f"{serde} takes {', '.join(known)}"
            )
        if name not in known:
            near = near_names(name, known)
            raise ConfigError(
                f"-s {text}: {serde} has no argument {name!r}",
                why=f"it takes {', '.join(known)}",
                do=f"did you mean {near[0]}={value}?" if near else "see docs/serdes.md",
            )
        if name in arguments:
            raise ConfigError(f"-s {text}: {name} is given twice", why="", do="give it once")
        arguments[name] = _checked(text, name, value)
    return arguments


def _checked(text: str, name: str, value: str) -> str:
    choices = _CHOICES.get(name)
    if choices and value not in choices:
        near = near_names(value, choices)
        raise ConfigError(
            f"-s {text}: {name} is not {value!r}",
            why=f"it is one of {', '.join(choices)}",
            do=f"did you mean {near[0]}?" if near else "",
        )
    last = _NUMBERS.get(name)
    if last is not None and not (name == "version" and value == "latest"):
        number = int(value) if value.isascii() and value.isdecimal() and len(value) <= 10 else 0
        if not 1 <= number <= last:
            raise ConfigError(
                f"-s {text}: {name}={value} is no number", why=f"it goes from 1 to {last}", do=""
            )
    return value


def _check_together(text: str, arguments: Mapping[str, str]) -> None:
    for name, others in _APART.items():
        clash = [other for other in others if name in arguments and other in arguments]
        if clash:
            raise ConfigError(
                f"-s {text}: {name} and {clash[0]} together", why="each says which schema it is", do="use one"
            )
    if "register" in arguments and "file" not in arguments:
        raise ConfigError(
            f"-s {text}: register without file", why="there is no schema to register", do="add file=FILE"
        )
    if arguments.get("framing") == "none" and arguments.get("register") == "true":
        raise ConfigError(
            f"-s {text}: register and framing=none together",
            why="the records would not name it",
            do="use one",
        )
