"""``kcli features list``: list the features of the cluster."""

from kcli.commands.shared.cluster import connect, open_admin, readable
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.row_output import print_rows
from kcli.flows.features.rows import COLUMNS, epoch_of, feature_rows


@command(
    "list",
    examples=(
        ("kcli features list", "the levels that are in effect, and those that brokers support"),
        ("kcli features list -o json", "for scripts"),
    ),
)
@pass_invocation
def list_features(inv: Invocation) -> int:
    """List the features of the cluster: the level that is in effect, and those that brokers support.

    FINALIZED is the level that all brokers and controllers use; 0 is none. Where brokers support different ranges, as
    during an upgrade, there is a line for each range. There are no features before Kafka 2.7, with ZooKeeper, and with
    KRaft before 3.3.
    """
    inv.page()
    with open_admin(inv) as admin:
        admin.foresee(brokers=True)
        cluster = connect(inv, admin)
        found = readable(inv, admin.describe_features())
    rows = feature_rows(found)
    if found and not rows:
        inv.talk.note(
            "no broker reports features: there are none before Kafka 2.7, with ZooKeeper, or with KRaft before 3.3"
        )
    print_rows(inv, "FeatureList", COLUMNS, rows, cluster, item="Feature", head={"epoch": epoch_of(found)})
    return inv.finish(done=bool(found))
