"""``kcli topics trim``: delete the records before an offset or a time."""

import click

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.offset_spec import has_terminal, instant_text, is_ago, offset_spec
from kcli.commands.shared.options import TOPIC, OfferedType, option
from kcli.commands.shared.params import PARTITIONS, check_topic_name
from kcli.commands.shared.usage import usage
from kcli.core.clock import wall_ms
from kcli.core.positions import SPECIAL_NAMES, OffsetSpec, parse_duration_ms

_EXAMPLES = (
    "--before 1200, --before @-7d, --before 2026-11-21T10:00Z, --before -1000 (keeps the last 1000 of each partition), "
    "--before latest (all records)"
)


@command(
    "trim",
    examples=(
        ("kcli topics trim orders --before 7d", "what is older than a week; asks for the name to be typed"),
        ("kcli topics trim orders --before 1200 -p 0 --yes", "in a script"),
        ("kcli topics trim orders --before -1000 --dry-run", "all but the last 1000 of each partition"),
        ("kcli topics trim orders --before latest", "all records; the topic stays"),
        ("kcli topics trim --from-file offsets.json", "an offset for each partition that a file names"),
    ),
)
@click.argument("name", type=TOPIC, required=False, metavar="[TOPIC]")
@option(
    "--before",
    type=OfferedType("offset", ("latest",)),
    metavar="SPEC",
    help="the records before it are deleted: an offset, +N, -N, latest, or a time, such as 7d (before now)",
)
@option("-p", "--partitions", type=PARTITIONS, metavar="LIST", help="only these partitions, as in 0,2,5-7")
@option(
    "--from-file",
    metavar="FILE",
    help="the partitions and offsets of a file of kafka-delete-records.sh; - is stdin",
)
@pass_invocation
def trim_topic(
    inv: Invocation,
    name: str | None,
    before: str | None,
    partitions: tuple[int, ...] | None,
    from_file: str | None,
) -> int:
    """Delete the records of a topic before an offset or a time.

    This cannot be undone, so the name of the topic has to be typed, or --yes or --confirm NAME given. With a time,
    the first record that is not older becomes the first of its partition. +N counts from the start of each partition,
    -N from its end. Afterwards the starts of the logs are read back.

    An offset beyond the end of a partition is refused, the other partitions are trimmed: exit code 6, or 5 if all are
    refused. Internal and compacted topics: exit code 7.

    The file has the form {"partitions": [{"topic": "orders", "partition": 1, "offset": 1200}]}; the offset -1 is the
    end. The name of each topic has to be typed; if one does not exist, nothing is deleted.
    """
    from kcli.flows.topics.trim import (  # clients are loaded when the command runs
        TopicTrim,
        TrimScope,
        read_trim_file,
    )

    if from_file is not None:
        if name is not None or before is not None or partitions is not None:
            raise usage(
                "topics trim: --from-file with TOPIC, --before or -p",
                why="the file names the partitions and their offsets",
                do="leave one of them out",
            )
        return run_change(inv, TopicTrim(read_trim_file(from_file)))
    if name is None or before is None:
        raise usage(
            f"topics trim: missing {'argument TOPIC' if name is None else 'option --before'}",
            why="it is required without --from-file",
            do=f"name a topic, and --before, as in {_EXAMPLES}",
        )
    check_topic_name(name, "topics trim")
    now = wall_ms()
    if _is_duration(before):
        before = f"@{before.strip()}"
    spec = offset_spec(before, now, "topics trim: --before", _EXAMPLES, terminal=has_terminal(inv))
    if spec.kind == "stored":
        raise usage(
            f"topics trim: --before {before} is not an offset of a log",
            why="it means a group's committed offset, and no group is given",
            do=f"as in {_EXAMPLES}",
        )
    words = _words(spec, now, ago=is_ago(before))
    return run_change(inv, TopicTrim([TrimScope(name, spec, words, partitions)]))


def _is_duration(text: str) -> bool:
    """``7d``: how long before now; a number without a unit is an offset."""
    try:
        parse_duration_ms(text.strip().removeprefix("-"), unit=True)
    except ValueError:
        return False
    return True


def _words(spec: OffsetSpec, now: int, *, ago: bool) -> str:
    """The limit in words."""
    if spec.kind == "timestamp":
        note = f" ({spec.note})" if spec.note else ""
        return f"{instant_text(spec.value, now, ago=ago)}{note}, up to the first that is not older"
    if spec.kind == "special":
        return SPECIAL_NAMES[spec.value]
    words = {
        "earliest": "the start of the log",
        "latest": "the end of the log",
        "offset": f"offset {spec.value:,}",
        "from_start": f"the start of the log + {spec.value:,}",
        "from_end": f"the last {spec.value:,} of each partition",
    }
    return words[spec.kind]
