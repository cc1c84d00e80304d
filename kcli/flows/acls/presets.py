"""What a kind of client needs, as ACLs: what ``kafka-acls --producer`` and ``--consumer`` create, and what a mirror needs
on each of its clusters. Pure.

IDEMPOTENT_WRITE on the cluster is in none of them: since Kafka 2.8 WRITE on any topic is enough (KIP-679).
"""

from __future__ import annotations

from collections.abc import Mapping

from kcli.core.admin.acls import AclResource
from kcli.core.classes import NamedTuple
from kcli.core.names import LEASES, MIRROR_TRANSACTIONS, STATE_TOPIC
from kcli.core.permissions import AclOperation

_OP = AclOperation
Operations = tuple[AclOperation, ...]


class Own(NamedTuple):
    """Names of kcli's own that are needed besides; ``prefixed``: all that begin with the name."""

    kind: AclResource
    name: str
    operations: Operations
    prefixed: bool = False


class Preset(NamedTuple):
    """``operations`` on what is named, by its kind; of the kinds in ``needed`` something has to be named."""

    option: str
    operations: Mapping[AclResource, Operations]
    needed: tuple[AclResource, ...]
    own: tuple[Own, ...] = ()


PRODUCER = Preset(
    "--producer",
    {
        AclResource.TOPIC: (_OP.WRITE, _OP.DESCRIBE, _OP.CREATE),
        AclResource.TRANSACTIONAL_ID: (_OP.WRITE, _OP.DESCRIBE),
    },
    (AclResource.TOPIC,),
)
CONSUMER = Preset(
    "--consumer",
    {AclResource.TOPIC: (_OP.READ, _OP.DESCRIBE), AclResource.GROUP: (_OP.READ,)},
    (AclResource.TOPIC, AclResource.GROUP),
)
MIRROR_SOURCE = Preset(
    "--mirror source",
    {AclResource.TOPIC: (_OP.READ, _OP.DESCRIBE_CONFIGS), AclResource.GROUP: (_OP.DESCRIBE,)},
    (AclResource.TOPIC,),
)
"""READ includes DESCRIBE. Groups are those of ``--sync-groups``."""
MIRROR_TARGET = Preset(
    "--mirror target",
    {
        AclResource.TOPIC: (
            _OP.READ, _OP.WRITE, _OP.CREATE, _OP.ALTER, _OP.DESCRIBE_CONFIGS, _OP.ALTER_CONFIGS,
        ),
        AclResource.GROUP: (_OP.READ,),
    },
    (AclResource.TOPIC,),
    (
        Own(AclResource.TOPIC, STATE_TOPIC, (_OP.READ, _OP.WRITE, _OP.CREATE, _OP.DESCRIBE_CONFIGS)),
        Own(AclResource.GROUP, LEASES, (_OP.READ,), prefixed=True),
        Own(AclResource.TRANSACTIONAL_ID, MIRROR_TRANSACTIONS, (_OP.WRITE,), prefixed=True),
    ),
)  # fmt: skip
"""It verifies what it wrote (READ), adds partitions (ALTER) and follows configurations."""
