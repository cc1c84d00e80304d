"""Which operations Kafka checks of which resources."""

from kcli.core.admin.acls import AclResource
from kcli.core.permissions import AclOperation

_OP = AclOperation
OPERATIONS_OF: dict[AclResource, tuple[AclOperation, ...]] = {
    AclResource.TOPIC: (
        _OP.ALL, _OP.READ, _OP.WRITE, _OP.CREATE, _OP.DELETE, _OP.ALTER, _OP.DESCRIBE, _OP.DESCRIBE_CONFIGS,
        _OP.ALTER_CONFIGS,
    ),
    AclResource.GROUP: (_OP.ALL, _OP.READ, _OP.DELETE, _OP.DESCRIBE, _OP.DESCRIBE_CONFIGS, _OP.ALTER_CONFIGS),
    AclResource.CLUSTER: (
        _OP.ALL, _OP.CREATE, _OP.ALTER, _OP.DESCRIBE, _OP.CLUSTER_ACTION, _OP.DESCRIBE_CONFIGS, _OP.ALTER_CONFIGS,
        _OP.IDEMPOTENT_WRITE,
    ),
    AclResource.TRANSACTIONAL_ID: (_OP.ALL, _OP.WRITE, _OP.DESCRIBE, _OP.TWO_PHASE_COMMIT),
    AclResource.DELEGATION_TOKEN: (_OP.ALL, _OP.DESCRIBE),
    AclResource.USER: (_OP.ALL, _OP.CREATE_TOKENS, _OP.DESCRIBE_TOKENS),
}  # fmt: skip
"""What Kafka checks of each resource (org.apache.kafka.security.authorizer.AclEntry). Brokers store anything."""
