"""What ``kcli cluster describe`` does. Columns and rows are in ``_rows.py``."""

from kcli.account.survey import Missing
from kcli.commands.cluster import _rows as view
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.log_dirs import read_log_dirs
from kcli.commands.shared.usage import usage
from kcli.flows.cluster_state import broker_states, observe


def describe(inv: Invocation, *, features: bool, log_dirs: bool) -> int:
    """Describes the cluster. Returns the exit status."""
    if features and log_dirs and view.one_table(inv):
        form = f"-o {inv.out.kind}" if inv.out.kind not in (None, "plain") else "--no-headers"
        raise usage(
            f"cluster describe: --features and --log-dirs cannot both be shown with {form}",
            why="that is one table, and they have different columns",
            do="run it once for each, or use -o json",
        )
    inv.page()
    with open_admin(inv) as admin:
        admin.foresee(topics=True, fenced=True, brokers=True)
        cluster = connect(inv, admin)
        state = observe(admin)
        brokers = broker_states(state.description, state.topics)
        directories = read_log_dirs(inv, admin, brokers) if log_dirs else None
    for error in state.errors:
        inv.lacks(Missing.of(error))
    for topic in state.topics:
        if topic.error is not None:
            inv.talk.warn(f"the description of topic {topic.name} is incomplete: {topic.error}")
            inv.lacks(
                Missing.of(topic.error, f"a part of the description of topic {topic.name}"),
                told=True,
            )
    view.print_state(inv, cluster, state, brokers, with_features=features, log_dirs=directories)
    return inv.finish(done=True)
