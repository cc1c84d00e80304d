"""``kcli brokers list``: list brokers."""

from kcli.account.survey import Missing
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.row_output import print_rows
from kcli.flows.brokers.rows import COLUMNS, broker_row
from kcli.flows.cluster_state import broker_states, observe


@command(
    "list",
    examples=(
        ("kcli brokers list", "state, roles, address, rack, version and replicas of each"),
        ("kcli brokers list -o name", "only their numbers"),
        ("kcli brokers list -o json", "for scripts"),
    ),
)
@pass_invocation
def list_brokers(inv: Invocation) -> int:
    """List brokers with their state, roles, addresses, racks, versions and replicas.

    STATE is online, fenced (registered, but it has lost contact with the controller; reported by Kafka 4.0 and later),
    missing (only replica lists name it) or unknown (log directories are read). HOST and PORT are those of the listener
    that this client uses; `kcli brokers describe` shows the others.

    VERSION is the release that a broker's features imply; it is unknown before Kafka 3.3 and with ZooKeeper.
    """
    inv.page()
    with open_admin(inv) as admin:
        admin.foresee(topics=True, fenced=True, brokers=True)
        cluster = connect(inv, admin)
        state = observe(admin)
    for error in state.errors:
        inv.lacks(Missing.of(error))
    rows = [broker_row(state, broker) for broker in broker_states(state.description, state.topics)]
    print_rows(inv, "BrokerList", COLUMNS, rows, cluster, item="Broker")
    return inv.finish(done=True)
