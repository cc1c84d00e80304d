"""ACLs: lists those that filters match, creates and deletes them (KIP-140, KIP-290).

Any broker accepts these requests; those of a KRaft cluster forward changes to the controller.
"""

from collections.abc import Collection, Iterator
from typing import Protocol, TypeVar

from kcli.core.classes import IntEnum, dataclass
from kcli.core.cluster.cluster import ANY, Cluster
from kcli.core.cluster.fanout import Items, Part, fan_out, portions
from kcli.core.cluster.routes import ToBroker
from kcli.core.connection.plan import Broker
from kcli.core.error_codes import NONE, SECURITY_DISABLED
from kcli.core.errors import BrokerError, KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.permissions import AclOperation, on_cluster
from kcli.core.protocol.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from kcli.core.protocol.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from kcli.core.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

E = TypeVar("E", bound=IntEnum)
A = TypeVar("A")
R = TypeVar("R", DescribeAclsRequest, CreateAclsRequest, DeleteAclsRequest)

CLUSTER_NAME = "kafka-cluster"
"""The name of the only resource of the type cluster."""

_ANY = 1
_FIRST_WITH_USERS = 3


class AclResource(IntEnum):
    """The type of a resource, with Kafka's numbers."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class AclPattern(IntEnum):
    """How a name is compared, with Kafka's numbers. MATCH is for filters: every pattern that applies to the name."""

    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclPermission(IntEnum):
    """Whether an ACL allows or denies, with Kafka's numbers."""

    DENY = 2
    ALLOW = 3


@dataclass(frozen=True, slots=True, order=True)
class AclBinding:
    """One ACL. ``host`` is an address or ``*``.

    Numbers that this version does not know stay numbers.
    """

    resource: AclResource | int
    name: str
    pattern: AclPattern | int
    principal: str
    permission: AclPermission | int
    operation: AclOperation | int
    host: str

    def __str__(self) -> str:
        what = f"{self.principal} {word(self.operation)} {word(self.resource)} {self.name}"
        return f"{word(self.permission)} {what} ({word(self.pattern)}) from {self.host}"

    @property
    def filter(self) -> "AclFilter":
        """The filter that matches this ACL only."""
        return AclFilter(
            self.resource, self.name, self.pattern, self.principal, self.permission, self.operation, self.host
        )


@dataclass(frozen=True, slots=True)
class AclFilter:
    """Which ACLs; None is any. Principal and host are compared literally: ``User:*`` matches only itself."""

    resource: AclResource | int | None = None
    name: str | None = None
    pattern: AclPattern | int | None = None
    principal: str | None = None
    permission: AclPermission | int | None = None
    operation: AclOperation | int | None = None
    host: str | None = None

    def __str__(self) -> str:
        return " ".join(
            value if isinstance(value, str) else word(value)
            for value in (self.permission, self.principal, self.operation, self.resource, self.name)
            if value is not None
        )


class NoAuthorizerError(KcliError):
    """The brokers have no authorizer, so there are no ACLs."""

    exit_code = ExitCode.REFUSED


def word(number: int) -> str:
    """``read`` for READ; ``unknown (99)`` for a number that this version does not know."""
    return number.name.lower() if isinstance(number, IntEnum) else f"unknown ({number})"


def describe_acls(
    cluster: Cluster, filters: Collection[AclFilter], deadline: float
) -> dict[AclFilter, list[AclBinding] | KcliError]:
    """The ACLs that each filter matches."""

    def request(wanted: AclFilter) -> DescribeAclsRequest:
        return DescribeAclsRequest(
            resource_type_filter=_code(wanted.resource),
            resource_name_filter=wanted.name,
            pattern_type_filter=_code(wanted.pattern),
            principal_filter=wanted.principal,
            host_filter=wanted.host,
            operation=_code(wanted.operation),
            permission_type=_code(wanted.permission),
        )

    def ask(_broker: Broker, items: Items[AclFilter, None]) -> Iterator[Part[AclFilter]]:
        for wanted, _ in items:
            yield Part(_for_users(request(wanted), [wanted.resource]), [wanted])

    def read(
        response: DescribeAclsResponse, part: Part[AclFilter]
    ) -> Iterator[tuple[AclFilter, int | KcliError, list[AclBinding]]]:
        found = [
            _binding(row.resource_type, row.resource_name, row.pattern_type, acl)
            for row in response.resources
            for acl in row.acls
        ]
        outcome = _verdict(response.error_code, "listing ACLs", response.error_message, "describe")
        for wanted in part.keys:
            yield wanted, outcome, sorted(found)

    route = ToBroker[AclFilter](cluster, lambda _wanted: ANY)
    return fan_out(cluster, dict.fromkeys(filters), route, ask, read, deadline, "listing ACLs")


def create_acls(
    cluster: Cluster,
    bindings: Collection[AclBinding],
    deadline: float,
    *,
    unsure: set[AclBinding] | None = None,
) -> dict[AclBinding, KcliError | None]:
    """Creates ACLs; None on success, also for one that exists.

    ``unsure`` collects those with an attempt whose response was lost: it may have created them.
    """

    def ask(_broker: Broker, items: Items[AclBinding, None]) -> Iterator[Part[AclBinding]]:
        for some in portions(items):
            wanted = [binding for binding, _ in some]
            rows = [
                AclCreation(
                    resource_type=int(binding.resource),
                    resource_name=binding.name,
                    resource_pattern_type=int(binding.pattern),
                    principal=binding.principal,
                    host=binding.host,
                    operation=int(binding.operation),
                    permission_type=int(binding.permission),
                )
                for binding in wanted
            ]
            yield Part(_for_users(CreateAclsRequest(creations=rows), [b.resource for b in wanted]), wanted)

    def read(
        response: CreateAclsResponse, part: Part[AclBinding]
    ) -> Iterator[tuple[AclBinding, int | KcliError, None]]:
        for binding, row in zip(part.keys, response.results, strict=False):  # they have no names: by position
            what = f"creating ACL {binding}"
            yield binding, _verdict(row.error_code, what, row.error_message, "alter"), None

    route = ToBroker[AclBinding](cluster, lambda _binding: ANY)
    return fan_out(
        cluster, dict.fromkeys(bindings), route, ask, read, deadline, "creating ACL", unsure=unsure
    )


def delete_acls(
    cluster: Cluster,
    filters: Collection[AclFilter],
    deadline: float,
    *,
    unsure: set[AclFilter] | None = None,
) -> dict[AclFilter, list[AclBinding] | KcliError]:
    """Deletes the ACLs that each filter matches; returns those that were deleted.

    ``unsure`` collects the filters with an attempt whose response was lost: it may have deleted what they match.
    """

    def ask(_broker: Broker, items: Items[AclFilter, None]) -> Iterator[Part[AclFilter]]:
        for some in portions(items):
            wanted = [each for each, _ in some]
            rows = [
                DeleteAclsFilter(
                    resource_type_filter=_code(each.resource),
                    resource_name_filter=each.name,
                    pattern_type_filter=_code(each.pattern),
                    principal_filter=each.principal,
                    host_filter=each.host,
                    operation=_code(each.operation),
                    permission_type=_code(each.permission),
                )
                for each in wanted
            ]
            yield Part(
                _for_users(DeleteAclsRequest(filters=rows), [each.resource for each in wanted]), wanted
            )

    def read(
        response: DeleteAclsResponse, part: Part[AclFilter]
    ) -> Iterator[tuple[AclFilter, int | KcliError, list[AclBinding]]]:
        for wanted, row in zip(part.keys, response.filter_results, strict=False):
            what = f"deleting ACLs {wanted}"
            outcome = _verdict(row.error_code, what, row.error_message, "alter")
            deleted = []
            for acl in row.matching_acls:
                if acl.error_code == NONE:
                    deleted.append(_binding(acl.resource_type, acl.resource_name, acl.pattern_type, acl))
                elif outcome == NONE:
                    outcome = _verdict(acl.error_code, what, acl.error_message, "alter")
            yield wanted, outcome, sorted(deleted)

    route = ToBroker[AclFilter](cluster, lambda _wanted: ANY)
    return fan_out(
        cluster, dict.fromkeys(filters), route, ask, read, deadline, "deleting ACLs", unsure=unsure
    )


def _for_users(request: R, resources: Collection[AclResource | int | None]) -> R:
    """Resources of the type user exist since v3 (KIP-373)."""
    if AclResource.USER in resources:
        request.require_version(_FIRST_WITH_USERS)
    return request


class _Row(Protocol):
    """The fields that the ACLs of responses share."""

    principal: str
    host: str
    operation: int
    permission_type: int


def _binding(resource: int, name: str, pattern: int, row: _Row) -> AclBinding:
    return AclBinding(
        known(AclResource, resource),
        name,
        known(AclPattern, pattern),
        row.principal,
        known(AclPermission, row.permission_type),
        known(AclOperation, row.operation),
        row.host,
    )


def known(kind: type[E], number: int) -> E | int:
    """The member of that number; a number that this version does not know stays one."""
    try:
        return kind(number)
    except ValueError:
        return number


def _code(value: int | None) -> int:
    return _ANY if value is None else int(value)


def _verdict(code: int, what: str, message: str | None, needed: str) -> int | KcliError:
    """NONE, or the error; ``needed``: the operation on the cluster that the request requires."""
    if code == NONE:
        return NONE
    if code == SECURITY_DISABLED:
        return NoAuthorizerError(
            f"{what} failed: this cluster has no authorizer",
            why="SECURITY_DISABLED (54): without one there are no ACLs, and every client may do everything",
            do="set authorizer.class.name in the configuration of all brokers and controllers, with KRaft to "
            "org.apache.kafka.metadata.authorizer.StandardAuthorizer, and restart them",
        )
    return BrokerError(code, what, message=message or "", needs=[on_cluster(needed.upper())])
