"""``kcli acls create``: create ACLs."""

from kcli.commands.acls._selection import acl_options
from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.flows.acls.selection import Selection


@command(
    "create",
    examples=(
        (
            "kcli acls create --principal User:alice --operation read --topic orders --group billing",
            "to consume",
        ),
        ("kcli acls create --principal User:bob --operation write --topic orders --yes", "to produce"),
        ("kcli acls create --principal User:app --producer --topic orders", "all that a producer needs"),
        (
            "kcli acls create --principal User:dr --mirror target --topic orders --group billing --dry-run",
            "all that kcli mirror needs on its target, with the offsets of a group",
        ),
        (
            "kcli acls create --principal User:etl --operation all --topic etl- --pattern prefixed",
            "by prefix",
        ),
        ("kcli acls create --principal User:eve --operation all --topic '*' --deny", "deny it"),
        ("kcli acls create --principal User:ops --operation alter --cluster --dry-run", "only show the plan"),
    ),
)
@acl_options(
    "create",
    topic="a topic; '*' is all topics",
    pattern="prefixed: for all names that begin with the given ones (default: literal)",
    host="only from this IP address (default: '*', any); Kafka compares no host names",
    deny="deny it, which precedes what is allowed",
    presets=True,
)
@pass_invocation
def create_acls(inv: Invocation, selected: Selection) -> int:
    """Create ACLs: after a plan and a question, and with a check afterwards.

    One ACL for each combination of principal, operation, resource and host. An operation has to exist for each of the
    resources: idempotent_write and cluster_action, for example, only for --cluster.

    --producer and --consumer create what kafka-acls creates for them. Idempotent producers need nothing on the cluster
    since Kafka 2.8; before, add IDEMPOTENT_WRITE on --cluster. --mirror includes the topic, lease and transactional ids
    that kcli mirror keeps on its target, but not what --sync-acls needs (ALTER and DESCRIBE on --cluster) nor what
    --on-delete delete needs (DELETE on the topics).

    ACLs that exist already are shown as such and are no failure. READ, WRITE, DELETE and ALTER include DESCRIBE;
    ALTER_CONFIGS includes DESCRIBE_CONFIGS. `kcli undo` deletes those that were created, and no others.
    """
    # Clients are loaded when the command runs.
    from kcli.flows.acls.create import AclCreation
    from kcli.flows.acls.presets import PRODUCER

    if PRODUCER in selected.presets:
        inv.talk.note("since Kafka 2.8 idempotent producers need no IDEMPOTENT_WRITE on the cluster")
    return run_change(inv, AclCreation(selected.bindings()))
