"""What brokers must offer for acts that have no ``validateOnly``: without it, a plan is refused before it is shown."""

from typing import Literal

from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from kcli.core.protocol.messages.create_partitions import CreatePartitionsRequest
from kcli.core.protocol.messages.delete_groups import DeleteGroupsRequest
from kcli.core.protocol.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest
from kcli.core.protocol.messages.elect_leaders import ElectLeadersRequest
from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.protocol.messages.offset_delete import OffsetDeleteRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.protocol.messages.unregister_broker import UnregisterBrokerRequest

Act = Literal[
    "alter_share_offsets",
    "delete_groups",
    "delete_offsets",
    "delete_share_offsets",
    "elect_leaders",
    "elect_unclean",
    "enabled_deletion",
    "fetch_stable",
    "hold_group",
    "unregister_broker",
]

NEEDS: dict[Act, tuple[type[Request], int]] = {
    "alter_share_offsets": (AlterShareGroupOffsetsRequest, 0),
    "delete_groups": (DeleteGroupsRequest, 0),
    "delete_offsets": (OffsetDeleteRequest, 0),
    "delete_share_offsets": (DeleteShareGroupOffsetsRequest, 0),
    "enabled_deletion": (
        CreatePartitionsRequest,
        0,
    ),  # since Kafka 1.0, as delete.topic.enable=true by default
    "elect_leaders": (ElectLeadersRequest, 0),
    "elect_unclean": (ElectLeadersRequest, 1),
    "fetch_stable": (OffsetFetchRequest, 7),
    "hold_group": (JoinGroupRequest, 4),
    "unregister_broker": (UnregisterBrokerRequest, 0),
}
"""The request of each act, and its first version that will do."""
