"""``kcli reassign``: a table of its verbs, each a module that is imported when it runs."""

import click

from kcli.commands.shared.command import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "plan": (
        "kcli.commands.reassign.plan:plan_reassignment",
        "plan which replicas to move: balanced, spread over racks, and as few as possible",
    ),
    "run": ("kcli.commands.reassign.run:run_reassignment", "move replicas as FILE says; - is stdin"),
    "status": (
        "kcli.commands.reassign.status:reassignment_status",
        "show the partitions that are being moved, or how far those of FILE are",
    ),
    "cancel": (
        "kcli.commands.reassign.cancel:cancel_reassignment",
        "cancel moves in progress: partitions keep the replicas that they had before",
    ),
}


@click.group(
    "reassign",
    cls=LazyGroup,
    table=VERBS,
    examples=(
        ("kcli reassign plan --topic orders moves.json", "balance a topic over all brokers"),
        ("kcli reassign run moves.json --throttle 50MB/s --watch", "move it, and wait for the end"),
    ),
)
def reassign() -> None:
    """Move replicas of partitions to other brokers, and change how many there are."""
