"""The options of ``produce`` as the user gave them, checked, and merged with the configuration, which they override."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import Codec, Rate
from kcli.commands.shared.usage import usage
from kcli.core.classes import dataclass
from kcli.core.options import ProducerOptions
from kcli.core.types import Header
from kcli.flows.inputs.input_format import ENCODED
from kcli.profiles.applicability import Unused

if TYPE_CHECKING:
    from kcli.flows.expectation import Expectation
    from kcli.flows.filters.field_paths import FieldPath
    from kcli.flows.inputs.input_format import InputFormat

_UNLIMITED_MS = 2**31 - 1
"""Input waits for memory while records are in flight, which have a limit of their own: delivery.timeout.ms."""
_MEANT_FOR: dict[str, tuple[str, frozenset[str]]] = {
    "key": ("-k", frozenset({"lines", "raw", "file", "value", "failed"})),
    "key_delimiter": ("-K", frozenset({"lines", "failed"})),
    "delimiter": ("-D", frozenset({"lines", "pattern", "failed"})),
    "empty_is_null": ("-Z", frozenset({"lines", "pattern", "csv", "csv-objects", "value", "failed"})),
    "null_marker": (
        "--null-marker",
        frozenset({"lines", "pattern", "csv", "csv-objects", "value", "failed"}),
    ),
}
_INPUTS = {"pattern": "this pattern", "value": "--value"}
"""Kinds that are no value of ``-i``."""
_NAMES_PARTITION = frozenset({"ndjson", "kcat", "csv", "failed"})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProduceOptions:
    """One field an option of the command line; ``topic`` is the argument or that of ``-t``. None and False: not given."""

    topic: str
    files: tuple[str, ...] = ()
    input_format: str | None = None
    pattern: str | None = None
    delimiter: bytes | None = None
    key_delimiter: bytes | None = None
    empty_is_null: bool = False
    null_marker: str | None = None
    tee: bool = False
    key: str | None = None
    headers: Sequence[Header] = ()
    partition: int | None = None
    partitioner: str | None = None
    serdes: tuple[str, ...] = ()
    compression: Codec | None = None
    acks: str | None = None
    idempotent: bool | None = None
    transactional_id: str | None = None
    transaction_every: int | None = None
    rate: Rate | None = None
    allow_auto_topic_creation: bool = False
    failed: str | None = None
    checkpoint: str | None = None
    on_bad_input: str = "report"
    value: str | None = None
    tombstone: bool = False
    key_from: FieldPath | None = None
    headers_from: FieldPath | None = None
    partition_from: FieldPath | None = None
    expect: Expectation | None = None
    processes: int = 1

    @property
    def is_one(self) -> bool:
        """Whether the options are the record, and there is no input."""
        return self.value is not None or self.tombstone

    @property
    def kind(self) -> str:
        """What the input is: a value of ``-i``, ``pattern``, or ``value`` where the options are the record."""
        if self.is_one:
            return "value"
        return self.input_format or ("pattern" if self.pattern is not None else "lines")

    def check(self, output: str | None) -> None:
        """Usage errors for options that contradict each other; ``output`` is the value of ``-o``."""
        if self.tee and output in ("json", "ndjson"):
            raise usage(
                f"kcli produce: --tee with -o {output}",
                why="both would go to stdout",
                do="leave one of them out",
            )
        if self.is_one:
            self._check_one()
        by = (
            "-p"
            if self.partition is not None
            else "--partition-from"
            if self.partition_from is not None
            else ""
        )
        if by and self.partitioner not in (None, "manual"):
            raise usage(
                f"kcli produce: {by} with --partitioner {self.partitioner}",
                why=f"{by} determines the partition, and leaves a partitioner nothing to choose",
                do="leave one of them out",
            )
        if self.idempotent and self.acks in ("0", "1"):
            raise usage(
                f"kcli produce: --idempotent with --acks {self.acks}",
                why="an idempotent producer needs acks=all",
                do="leave one of them out",
            )

    def _check_one(self) -> None:
        flag = "--tombstone" if self.tombstone else "--value"
        others = {
            "--value": self.tombstone and self.value is not None,
            "FILE": bool(self.files),
            "-i": self.input_format is not None,
            "-f": self.pattern is not None,
            "-D": self.delimiter is not None,
            "-K": self.key_delimiter is not None,
            "--tee": self.tee,
            "--checkpoint": self.checkpoint is not None,
            "--failed": self.tombstone and self.failed is not None,
            "--processes": self.processes > 1,
        }
        for other, given in others.items():
            if given:
                raise usage(
                    f"kcli produce: {flag} with {other}",
                    why=f"{flag} makes one record, and no input is read",
                    do="leave one of them out",
                )
        if self.tombstone and self.key is None:
            raise usage(
                "kcli produce: --tombstone without -k",
                why="a tombstone deletes the records of its key, and a compacted topic refuses a null key",
                do="give the key: -k KEY --tombstone",
            )

    def check_client(self, client: ProducerOptions) -> None:
        """Usage errors for options that the configured producer does not allow, or that the input's format ignores."""
        if self.checkpoint is not None and client.acks == "0":
            raise usage(
                "kcli produce: --checkpoint with --acks 0",
                why="nothing is confirmed, so it is unknown how far it got",
                do="leave one of them out",
            )
        if self.expect is not None and client.acks == "0":
            raise usage(
                "kcli produce: --expect with --acks 0",
                why="it counts the records that are confirmed, and nothing is confirmed",
                do="leave one of them out",
            )
        if self.transaction_every is not None and not client.transactional_id:
            raise usage(
                "kcli produce: --transaction-every without --transactional-id",
                why="a transaction needs an id that stays the same from run to run",
                do="give one, for example --transactional-id import-1",
            )
        self._check_format()
        self._check_from_value()

    def check_processes(self, form: InputFormat, codec: str) -> None:
        """A usage error where there is nothing that several processes could do."""
        if self.processes == 1:
            return
        from kcli.flows.inputs.shared import terminator_of  # only with --processes

        do = "leave --processes out"
        if form.is_plain:
            if codec == "none":
                raise usage(
                    "kcli produce: --processes with plain lines that are not compressed",
                    why="such lines are sent as they are read: there is nothing to share out",
                    do=f"{do}, or choose a codec: -z lz4",
                )
        elif terminator_of(form) is None:
            how = "this pattern" if form.kind == "pattern" else f"-i {form.kind}"
            raise usage(
                f"kcli produce: --processes with {how}",
                why="where a record ends is only known once those before it are read",
                do=do,
            )

    def _check_format(self) -> None:
        kind = self.kind
        if self.pattern is not None and kind not in ("pattern", "failed"):
            raise usage(
                f"kcli produce: -f with -i {kind}",
                why="both determine what a record looks like",
                do="use one of them",
            )
        for name, (flag, kinds) in _MEANT_FOR.items():
            if getattr(self, name) not in (None, False) and kind not in kinds:
                raise usage(
                    f"kcli produce: {flag} with {'-f' if kind == 'pattern' else f'-i {kind}'}",
                    why="records of that format contain what it would set",
                    do=f"leave {flag} out",
                )
        if self.key is not None and self.key_delimiter is not None:
            raise usage(
                "kcli produce: -k and -K together",
                why="-k gives all records the same key, -K reads it from each line",
                do="use one of them",
            )

    def _check_from_value(self) -> None:
        """Usage errors for --key-from, --headers-from and --partition-from."""
        named = {
            "--key-from": self.key_from,
            "--headers-from": self.headers_from,
            "--partition-from": self.partition_from,
        }
        first = next((flag for flag, path in named.items() if path is not None), None)
        if first is None:
            return
        has_key = self.kind == "pattern" and "%k" in (self.pattern or "")
        twice = {
            "-k": (self.key_from, self.key is not None, "key"),
            "-K": (self.key_from, self.key_delimiter is not None, "key"),
            "-f with %k": (self.key_from, has_key, "key"),
            "-p": (self.partition_from, self.partition is not None, "partition"),
        }
        for flag, (path, given, part) in twice.items():
            if path is not None and given:
                raise usage(
                    f"kcli produce: --{part}-from with {flag}",
                    why=f"both determine the {part}",
                    do="use one of them",
                )
        if self.tombstone:
            raise usage(
                f"kcli produce: {first} with --tombstone",
                why="a null value names nothing",
                do=f"leave {first} out",
            )
        serde = next((name for part in ("value", "") for name in self._serdes_of(part)), "json")
        if self.kind in ENCODED and serde != "json":
            raise usage(
                f"kcli produce: {first} with -i {self.kind} and -s value={serde}",
                why="the values of that format are encoded as they are read, and only JSON can be looked into",
                do="use -s value=json, or -i lines, whose values are looked into before they are encoded",
            )

    def _serdes_of(self, part: str) -> Iterator[str]:
        """The names that -s has for ``part`` of a record; of both, if it is empty."""
        for text in self.serdes:
            of, sign, spec = text.partition("=")
            named = of in ("key", "value") and bool(sign)
            if (of if named else "") == part:
                yield (spec if named else text).partition(":")[0]

    def check_partitions(self) -> None:
        """A usage error unless each record names its partition, or ``-p`` does for all, as --partitioner manual needs."""
        kind = self.kind
        if self.partition is not None or self.partition_from is not None or kind in _NAMES_PARTITION:
            return
        if kind == "pattern" and "%p" in (self.pattern or ""):
            return
        raise usage(
            "kcli produce: --partitioner manual without partitions",
            why=f"{_INPUTS.get(kind, f'-i {kind}')} has no field for the partition",
            do="give -p N or --partition-from FIELD, or use -i ndjson, csv or kcat, or -f with %p",
        )


def topic_and_files(
    first: str | None, files: tuple[str, ...], named: tuple[str, ...]
) -> tuple[str, tuple[str, ...]]:
    """The topic and the FILEs; ``first`` is the first argument, which is a FILE too if ``-t`` has ``named`` the topic."""
    topics = tuple(dict.fromkeys(named))
    if len(topics) > 1:
        raise usage(
            f"kcli produce: -t {' -t '.join(topics)}",
            why="records are sent to one topic",
            do="run it once for each topic",
        )
    if topics:
        return topics[0], files if first is None else (first, *files)
    if first is None:
        raise usage(
            "kcli produce: missing argument TOPIC",
            why="it is required",
            do="name one: `kcli produce TOPIC`, or -t TOPIC",
        )
    return first, files


def producer_options(inv: Invocation, asked: ProduceOptions) -> ProducerOptions:
    """The producer's options: those of the command line, then those of the configuration."""
    codec = asked.compression
    own: dict[str, Any] = {
        "compression_type": codec.name if codec else None,
        "compression_level": codec.level if codec else None,
        "acks": asked.acks,
        "enable_idempotence": asked.idempotent,
        "partitioner": asked.partitioner,
        "transactional_id": asked.transactional_id,
        "allow_auto_create_topics": asked.allow_auto_topic_creation or None,
    }
    patient = None if "max_block_ms" in inv.resolved.values else _UNLIMITED_MS
    return inv.client_options(ProducerOptions, unused=_unused(inv, own), max_block_ms=patient, **own)


def _unused(inv: Invocation, own: dict[str, Any]) -> dict[str, Unused]:
    """Options of a producer that this run does not use."""
    configured = inv.resolved.values
    found: dict[str, Unused] = {}
    if not (own["transactional_id"] or configured.get("transactional_id")):
        found["transaction_timeout_ms"] = ("nothing is sent in transactions", "give --transactional-id ID")
    if (own["compression_type"] or configured.get("compression_type", "none")) == "none":
        found["compression_level"] = (
            "nothing is compressed",
            "choose a codec: -z gzip, or -z gzip:9 with its level",
        )
    return found
