"""The voters of a dynamic quorum (KIP-853), as the newest control record of the metadata log or a snapshot has them."""

from collections.abc import Iterator

from kcli.core.errors import ProtocolError
from kcli.core.offline.stored_values import keys_and_values
from kcli.core.protocol.schema import INT16, INT32, STRING, UINT16, UUID, Array, Struct, field
from kcli.core.protocol.stored.reading import struct_of
from kcli.core.records.view import BatchView

_VOTERS = 6
_VERSION = 0


class VoterEndpoint(Struct):
    """Where a voter listens."""

    name: str = field(STRING)
    host: str = field(STRING)
    port: int = field(UINT16)


class KRaftVersionFeature(Struct):
    """The range of ``kraft.version`` that a voter supports."""

    min_supported_version: int = field(INT16)
    max_supported_version: int = field(INT16)


class Voter(Struct):
    """A controller that votes."""

    voter_id: int = field(INT32)
    voter_directory_id: bytes = field(UUID)
    endpoints: list[VoterEndpoint] = field(Array(VoterEndpoint))
    kraft_version_feature: KRaftVersionFeature = field(KRaftVersionFeature)


class VotersRecord(Struct):
    """All voters."""

    version: int = field(INT16)
    voters: list[Voter] = field(Array(Voter))


def voters_in(batch: BatchView) -> Iterator[VotersRecord]:
    """Those of a control batch, of which only the first version is known; ProtocolError for one that cannot be read."""
    for offset, key, value in keys_and_values(batch):
        if key is None or value is None or int.from_bytes(key[2:4], "big") != _VOTERS:
            continue
        try:
            yield struct_of(VotersRecord, value, 0, _VERSION, _VERSION)
        except ProtocolError as error:
            raise ProtocolError(
                f"the voters at offset {offset} of the metadata log cannot be read", why=str(error)
            ) from None
