"""``kcli cluster``: a table of its verbs, each a module that is imported when it runs."""

import click

from kcli.commands.shared.command import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "describe": (
        "kcli.commands.cluster.describe:describe_cluster",
        "show brokers, controller, versions, and partitions that are offline or under-replicated",
    ),
}


@click.group(
    "cluster",
    cls=LazyGroup,
    table=VERBS,
    examples=(("kcli cluster describe", "brokers, controller, partitions in trouble"),),
)
def cluster() -> None:
    """Describe the cluster and its brokers."""
