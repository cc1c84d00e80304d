"""The options of ``format("kcli")``: what is read or written, and how the cluster is reached. No secret is among them.

Options travel through plans and closures of Spark, so a secret in plain text is refused: a task reads it again from
where a reference leads (``cluster_ref.py``). Nothing here needs pyspark.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from kcli.core.arrow.fields import COLUMNS, RECORD_COLUMNS
from kcli.core.clock import wall_ms
from kcli.core.errors import ConfigError
from kcli.core.names import check_topic
from kcli.core.near_names import near_names
from kcli.core.options import is_option, spellings
from kcli.core.positions import OffsetSpec, RangeSpec, check_times, parse_instant, parse_range
from kcli.pipeline.cluster_ref import ClusterRef, cluster_ref
from kcli.pipeline.plan import Slice
from kcli.profiles.resolve import resolve
from kcli.profiles.secret_keys import SecretSource, holds_secret, is_registry_key, source_key
from kcli.profiles.secrets import check_private_files
from kcli.profiles.sources import SourceFiles, Sources
from kcli.sandbox.discovery import options_of
from kcli.serde.names import parse_serdes

SETTINGS = "kcli.settings"
"""The option that has all settings at once, in JSON: how kcli's own commands use the source."""
DECODED = ("key_json", "value_json")
SOURCE_COLUMNS = (*(name for name in COLUMNS if name != "headers_packed"), *DECODED)
PACKED, UNPACKED = "packed", "unpacked"

_OPTIONS = (
    "profile", "command.config", "topic", "pattern", "partitions", "since", "until", "offset", "columns", "headers",
    "key.serde", "value.serde", "pushdown", "minPartitions", "maxOffsetsPerTrigger", "failOnDataLoss",
)  # fmt: skip
_BY_NAME = {name.lower(): name for name in _OPTIONS} | {"topics": "topic"}
_OF_SPARK = frozenset({"path"})
_NUMBERS = re.compile(r"[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*")
_TIMEOUT = 30.0  # seconds; for requests about topics and offsets


_ALL = RangeSpec(None)


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """``topics`` are names, ``pattern`` a regular expression in their place. ``slices``: ranges that were pinned before.
    ``packed``: the column ``headers`` has header blocks as bytes. ``at_once``: how many rows of one task the driver can
    hold, 0 if it holds none.

    ``pushdown``: filters limit what is read. Spark up to 4.3 keeps the ranges of the last pushdown with the relation, and
    reads them for its other scans too: rows would be missing without a word where a frame is used again, or twice in a
    query. So it is only for a relation that is read once.

    ``times``: only records with times from the first up to, not including, the second, in ms; None: without a limit.

    ``undecoded``: the id of the accumulator that receives counts of what serdes cannot decode (``undecoded.py``).
    """

    cluster: ClusterRef
    topics: tuple[str, ...] = ()
    pattern: str = ""
    partitions: tuple[int, ...] | None = None
    range: RangeSpec = _ALL
    columns: tuple[str, ...] = RECORD_COLUMNS
    packed: bool = True
    key_serde: str = ""
    value_serde: str = ""
    slots: int = 0
    max_offsets: int = 0
    fail_on_loss: bool = True
    pushdown: bool = False
    slices: tuple[Slice, ...] | None = None
    at_once: int = 0
    undecoded: int | None = None
    times: tuple[int | None, int | None] = (None, None)

    @property
    def serdes(self) -> tuple[str, ...]:
        """The serdes in the form that ``parse_serdes`` reads."""
        named = (("key", self.key_serde), ("value", self.value_serde))
        return tuple(f"{part}={serde}" for part, serde in named if serde)


def settings_of(options: Mapping[str, str]) -> SourceSettings:
    """The settings of a data source; ConfigError for an option that is wrong, unknown, or holds a secret."""
    given = {key.lower(): text for key, text in options.items()}
    if SETTINGS in given:
        return settings_from_json(given[SETTINGS])
    own: dict[str, str] = {}
    client: dict[str, str] = {}
    for key, text in given.items():
        if key in _BY_NAME:
            own[_BY_NAME[key]] = text
        elif key not in _OF_SPARK:
            client[_client_key(key, text)] = text
    now = wall_ms()
    key_serde, value_serde = own.get("key.serde", ""), own.get("value.serde", "")
    found = SourceSettings(
        _cluster(own, client),
        topics=_topics(own.get("topic", "")),
        pattern=_pattern(own.get("pattern", "")),
        partitions=_partitions(own.get("partitions")),
        range=_range(own, now),
        columns=chosen_columns(own.get("columns", ""), key_serde, value_serde),
        packed=_choice(own, "headers", {PACKED: True, UNPACKED: False}),
        key_serde=key_serde,
        value_serde=value_serde,
        slots=_count(own, "minPartitions"),
        max_offsets=_count(own, "maxOffsetsPerTrigger"),
        fail_on_loss=_choice(own, "failOnDataLoss", {"true": True, "false": False}),
        pushdown=_choice(own, "pushdown", {"false": False, "true": True}),
    )
    if found.topics and found.pattern:
        raise ConfigError(
            "topic and pattern were both given", why="one of them would be ignored", do="give one"
        )
    parse_serdes(found.serdes)
    return found


def chosen_columns(text: str, key_serde: str = "", value_serde: str = "") -> tuple[str, ...]:
    """The columns of ``columns``, by default those of a record; ConfigError for a name that is none."""
    serdes = {"key_json": key_serde, "value_json": value_serde}
    names = tuple(filter(None, (part.strip() for part in text.split(","))))
    if not names:
        return (*RECORD_COLUMNS, *(name for name in DECODED if serdes[name]))
    for at, name in enumerate(names):
        if name not in SOURCE_COLUMNS:
            near = near_names(name, SOURCE_COLUMNS)
            raise ConfigError(
                f"columns: there is no column {name}",
                why=f"the columns are {', '.join(SOURCE_COLUMNS)}",
                do=f"did you mean {near[0]}?" if near else "leave it out",
            )
        if name in names[:at]:
            raise ConfigError(
                f"columns: {name} is given twice", why="columns have different names", do="give it once"
            )
        if name in DECODED and not serdes[name]:
            part = name.removesuffix("_json")
            raise ConfigError(
                f"columns: {name} needs a serde",
                why=f"it has the {part} as a serde decodes it",
                do=f'.option("{part}.serde", "json"), or avro, protobuf, jsonschema',
            )
    return names


# --- single options ---------------------------------------------------------------------------------------


def _client_key(key: str, text: str) -> str:
    """``key`` if it is an option of a client that holds no secret."""
    if holds_secret(key, text):
        raise ConfigError(
            f"the option {key} holds a secret in plain text",
            why="options become part of the query's plan, which Spark passes to other processes and shows",
            do=f'use a reference: .option("{key}_file", FILE), "{key}_command", keyring:SERVICE/USER as its value, a '
            f"profile, or the variable KCLI_X_{key.upper().replace('.', '_')} in place of the option",
        )
    if not (is_option(key) or is_registry_key(key) or source_key(key)):
        known = [*_OPTIONS, *spellings()]
        near = near_names(key, known) or near_names(key, [name.lower() for name in known])
        raise ConfigError(
            f"there is no option {key}",
            why='it is neither an option of format("kcli") nor of a client',
            do=f"did you mean {_BY_NAME.get(near[0], near[0])}?"
            if near
            else f"options: {', '.join(_OPTIONS)}",
        )
    return key


def _cluster(own: Mapping[str, str], client: Mapping[str, str]) -> ClusterRef:
    files = SourceFiles()
    paths = tuple(filter(None, [own.get("command.config", "")]))
    resolved = resolve(
        Sources(
            properties=[f"{key}={text}" for key, text in client.items()],
            files=paths,
            environ=os.environ,
            read_file=files.properties,
            file_state=files.states.get,
            config_files=files.configs,
            sandbox=options_of,
            profile=own.get("profile"),
            profile_option="the option profile",
            user=os.getuid(),
        )
    )
    list(check_private_files(resolved))  # its warnings have nowhere to go
    return cluster_ref(resolved, paths, _TIMEOUT)


def _topics(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(filter(None, (part.strip() for part in text.split(",")))))
    for name in names:
        check_topic(name)
    return names


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ConfigError(
            f"pattern: {text!r} is no regular expression", why=str(error), do="correct it, as in orders-.*"
        ) from None
    return text


def _partitions(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    plain = text.replace(" ", "")
    if not _NUMBERS.fullmatch(plain):
        raise ConfigError(
            f"partitions: {text!r} is no list of numbers", why="partitions are numbered", do="0,2,5-7"
        )
    found: list[int] = []
    for part in plain.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return tuple(dict.fromkeys(found))


def _range(own: Mapping[str, str], now: int) -> RangeSpec:
    since, until, offset = (own.get(name) for name in ("since", "until", "offset"))
    if offset is not None and (since is not None or until is not None):
        raise ConfigError(
            "offset was given together with since or until",
            why="both say where reading begins",
            do="give a range as offset: @-2h..@-1h, 1000:2000",
        )
    try:
        if offset is not None:
            wanted = parse_range(offset, now)
        else:
            start = None if since is None else OffsetSpec("timestamp", parse_instant(since, now))
            stop = None if until is None else OffsetSpec("timestamp", parse_instant(until, now))
            wanted = RangeSpec(start, stop)
    except ValueError as error:
        raise ConfigError(
            "since, until or offset is wrong",
            why=str(error),
            do="`kcli help times` and `kcli help offsets` list what is valid",
        ) from None
    check_times(
        wanted, now, "the range to read", since="since" if offset is None else "offset", until="until"
    )
    return wanted


def _count(own: Mapping[str, str], name: str) -> int:
    text = own.get(name)
    if text is None:
        return 0
    if not text.strip().isdecimal() or int(text) < 1:
        raise ConfigError(
            f"{name}={text}", why="it is not a number of 1 or more", do="write a number such as 1000"
        )
    return int(text)


def _choice(own: Mapping[str, str], name: str, choices: Mapping[str, bool]) -> bool:
    """The first choice is the default."""
    text = own.get(name)
    if text is None:
        return next(iter(choices.values()))
    if text.strip().lower() not in choices:
        raise ConfigError(
            f"{name}={text}", why=f"it is neither {' nor '.join(choices)}", do="write one of them"
        )
    return choices[text.strip().lower()]


# --- settings as JSON -------------------------------------------------------------------------------------


def settings_to_json(settings: SourceSettings) -> str:
    """The settings as the text of the option ``SETTINGS``, without secrets."""
    values = {field.name: getattr(settings, field.name) for field in fields(settings)}
    cluster = settings.cluster
    values["cluster"] = {
        "values": _tagged(cluster.values),
        "registry": _tagged(cluster.registry),
        "by_origin": dict(cluster.by_origin),
        "registry_by_origin": dict(cluster.registry_by_origin),
        "profile": cluster.profile,
        "files": cluster.files,
    }
    if settings.slices is not None:
        values["slices"] = [each._replace(topic_id=each.topic_id.hex()) for each in settings.slices]  # type: ignore[arg-type]
    return json.dumps(values, separators=(",", ":"))


def settings_from_json(text: str) -> SourceSettings:
    """The inverse of ``settings_to_json``."""
    values = json.loads(text)
    cluster = values["cluster"]
    start, stop = values["range"]
    return SourceSettings(
        **{
            **values,
            "cluster": ClusterRef(
                _untagged(cluster["values"]),
                _untagged(cluster["registry"]),
                cluster["by_origin"],
                cluster["registry_by_origin"],
                cluster["profile"],
                tuple(cluster["files"]),
            ),
            "topics": tuple(values["topics"]),
            "partitions": None if values["partitions"] is None else tuple(values["partitions"]),
            "range": RangeSpec(start and OffsetSpec(*start), stop and OffsetSpec(*stop)),
            "columns": tuple(values["columns"]),
            "times": tuple(values["times"]),
            "slices": None
            if values["slices"] is None
            else tuple(Slice(topic, bytes.fromhex(own), *rest) for topic, own, *rest in values["slices"]),
        }
    )


def _tagged(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values for JSON: those that are no plain ones are lists with the name of what they are."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, SecretSource):
            found[name] = ["secret", *value]
        elif isinstance(value, list | tuple):
            found[name] = ["tuple", *value]
        else:
            found[name] = value
    return found


def _untagged(values: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, list):
            kind, *parts = value
            found[name] = SecretSource(*parts) if kind == "secret" else tuple(parts)
        else:
            found[name] = value
    return found
