"""``kcli acls list``: list ACLs."""

from kcli.commands.acls._selection import acl_options
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.row_output import print_rows
from kcli.flows.acls.columns import ACL
from kcli.flows.acls.rows import acl_row
from kcli.flows.acls.selection import Selection, nothing_selected, selected_acls


@command(
    "list",
    examples=(
        ("kcli acls list", "all ACLs"),
        ("kcli acls list --principal User:alice", "of one principal"),
        ("kcli acls list --topic orders", "those with this name, whatever their pattern"),
        (
            "kcli acls list --topic orders --pattern match",
            "all that apply to the topic: prefixes and '*' too",
        ),
        ("kcli acls list --deny -o json", "what is denied, for scripts"),
    ),
)
@acl_options(
    "list",
    patterns=("literal", "prefixed", "match"),
    pattern="only this kind of name; match: all ACLs that apply to the given names",
)
@pass_invocation
def list_acls(inv: Invocation, selected: Selection) -> int:
    """List ACLs.

    Options that are given several times select ACLs with one of the values; different options narrow the selection.
    Principals, hosts and operations are compared literally: `User:*`, `'*'` and all select the ACLs that say so.
    """
    inv.page()
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = selected_acls(admin, selected)
        if not found:
            inv.talk.note(nothing_selected(admin, selected))
    print_rows(inv, "AclList", ACL, map(acl_row, found), cluster, item="Acl")
    return inv.finish(done=True)
