"""``kcli perf``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "perf",
    cls=Group,
    examples=(
        ("kcli perf produce -t load --num-records 1M", "as fast as this machine can"),
        ("kcli perf e2e -t load --duration 30s --throughput 1k", "from the producer to the consumer"),
        ("kcli perf compare before.json after.json", "whether a change made it slower"),
    ),
)
def perf() -> None:
    """Measure the rate and the latency of a cluster, and compare measurements."""
