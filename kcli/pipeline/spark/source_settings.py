"""The options of ``format("kcli")``: what is read or written, and how the cluster is reached. No secret is among them.

Options travel through plans and closures of Spark, so a secret in plain text is refused: a task reads it again from
where a reference leads (``cluster_ref.py``). Nothing here needs pyspark.
"""

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from kcli.core.arrow.fields import COLUMNS, RECORD_COLUMNS
from kcli.core.classes import dataclass, fields, replace
from kcli.core.clock import wall_ms
from kcli.core.errors import ConfigError
from kcli.core.near_names import near_names
from kcli.core.options import OF_MEMBERS, ClientOptions, ConsumerOptions, ProducerOptions, key_of
from kcli.core.positions import OffsetSpec, RangeSpec, parse_duration_ms
from kcli.core.types import TopicPartition
from kcli.pipeline.cluster_ref import ClusterRef, cluster_ref
from kcli.pipeline.plan import Slice
from kcli.pipeline.spark.source_options import USED_BY, WRITE, Given, Use, given_options
from kcli.pipeline.spark.source_range import BEGINS, Positions, range_of_options, topics_of_options
from kcli.pipeline.store.urls import canonical
from kcli.profiles.applicability import Unused, unused_options
from kcli.profiles.profile import COMMAND_LINE, read_only_refusal
from kcli.profiles.resolve import Resolved, resolve
from kcli.profiles.secret_keys import SecretSource
from kcli.profiles.secrets import check_private_files
from kcli.profiles.sources import SourceFiles, Sources
from kcli.sandbox.discovery import options_of
from kcli.serde.names import parse_serde, parse_serdes

SETTINGS = "kcli.settings"
"""The option that has all settings at once, in JSON: how kcli's own commands use the source."""
DECODED = ("key_json", "value_json")
SOURCE_COLUMNS = (*(name for name in COLUMNS if name != "headers_packed"), *DECODED)
CONNECTOR_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
"""Those of Spark's own connector; ``headers`` follow where they are asked for."""
PACKED, UNPACKED = "packed", "unpacked"

_TIMEOUT = 30.0  # seconds; for requests about topics and offsets
_TRIGGER_DELAY = "15m"
_FLAG = re.compile(r"-X ([\w.]+)=([^\s,;]+)")

_ALL = RangeSpec(None)


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """``topics`` to ``assigned`` are those of ``ReadTopics``, ``range`` to ``no_record_fails`` of ``ReadRange``.
    ``slices``: ranges that were pinned before. ``packed``: the column ``headers`` has header blocks as bytes.
    ``at_once``: how many rows of one task the driver can hold, 0 if it holds none. ``writes_headers``: whether a writer
    writes the column; None: if there is one.

    ``pushdown``: filters limit what is read. Spark up to 4.3 keeps the ranges of the last pushdown with the relation, and
    reads them for its other scans too: rows would be missing without a word where a frame is used again, or twice in a
    query. So it is only for a relation that is read once.

    ``times``: only records with times from the first up to, not including, the second, in ms; None: without a limit.

    ``commit_group``: positions of a stream are committed for it. ``checkpoint``: of another query, whose position a new
    one begins at.

    ``undecoded``: the id of the accumulator that receives counts of what serdes cannot decode (``undecoded.py``).
    """

    cluster: ClusterRef
    topics: tuple[str, ...] = ()
    pattern: str = ""
    partitions: tuple[int, ...] | None = None
    assigned: tuple[TopicPartition, ...] = ()
    range: RangeSpec = _ALL
    starts: Positions = ()
    stops: Positions = ()
    no_record_fails: bool = False
    columns: tuple[str, ...] = RECORD_COLUMNS
    packed: bool = True
    key_serde: str = ""
    value_serde: str = ""
    slots: int = 0
    largest: int = 0
    max_offsets: int = 0
    min_offsets: int = 0
    max_delay_ms: int = 0
    fail_on_loss: bool = True
    pushdown: bool = False
    slices: tuple[Slice, ...] | None = None
    at_once: int = 0
    undecoded: int | None = None
    times: tuple[int | None, int | None] = (None, None)
    writes_headers: bool | None = None
    commit_group: str = ""
    checkpoint: str = ""

    @property
    def serdes(self) -> tuple[str, ...]:
        """The serdes in the form that ``parse_serdes`` reads."""
        named = (("key", self.key_serde), ("value", self.value_serde))
        return tuple(f"{part}={serde}" for part, serde in named if serde)

    def only(self, topic: str | None) -> "SourceSettings":
        """The pinned ranges of this topic only; None: of all."""
        if topic is None or self.slices is None:
            return self
        slices = tuple(each for each in self.slices if each.topic == topic)
        return replace(self, topics=(topic,), slices=slices)


def settings_of(options: Mapping[str, str], use: Use | None = None) -> SourceSettings:
    """The settings of a data source; ConfigError for an option that is wrong, unknown, without an effect on ``use``, or
    holds a secret. ``use`` None: a reader of which is not known yet whether it is a stream.
    """
    again = next((text for key, text in options.items() if key.lower() == SETTINGS), None)
    if again is not None:
        return settings_from_json(again)
    given = given_options(options, use)
    own = given.own
    key_serde, value_serde = own.get("key.serde", ""), own.get("value.serde", "")
    read = range_of_options(given, use, wall_ms())
    found = SourceSettings(
        _cluster(given, use, serdes=_ask_registry(key_serde, value_serde)),
        *topics_of_options(given),
        *read,
        columns=_columns(given, key_serde, value_serde),
        packed=_is_packed(given),
        key_serde=key_serde,
        value_serde=value_serde,
        slots=_count(own, "minPartitions"),
        largest=_count(own, "maxRecordsPerPartition"),
        max_offsets=_count(own, "maxOffsetsPerTrigger"),
        min_offsets=_count(own, "minOffsetsPerTrigger"),
        max_delay_ms=_delay(own),
        fail_on_loss=_choice(own, "failOnDataLoss", {"true": True, "false": False}),
        pushdown=_choice(own, "pushdown", {"false": False, "true": True}),
        writes_headers=_included(own),
        commit_group=_name(own, "commitOffsets"),
        checkpoint=_checkpoint(own),
    )
    if found.min_offsets and found.max_offsets and found.min_offsets > found.max_offsets:
        raise ConfigError(
            f"minOffsetsPerTrigger={found.min_offsets} is more than maxOffsetsPerTrigger={found.max_offsets}",
            why="no batch has so many",
            do="exchange them",
        )
    parse_serdes(found.serdes, writing=use in WRITE)
    return found


def _included(own: Mapping[str, str]) -> bool | None:
    return _choice(own, "includeHeaders", {"false": False, "true": True}) if "includeHeaders" in own else None


def _is_packed(given: Given) -> bool:
    if _included(given.own) or (given.dialect and "headers" not in given.own):
        return False
    return _choice(given.own, "headers", {PACKED: True, UNPACKED: False})


def _columns(given: Given, key_serde: str, value_serde: str) -> tuple[str, ...]:
    """The columns that are chosen, else the connector's where topics are named as it does, else those of a record."""
    if given.own.get("columns", "").strip():
        return chosen_columns(given.own["columns"], key_serde, value_serde)
    with_headers = _included(given.own)
    if given.dialect:
        decoded = [f"{part}_json" for part, serde in (("key", key_serde), ("value", value_serde)) if serde]
        return (*CONNECTOR_COLUMNS, *(["headers"] if with_headers else []), *decoded)
    found = chosen_columns("", key_serde, value_serde)
    return found if with_headers is not False else tuple(name for name in found if name != "headers")


def chosen_columns(text: str, key_serde: str = "", value_serde: str = "") -> tuple[str, ...]:
    """The columns of ``columns``, by default those of a record; ConfigError for a name that is none."""
    serdes = {"key_json": key_serde, "value_json": value_serde}
    names = tuple(filter(None, (part.strip() for part in text.split(","))))
    if not names:
        return (*RECORD_COLUMNS, *(name for name in DECODED if serdes[name]))
    for at, name in enumerate(names):
        if name not in (*SOURCE_COLUMNS, "timestampType"):
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


def _ask_registry(*serdes: str) -> bool:
    """Whether options of a registry have an effect on one of them."""
    return any(parse_serde(text).may_ask_registry for text in serdes if text)


def _cluster(given: Given, use: Use | None, *, serdes: bool) -> ClusterRef:
    try:
        return _resolved_cluster(given, use, serdes=serdes)
    except ConfigError as error:  # of a client's options, as the command line has them
        raise ConfigError(
            _in_python(error.what), why=_in_python(error.why), do=_in_python(error.do)
        ) from error


def _in_python(text: str) -> str:
    """What is said of ``-X KEY=VALUE``, for a program."""
    return _FLAG.sub(r'.option("\1", "\2")', text).replace(" (-X)", "").replace(" (from -X)", "")


def _resolved_cluster(given: Given, use: Use | None, *, serdes: bool) -> ClusterRef:
    files = SourceFiles()
    paths = tuple(filter(None, [given.own.get("command.config", "")]))
    resolved = resolve(
        Sources(
            properties=[f"{key}={text}" for key, text in given.client.items()],
            files=paths,
            environ=os.environ,
            read_file=files.properties,
            file_state=files.states.get,
            config_files=files.configs,
            sandbox=options_of,
            profile=given.own.get("profile"),
            profile_option="the option profile",
            user=os.getuid(),
        )
    )
    changing = "writing" if use in WRITE else "commitOffsets" if "commitOffsets" in given.own else ""
    refusal = read_only_refusal(resolved.profile, changing) if changing else None
    if refusal is not None:
        raise refusal
    list(check_private_files(resolved))  # its warnings have nowhere to go
    _check_effects(resolved, use, serdes=serdes)
    return cluster_ref(resolved, paths, _TIMEOUT)


_NO_MEMBER: Unused = (
    "nothing joins a group here: ranges are read, and a checkpoint keeps positions",
    "leave it out",
)
_NOT_READ: Mapping[str, Unused] = {
    **dict.fromkeys(("group_id", *OF_MEMBERS), _NO_MEMBER),
    "auto_offset_reset": (
        "a range says where reading begins",
        'leave it out; .option("startingOffsets", "earliest")',
    ),
    "on_out_of_range": (
        "ranges are exact",
        'leave it out; .option("failOnDataLoss", "false") passes over what is gone',
    ),
    "max_poll_records": ("what has arrived is passed on whole", "leave it out"),
    "show_control_batches": ("markers of transactions are no rows", "leave it out"),
}
_ONCE: Unused = ("a writer uses no transactions: it writes at least once", "leave it out")
_NOT_WRITTEN: Mapping[str, Unused] = {"transactional_id": _ONCE, "transaction_timeout_ms": _ONCE}


_NOT_IN_STREAMS: Mapping[str, Unused] = {
    "transactional_id": ("a stream has one for each of its tasks", "leave it out")
}
_REFUSED = {"write": _NOT_WRITTEN, "sink": _NOT_IN_STREAMS}


def _check_effects(resolved: Resolved, use: Use | None, *, serdes: bool) -> None:
    """ConfigError for an option of clients that was given here and has no effect."""
    kind: type[ClientOptions] = ProducerOptions if use in WRITE else ConsumerOptions
    refused = _REFUSED.get(use or "batch", _NOT_READ)
    unused = unused_options(resolved, [kind], refused, {})
    found = [(name, *told) for name, told in unused.items() if resolved.origins.get(name) == COMMAND_LINE]
    if not serdes:
        no_serde = ("no serde uses the registry", 'give .option("value.serde", "avro"), or leave it out')
        origins = resolved.registry_origins
        found += [(name, *no_serde) for name in resolved.registry if origins.get(name) == COMMAND_LINE]
    for name, why, do in found:
        raise ConfigError(
            f"the option {key_of(name)} has no effect on {USED_BY[use or 'batch']}", why=why, do=do
        )


def _count(own: Mapping[str, str], name: str) -> int:
    text = own.get(name)
    if text is None:
        return 0
    if not text.strip().isdecimal() or int(text) < 1:
        raise ConfigError(
            f"{name}={text}", why="it is not a number of 1 or more", do="write a number such as 1000"
        )
    return int(text)


def _name(own: Mapping[str, str], name: str) -> str:
    text = own.get(name)
    if text is not None and not text.strip():
        raise ConfigError(f"{name} is empty", why="it names something", do="leave it out, or name it")
    return text or ""


def _checkpoint(own: Mapping[str, str]) -> str:
    """``startingCheckpoint`` as an absolute path or a URL."""
    text = _name(own, "startingCheckpoint")
    for other in BEGINS if text else ():
        if other in own:
            raise ConfigError(
                f"startingCheckpoint and {other} were both given",
                why="both say where reading begins",
                do="give one",
            )
    return text and canonical(text)


def _delay(own: Mapping[str, str]) -> int:
    """``maxTriggerDelay`` in ms."""
    text = own.get("maxTriggerDelay")
    if text is not None and "minOffsetsPerTrigger" not in own:
        raise ConfigError(
            "the option maxTriggerDelay has no effect",
            why="it limits how long a batch waits for minOffsetsPerTrigger",
            do="give that one too, or leave it out",
        )
    try:
        return parse_duration_ms(text or _TRIGGER_DELAY, unit=True)
    except ValueError as error:
        raise ConfigError(f"maxTriggerDelay={text}", why=str(error), do="write it as 15m or 30s") from None


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
            "assigned": tuple(TopicPartition(*each) for each in values["assigned"]),
            "starts": _positions(values["starts"]),
            "stops": _positions(values["stops"]),
            "columns": tuple(values["columns"]),
            "times": tuple(values["times"]),
            "slices": None
            if values["slices"] is None
            else tuple(Slice(topic, bytes.fromhex(own), *rest) for topic, own, *rest in values["slices"]),
        }
    )


def _positions(values: list[Any]) -> Positions:
    return tuple((TopicPartition(*tp), OffsetSpec(*spec)) for tp, spec in values)


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
