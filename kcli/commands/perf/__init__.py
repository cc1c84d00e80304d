"""``kcli perf``: a table of its verbs, each a module that is imported when it runs."""

import click

from kcli.commands.shared.command import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "produce": ("kcli.commands.perf.produce:produce", "send records, and measure rate and latency"),
    "consume": ("kcli.commands.perf.consume:consume", "read records, and measure the rate"),
    "e2e": ("kcli.commands.perf.e2e:e2e", "send and receive records, and measure the time between"),
    "compare": ("kcli.commands.perf.compare:compare", "compare two runs, with confidence intervals"),
}


@click.group(
    "perf",
    cls=LazyGroup,
    table=VERBS,
    examples=(
        ("kcli perf produce -t load --num-records 1M", "as fast as this machine can"),
        ("kcli perf e2e -t load --duration 30s --throughput 1k", "from the producer to the consumer"),
        ("kcli perf compare before.json after.json", "whether a change made it slower"),
    ),
)
def perf() -> None:
    """Measure the rate and the latency of a cluster, and compare measurements."""
