"""What ``kcli consume -s`` decodes: records that are printed, fields that filters read, the key of ``--key``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kcli.commands.consume.options import ConsumeOptions
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.serdes import serdes_to_read
from kcli.commands.shared.usage import usage
from kcli.flows.filters.decoded import DecodedField
from kcli.output.decoding import PARTS, Decoders
from kcli.output.progress import counted
from kcli.serde.errors import EncodeError
from kcli.serde.names import PLAIN
from kcli.serde.opening import Serdes
from kcli.serde.serde import SerdeContext

if TYPE_CHECKING:
    from kcli.flows.filters.where import Where


class Decoding:
    """``decoders`` are for the output, ``key`` and ``value`` for the filters."""

    def __init__(self, serdes: Serdes) -> None:
        self.serdes = serdes
        self.decoders = Decoders(serdes.key, serdes.value)
        self.key = None if serdes.key is None else DecodedField("key", serdes.key)
        self.value = None if serdes.value is None else DecodedField("value", serdes.value)

    def key_bytes(self, data: bytes) -> bytes:
        """The bytes of a key given as text: ``--key 4711 -s key=long`` are eight bytes."""
        serde = self.serdes.key
        if serde is None:
            return data
        if serde.name not in PLAIN:
            raise usage(
                f"kcli consume: --key with -s key={serde.name}",
                why="the bytes of such a key are known only once it is read",
                do="use --grep k:REGEX, or --where with key",
            )
        try:
            return serde.encode_text(data, SerdeContext("", "key"))
        except EncodeError as error:
            raise usage(
                f"kcli consume: --key {data.decode('utf-8', 'surrogateescape')!r} is not a valid key",
                why=str(error),
                do=f"-s key={serde.name} determines what keys are",
            ) from None

    def report(self, inv: Invocation, where: "Where | None") -> int:
        """Warns of keys and values that could not be decoded; returns their number."""
        total = 0
        for which, found in self.decoders.undecoded.items():
            if found.count:
                are = "is" if found.count == 1 else "are"
                inv.talk.warn(
                    f"{counted(found.count, PARTS[which])} could not be decoded and {are} shown undecoded; "
                    f"the first: {found.first}"
                )
            total += found.count
        if where is not None and where.undecoded:
            them = "it" if where.undecoded == 1 else "them"
            inv.talk.warn(
                f"{counted(where.undecoded, 'value')} could not be decoded: --where skipped {them}; "
                f"the first: {where.first}"
            )
            total += where.undecoded
        return total


def decoding(inv: Invocation, asked: ConsumeOptions, topics: Sequence[str]) -> Decoding | None:
    """For the serdes of ``-s``, or of an internal topic of Kafka; None if nothing is decoded."""
    filtered = asked.where is not None or bool(asked.grep)
    serdes = serdes_to_read(inv, asked.serdes, topics, raw=asked.raw, filtered=filtered)
    return None if serdes is None else Decoding(serdes)
