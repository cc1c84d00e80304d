"""What this client may do, as brokers report it with their descriptions (KIP-430): so a plan refuses what they would.

Brokers before 2.3 report nothing; then only the act shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from kcli.core.admin.admin import Admin
from kcli.core.errors import BrokerError, KcliError, NotValidatedError
from kcli.core.permissions import AclOperation, Permission, is_allowed, on_cluster, on_group, on_topic

if TYPE_CHECKING:
    from kcli.core.admin.brokers import ClusterDescription
    from kcli.core.admin.group_description import GroupDescription


def refusal(operations: int | None, need: Permission, doing: str) -> KcliError | None:
    """The error with which a broker would refuse what ``need`` is needed for; ``doing`` names it."""
    if is_allowed(operations, AclOperation[need.operation]):
        return None
    return BrokerError(need.code, doing, needs=[need])


def not_checked(error: NotValidatedError) -> str:
    """What a plan says of changes that no broker has checked."""
    return f"not checked by the broker: {error.why}; it was compared with what the cluster shows"


def may_see_all(describe: Callable[[], ClusterDescription]) -> bool:
    """Whether lists have everything: brokers leave out what a client may not describe, and do not say so.

    They list all groups to those who may describe the cluster; to others only those that they may describe by name. True
    also where brokers do not report it. ``describe`` asks them for the operations, too.
    """
    try:
        operations = describe().operations
    except KcliError:
        return True
    return is_allowed(operations, AclOperation.DESCRIBE)


def may_be_more(what: str) -> str:
    """The warning of a list of all ``what`` where ``may_see_all`` is false."""
    return (
        f"there may be more {what}: brokers leave out those that this client may not describe, and without DESCRIBE "
        "on the cluster that cannot be seen"
    )


def hidden(admin: Admin, *kinds: str) -> list[str]:
    """The warnings where lists of all of these ``kinds`` need not have them all."""
    seen = not kinds or may_see_all(lambda: admin.describe_cluster(include_operations=True))
    return [] if seen else [may_be_more(what) for what in kinds]


def denied_topics(admin: Admin, names: Sequence[str], operation: str, doing: str) -> dict[str, KcliError]:
    """An error for each topic on which the operation is not permitted; ``doing`` has ``{}`` in the name's place."""
    return denied_of(admin.topic_operations(names), operation, doing) if names else {}


def denied_of(
    permitted: Mapping[str, int | KcliError | None], operation: str, doing: str
) -> dict[str, KcliError]:
    """The same of topics whose operations are known. Pure."""
    found: dict[str, KcliError] = {}
    for name, operations in permitted.items():
        error = (
            operations
            if isinstance(operations, KcliError)
            else refusal(operations, on_topic(operation, name), doing.format(name))
        )
        if error is not None:
            found[name] = error
    return found


def denied_creations(admin: Admin, names: Sequence[str]) -> dict[str, KcliError]:
    """An error for each topic that may not be created: CREATE is needed on the cluster, or on the topic's name."""
    if not names or denied_on_cluster(admin, "CREATE", "creating topics") is None:
        return {}
    refused = {
        name: refusal(operations, on_topic("CREATE", name), creation_failed(name))
        for name, operations in admin.topic_operations(names, missing_too=True).items()
        if not isinstance(operations, KcliError)  # hidden: only the creation shows what is allowed
    }
    return {name: error for name, error in refused.items() if error is not None}


def creation_failed(name: str) -> str:
    """What is said of a topic that could not be created."""
    return f"could not create topic {name}"


def denied_groups(groups: Mapping[str, GroupDescription], operation: str, doing: str) -> dict[str, KcliError]:
    """The same of groups, which were described with their operations."""
    refused = {
        name: refusal(group.operations, on_group(operation, name), doing.format(name))
        for name, group in groups.items()
    }
    return {name: error for name, error in refused.items() if error is not None}


def denied_on_cluster(admin: Admin, operation: str, doing: str) -> KcliError | None:
    """The error if the operation on the cluster is not permitted."""
    operations = admin.describe_cluster(include_operations=True).operations
    if operations == 0 and operation not in _WITH_DESCRIBE:
        return None  # brokers report none at all to whom they refuse DESCRIBE
    return refusal(operations, on_cluster(operation), doing)


_WITH_DESCRIBE = ("ALTER", "DESCRIBE")
"""Operations on the cluster that include DESCRIBE (org.apache.kafka.metadata.authorizer.StandardAuthorizer)."""
