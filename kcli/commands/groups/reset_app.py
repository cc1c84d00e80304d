"""``kcli groups reset-app``: reset a Kafka Streams application, so that it starts anew."""

import click

from kcli.commands.groups.rewind.options import REWIND_EXAMPLES, spec_target
from kcli.commands.shared.changing import run_change
from kcli.commands.shared.cluster import unique
from kcli.commands.shared.command import command
from kcli.commands.shared.confirm import may_be_agreed
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.offset_spec import has_terminal
from kcli.commands.shared.options import GROUP, TARGET, TOPIC, option
from kcli.commands.shared.params import TOPIC_PARTITIONS, TopicPartitions
from kcli.commands.shared.usage import usage


@command(
    "reset-app",
    reads=("XDG_STATE_HOME",),
    exits={
        6: "some of it was done: the same line finishes what is left",
        7: "the application runs, or it is not known whether an internal topic is its own",
    },
    examples=(
        (
            "kcli groups reset-app counts --dry-run",
            "the offsets that would be set, the topics that would be deleted",
        ),
        ("kcli groups reset-app counts", "from the start of its input topics, after its name is typed"),
        ("kcli groups reset-app counts --input-topic orders --to @-1d --yes", "one input, from a day ago on"),
        (
            "kcli groups reset-app counts --internal-topic counts-store-changelog --dry-run",
            "only this one of its internal topics",
        ),
    ),
)
@click.argument("application", type=GROUP, metavar="APP")
@option(
    "--input-topic",
    "inputs",
    type=TOPIC_PARTITIONS,
    multiple=True,
    metavar="TOPIC[:LIST]",
    help="only this input, or some of its partitions, as in orders:0,2-4; repeatable; else all inputs",
)
@option(
    "--to",
    type=TARGET,
    metavar="SPEC",
    help="where the inputs are read from: earliest (the default), latest, an offset, +N or -N from the commit, a time",
)
@option(
    "--from-file", metavar="FILE", help="the offsets of the inputs from a csv: [group,]topic,partition,offset"
)
@option(
    "--intermediate-topic",
    "intermediate",
    type=TOPIC,
    multiple=True,
    metavar="TOPIC",
    help="a topic that the application writes and reads: it is skipped to its end; repeatable",
)
@option(
    "--internal-topic",
    "internal",
    type=TOPIC,
    multiple=True,
    metavar="TOPIC",
    help="delete only this one of its internal topics; repeatable",
)
@pass_invocation
def reset_app(
    inv: Invocation,
    /,
    application: str,
    inputs: tuple[TopicPartitions, ...],
    to: str | None,
    from_file: str | None,
    intermediate: tuple[str, ...],
    internal: tuple[str, ...],
) -> int:
    """Reset a Kafka Streams application: set the offsets of its inputs, and delete its internal topics.

    APP is its application.id, of the classic protocol or the new one. Its inputs are those of its topology, as far as
    the coordinator knows it, else the topics that it has committed offsets for. Its internal topics are those of its
    topology, else repartition topics and changelogs that are named APP-….

    A topic that another group's name fits, too, such as app-2-counts-changelog where there are groups app and app-2, is
    never deleted by its name alone.

    An application that runs is refused: stop all instances first. Shows a plan, asks for the name, sets the offsets,
    deletes the topics, and reads all of it back. What was interrupted is finished by the same line. The offsets can be
    restored with `kcli groups rewind APP --undo`, the topics cannot. Local state has to be removed at the instances.
    """
    if to is not None and from_file is not None:
        raise usage(
            "groups reset-app: --to and --from-file together",
            why="both say where the inputs are read from",
            do="give one of them",
        )
    if both := {one.topic for one in inputs} & set(intermediate):
        raise usage(
            f"groups reset-app: {min(both)} is given as an input and as an intermediate topic",
            why="an input is read again, an intermediate topic is skipped to its end",
            do="give it once",
        )
    # clients are loaded when the command runs
    from kcli.flows.groups.app_offsets import ResetRequest
    from kcli.flows.groups.app_reset import AppReset
    from kcli.flows.rewind.offsets_file import read_targets
    from kcli.flows.rewind.scope import parse_topics

    if from_file is not None:
        target, words = read_targets(from_file, [application])[application], f"the offsets in {from_file}"
    else:
        terminal = has_terminal(inv)
        target, words = spec_target(
            to or "earliest", "groups reset-app: --to", REWIND_EXAMPLES, terminal=terminal
        )
    request = ResetRequest(
        application, target, words, parse_topics(map(str, inputs)), unique(intermediate), unique(internal)
    )
    dry = inv.dry_run or not may_be_agreed(inv)
    return run_change(inv, AppReset(request, inv.cluster_name, again=inv.yes, dry=dry))
