"""What ``kcli produce`` does before it loads a producer: checks its options, the format, the serdes and the files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from kcli.commands.produce.input import check_inputs, check_outputs, encoded, input_format
from kcli.commands.produce.options import ProduceOptions, producer_options, topic_and_files
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import check_topic_name
from kcli.core.names import own_topic_purpose
from kcli.core.types import Header


def start(
    inv: Invocation,
    first: str | None,
    files: tuple[str, ...],
    named: tuple[str, ...],
    headers: Sequence[tuple[Header, ...]],
    **given: Any,
) -> int:
    """Runs the command; returns the exit status. ``first`` is the first argument, ``named`` the topics of ``-t``,
    ``headers`` are those of each ``-H``, and ``given`` the other fields of ProduceOptions.
    """
    topic, files = topic_and_files(first, files, named)
    asked = ProduceOptions(topic, files, headers=[one for each in headers for one in each], **given)
    check_topic_name(topic, "produce")
    if (holds := own_topic_purpose(topic)) and not inv.dry_run:
        from kcli.commands.shared.confirm import confirm  # only for a topic of kcli's own

        danger = f"{topic} is kcli's own topic: it holds {holds}"
        confirm(inv, f"Produce to topic {topic}", f"Produce to {topic}?", name=topic, danger=danger)
    asked.check(inv.values.output)
    client = producer_options(inv, asked)
    asked.check_client(client)
    inv.configuration.check_registry_used(asked.serdes)
    form = input_format(asked, client)
    forget: Callable[[], object] = lambda: None  # noqa: E731 - closes the connections to a registry
    with ExitStack() as stack:
        prepare: Callable[[], object] = lambda: None  # noqa: E731 - finds schemas, if any are needed
        if asked.serdes:
            from kcli.commands.shared.serdes import prepare_schemas, serdes_to_write  # only with -s

            specs, serdes = serdes_to_write(inv, asked.serdes)
            stack.enter_context(serdes)
            form = encoded(form, serdes, topic, specs)
            prepare, forget = partial(prepare_schemas, inv, serdes, specs, topic), serdes.close
        asked.check_processes(form, client.compression_type)
        if not asked.is_one:
            check_inputs(asked.files)
        if asked.failed is not None or asked.checkpoint is not None:
            check_outputs(asked)
        # The producer, which costs 60 ms: invalid input is reported before.
        from kcli.commands.produce.run import SendingRun

        run_class = SendingRun
        if inv.dry_run:
            from kcli.commands.produce.dry_run import DryRun  # only with --dry-run

            run_class = DryRun
        return run_class(inv, stack, asked, client, form).run(prepare, forget)
