"""``kcli acls delete``: delete ACLs."""

from kcli.commands.acls._selection import acl_options
from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.flows.acls.selection import Selection


@command(
    "delete",
    examples=(
        ("kcli acls delete --principal User:alice", "after a plan, and when the principal is typed"),
        ("kcli acls delete --principal User:bob --operation write --topic orders --yes", "in a script"),
        ("kcli acls delete --topic orders --dry-run", "only show what would be deleted"),
    ),
)
@acl_options("delete")
@pass_invocation
def delete_acls(inv: Invocation, selected: Selection) -> int:
    """Delete ACLs: those that are selected and shown in the plan, and no others.

    The options select as in `kcli acls list`.

    What has to be typed, or given with --confirm, is the principal if all ACLs are of one, else the name of the
    resource if all are of one, else the cluster's id. --yes answers, too, unless neither a principal nor a resource
    is given: what could match every ACL requires --confirm with the cluster's id. Afterwards the ACLs are read again.
    Nothing selected: exit code 0.
    """
    from kcli.flows.acls.delete import AclDeletion  # clients are loaded when the command runs

    return run_change(inv, AclDeletion(selected))
