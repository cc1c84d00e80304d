"""``kcli acls check``: whether ACLs allow something, and which of them decides."""

from kcli.commands.acls._selection import acl_options
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.row_output import print_rows
from kcli.flows.acls.check import COLUMNS, DeniedError, questions, verdicts
from kcli.flows.acls.selection import Selection


@command(
    "check",
    exits={8: "something is denied"},
    examples=(
        ("kcli acls check --principal User:alice --operation read --topic orders", "may she read it?"),
        (
            "kcli acls check --principal User:alice --operation read --topic orders --group billing --host 192.0.2.7",
            "may she consume as a member of the group, from this address?",
        ),
        (
            "kcli acls check --principal User:bob --operation write --operation create --topic new -o json",
            "two operations, for scripts",
        ),
    ),
)
@acl_options(
    "check",
    patterns=(),
    topic="a topic; it need not exist",
    host="from this IP address (default: one that no ACL names)",
    deny="",
)
@pass_invocation
def check_acls(inv: Invocation, selected: Selection) -> int:
    """Say whether ACLs allow an operation, and which ACL decides.

    One answer for each combination of principal, resource, operation and host, by the rules of Kafka: an ACL that denies
    precedes those that allow, and what no ACL allows is denied. Brokers do not tell who is a superuser, nor whether
    resources without ACLs are open to everyone: both may allow what is denied here.
    """
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = verdicts(admin, questions(selected))
    inv.talk.note("superusers may do everything; brokers do not tell who they are")
    for one in found:
        for rule in one.by_host:
            inv.talk.note(f"{one.asked}: otherwise from {rule.host}, by {rule}")
    print_rows(inv, "AclCheckList", COLUMNS, (one.row() for one in found), cluster, item="AclCheck")
    denied = [one for one in found if not one.allowed]
    if denied:
        more = f", and {len(denied) - 1} more" if len(denied) > 1 else ""
        why = denied[0].why
        inv.failed(DeniedError(f"{denied[0].asked} is denied{more}", why=why))
    return inv.finish(done=True)
