"""The columns ``key`` and ``value`` as serdes decode them: which types they have, and how batches get them.

The type is that of one schema, looked up when a range is opened: the latest of the subject, or the one that the serde
names. Records of other versions are decoded by their own schema; members are matched by name.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from kcli.core.errors import ConfigError, KcliError
from kcli.core.types import Header, TopicPartition
from kcli.pipeline.decoding import Undecoded
from kcli.pipeline.typed import shape
from kcli.pipeline.typed.shape import Shape
from kcli.serde.errors import DecodeError
from kcli.serde.names import SerdeSpecs
from kcli.serde.opening import Serdes, open_serdes
from kcli.serde.registry.options import RegistryOptions
from kcli.serde.schema_serde import SchemaSerde, Target
from kcli.serde.serde import Serde, SerdeContext

PARTS = ("key", "value")
_PLAIN = {
    "str": shape.STRING,
    "hex": shape.STRING,
    "base64": shape.STRING,
    "short": shape.INT16,
    "int": shape.INT32,
    "long": shape.INT64,
    "float": shape.FLOAT,
    "double": shape.DOUBLE,
}


class TypedParts:
    """The typed columns of a topic. ``types`` by part; ``dropped``: members of values that the types do not have, so far.
    ``every_version``: the types have the members of all versions of the schema, whose names are ``schemas``, by part.

    KcliError of the registry, or ConfigError, for a schema that is not found or not usable, and for versions that no type
    has both of.
    """

    def __init__(
        self, specs: SerdeSpecs, registry: RegistryOptions, topic: str, *, every_version: bool = False
    ) -> None:
        self._specs, self._registry = specs, registry
        self.dropped: set[str] = set()
        self.schemas: dict[str, list[str]] = {}
        self._shapes: dict[str, Shape] = {}
        with self.open() as serdes:
            for part, serde in _parts(serdes):
                if every_version and isinstance(serde, SchemaSerde):
                    targets = serde.versions(topic, part)
                    shapes = [_of_target(serde, target, self.dropped) for target in targets]
                    self.schemas[part] = [target.name for target in targets]
                    self._shapes[part] = _of_all(shapes, self.schemas[part], self.dropped)
                else:
                    self._shapes[part] = _shape_of(serde, topic, part, self.dropped)

    @property
    def types(self) -> Mapping[str, Any]:
        """See above."""
        return {part: found.type for part, found in self._shapes.items()}

    @property
    def names_schemas(self) -> bool:
        """Whether headers may name schemas: the decoder needs them."""
        with self.open() as serdes:
            return any(serde.names_schemas for _, serde in _parts(serdes))

    @property
    def names(self) -> Mapping[str, str]:
        """The serdes by part, as they were asked for."""
        return {part: str(getattr(self._specs, part)) for part in self._shapes}

    def open(self) -> Serdes:
        """Serdes for one thread."""
        return open_serdes(self._specs, self._registry)

    def decoder(self, serdes: Serdes, *, undecodable: str) -> "Decoder":
        """Makes the columns, with serdes of this thread."""
        return Decoder(self._shapes, dict(_parts(serdes)), undecodable=undecodable)


class Decoder:
    """Makes columns; not thread-safe. ``undecodable``: ``fail``, or ``null``, and then ``undecoded`` counts by part and
    partition.
    """

    def __init__(self, shapes: Mapping[str, Shape], serdes: Mapping[str, Serde], *, undecodable: str) -> None:
        self._shapes, self._serdes, self._undecodable = shapes, serdes, undecodable
        self.undecoded: dict[tuple[str, TopicPartition], Undecoded] = {}

    def column(
        self,
        part: str,
        tp: TopicPartition,
        data: Sequence[bytes | None],
        keys: Sequence[bytes | None],
        headers: Callable[[int], tuple[Header, ...]],
        offsets: Sequence[int],
    ) -> Any:
        """The column of a part of records of one partition; DecodeError with the offset for what cannot be decoded."""
        found, serde = self._shapes[part], self._serdes[part]
        decode = serde.decode_json if found.is_json else serde.decode
        values: list[Any] = []
        for row, one in enumerate(data):
            value = None
            if one is not None:
                try:
                    value = decode(one, SerdeContext(tp.topic, part, headers(row), keys[row]))
                    if not found.is_json:
                        value = found.convert(value)
                except (DecodeError, ValueError, TypeError, ArithmeticError) as error:
                    self._failed(part, tp, offsets[row], error)
                    value = None
            values.append(value)
        return pa.array(values, found.type)

    def _failed(self, part: str, tp: TopicPartition, offset: int, error: Exception) -> None:
        if self._undecodable == "fail":
            raise DecodeError(
                f"the {part} of {tp} at offset {offset} does not become a value of its column",
                why=str(error),
                do='undecodable="null" makes it null, and counts it',
            ) from None
        first = self.undecoded.get((part, tp)) or Undecoded(0, offset, str(error))
        self.undecoded[part, tp] = first._replace(failed=first.failed + 1)


def check_undecodable(given: str) -> None:
    """ConfigError for another word."""
    if given not in ("fail", "null"):
        raise ConfigError(
            f"undecodable={given!r}", why="there is no such choice", do='it is "fail" or "null"'
        )


def _parts(serdes: Serdes) -> Iterable[tuple[str, Serde]]:
    return [(part, serde) for part in PARTS if (serde := getattr(serdes, part)) is not None]


def _shape_of(serde: Serde, topic: str, part: str, dropped: set[str]) -> Shape:
    if not isinstance(serde, SchemaSerde):
        return _PLAIN.get(serde.name, shape.JSON)
    return _of_target(serde, serde.prepare(topic, part), dropped)


def _of_target(serde: SchemaSerde, target: Target, dropped: set[str]) -> Shape:
    codec: Any = target.codec
    try:
        if serde.name == "avro":
            from kcli.pipeline.typed.avro import avro_shape  # fastavro: an extra

            return shape.JSON if codec.tagged else avro_shape(codec.schema, dropped)
        if serde.name == "protobuf":
            from kcli.pipeline.typed.protobuf import message_shape  # protobuf: an extra

            return message_shape(codec.written, dropped, proto_names=codec.proto_names)
    except RecursionError:
        raise KcliError(f"{target.name} is nested too deeply for a column") from None
    from kcli.pipeline.typed.json_schema import json_schema_shape  # one format of several

    return json_schema_shape(codec.schema, dropped)


def _of_all(shapes: Sequence[Shape], names: Sequence[str], dropped: set[str]) -> Shape:
    found = shapes[0]
    for number, one in enumerate(shapes):
        try:
            found = shape.joined(found, one, "", dropped)
        except ValueError:
            raise _conflict(shapes[: number + 1], names, dropped) from None
    return found


def _conflict(shapes: Sequence[Shape], names: Sequence[str], dropped: set[str]) -> KcliError:
    """The error that names the last one, and the latest before it that does not go with it."""
    for other in reversed(range(len(shapes) - 1)):
        try:
            shape.joined(shapes[other], shapes[-1], "", dropped)
        except ValueError as error:
            return ConfigError(
                f"{names[len(shapes) - 1]} and {names[other]} have no type in common",
                why=str(error),
                do="name the version whose records are to be decoded: version=N",
            )
    raise AssertionError("a shape joins with each of its versions, and not with all")
