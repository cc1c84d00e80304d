"""``kcli mirror``: its help. Its verbs are rows of ``kcli/commands/registry.py``; a line without one is ``run``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "mirror",
    cls=Group,
    default="run",
    examples=(
        (
            "kcli mirror --from a:9092 --to b:9092 -t orders",
            "copy a topic, and follow it (the same as mirror run)",
        ),
        ("kcli mirror status --to b:9092", "the jobs that write to a cluster"),
        ("kcli mirror verify --from a:9092 --to b:9092 -t orders", "compare what is copied"),
    ),
)
def mirror() -> None:
    """Copy topics to another cluster, follow them, and prove that they are equal.

    Without a verb, the options are those of `kcli mirror run`.
    """
