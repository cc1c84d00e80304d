# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""Records of control batches in ``__cluster_metadata`` and its snapshots: notes of KRaft (KIP-595, KIP-853).

Each begins with its version, which is its first field. All versions are flexible.
"""

from typing import ClassVar

from kcli.core.protocol.schema import INT16, INT32, INT64, NO_UUID, STRING, UINT16, UUID, Array, Struct, field


class LeaderChangeMessageVoter(Struct):
    voter_id: int = field(INT32)
    voter_directory_id: bytes = field(UUID, "1+", default=NO_UUID)


class LeaderChangeMessage(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 1)

    version: int = field(INT16)
    leader_id: int = field(INT32)
    voters: list[LeaderChangeMessageVoter] = field(Array(LeaderChangeMessageVoter))
    granting_voters: list[LeaderChangeMessageVoter] = field(Array(LeaderChangeMessageVoter))


class SnapshotHeaderRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)

    version: int = field(INT16)
    last_contained_log_timestamp: int = field(INT64)


class SnapshotFooterRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)

    version: int = field(INT16)


class KRaftVersionRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)

    version: int = field(INT16)
    kraft_version: int = field(INT16)


class Endpoint(Struct):
    name: str = field(STRING)
    host: str = field(STRING)
    port: int = field(UINT16)


class KRaftVersionFeature(Struct):
    min_supported_version: int = field(INT16)
    max_supported_version: int = field(INT16)


class VotersVoter(Struct):
    voter_id: int = field(INT32)
    voter_directory_id: bytes = field(UUID)
    endpoints: list[Endpoint] = field(Array(Endpoint))
    kraft_version_feature: KRaftVersionFeature = field(KRaftVersionFeature)


class VotersRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)

    version: int = field(INT16)
    voters: list[VotersVoter] = field(Array(VotersVoter))
