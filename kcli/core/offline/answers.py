"""Which requests a cluster of log directories answers: a row an API. ApiVersions offers these and no others, so that
whatever would write is refused by name before anything is sent.

A handler takes the directories, the request and its version, and returns the response; None: not yet, it is asked again
when the request's time is up. It is imported when it is first asked, in the thread of the server.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kcli.core.classes import NamedTuple
from kcli.core.protocol.api import Request, Response

if TYPE_CHECKING:
    from kcli.core.offline.directories import Directories

Handler = Callable[["Directories", Any, int], Response | None]


class Answered(NamedTuple):
    """One API: the versions that are offered, the module of its messages, and the function that answers, as
    ``module.name`` in this package.
    """

    first: int
    last: int
    message: str
    handler: str

    def load(self) -> tuple[type[Request], Handler]:
        """The class of the request, and the function."""
        messages = import_module(f"kcli.core.protocol.messages.{self.message}")
        home, _, name = self.handler.partition(".")
        request = "".join(word.capitalize() for word in self.message.split("_")) + "Request"
        return getattr(messages, request), getattr(import_module(f"{__package__}.{home}"), name)


ANSWERS: dict[int, Answered] = {
    1: Answered(4, 18, "fetch", "fetching.fetch"),
    2: Answered(1, 11, "list_offsets", "listing_offsets.list_offsets"),
    3: Answered(0, 13, "metadata", "metadata.metadata"),
    9: Answered(1, 9, "offset_fetch", "groups.offset_fetch"),
    10: Answered(0, 6, "find_coordinator", "groups.find_coordinator"),
    15: Answered(0, 6, "describe_groups", "groups.describe_groups"),
    16: Answered(0, 5, "list_groups", "groups.list_groups"),
    18: Answered(0, 5, "api_versions", "metadata.api_versions"),
    23: Answered(2, 4, "offset_for_leader_epoch", "leader_epochs.offset_for_leader_epoch"),
    29: Answered(1, 3, "describe_acls", "access.describe_acls"),
    32: Answered(1, 4, "describe_configs", "configs.describe_configs"),
    35: Answered(1, 5, "describe_log_dirs", "log_dirs.describe_log_dirs"),
    41: Answered(1, 3, "describe_delegation_token", "access.describe_delegation_token"),
    46: Answered(0, 0, "list_partition_reassignments", "metadata.list_partition_reassignments"),
    48: Answered(0, 1, "describe_client_quotas", "access.describe_client_quotas"),
    50: Answered(0, 0, "describe_user_scram_credentials", "access.describe_user_scram_credentials"),
    55: Answered(0, 2, "describe_quorum", "quorum.describe_quorum"),
    60: Answered(0, 2, "describe_cluster", "metadata.describe_cluster"),
    61: Answered(0, 0, "describe_producers", "transactions.describe_producers"),
    65: Answered(0, 0, "describe_transactions", "transactions.describe_transactions"),
    66: Answered(0, 2, "list_transactions", "transactions.list_transactions"),
    69: Answered(0, 1, "consumer_group_describe", "groups.consumer_group_describe"),
    74: Answered(0, 1, "list_config_resources", "configs.list_config_resources"),
    75: Answered(0, 0, "describe_topic_partitions", "metadata.describe_topic_partitions"),
    77: Answered(1, 1, "share_group_describe", "share_groups.share_group_describe"),
    89: Answered(0, 1, "streams_group_describe", "groups.streams_group_describe"),
    90: Answered(0, 1, "describe_share_group_offsets", "share_groups.describe_share_group_offsets"),
}
"""By the key of the API."""
