"""The flags of ``kcli produce``: checks them, makes the producer's options of them, and starts the run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

from kcli.commands._produce_input import check_inputs, encoded, input_format
from kcli.commands.shared.confirm import confirm
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import Codec, check_topic_name
from kcli.commands.shared.usage import usage
from kcli.core.options import ProducerOptions
from kcli.core.own_names import own_topic_purpose
from kcli.profiles.applicability import Unused

_UNLIMITED_MS = 2**31 - 1
"""Input waits for memory while records are in flight, which have a limit of their own: delivery.timeout.ms."""


def run(
    inv: Invocation, first: str | None, files: tuple[str, ...], named: tuple[str, ...], flags: dict[str, Any]
) -> int:
    """Runs the command; ``first`` is the first argument, ``named`` the topics of ``-t``. Returns the exit status."""
    topic, files = _topic_and_files(first, files, named)
    check_topic_name(topic, "produce")
    if (holds := own_topic_purpose(topic)) and not inv.dry_run:
        danger = f"{topic} is kcli's own topic: it holds {holds}"
        confirm(inv, f"Produce to topic {topic}", f"Produce to {topic}?", name=topic, danger=danger)
    _check_flags(inv, flags)
    own = _own_options(flags)
    patient = None if "max_block_ms" in inv.resolved.values else _UNLIMITED_MS
    options = inv.client_options(ProducerOptions, unused=_unused(inv, own), max_block_ms=patient, **own)
    _check_checkpoint(flags, options)
    if not flags["serdes"]:
        inv.configuration.check_no_registry()
    if flags["transaction_every"] is not None and not options.transactional_id:
        raise usage(
            "kcli produce: --transaction-every without --transactional-id",
            why="a transaction needs an id that stays the same from run to run",
            do="give one, for example --transactional-id import-1",
        )
    form = input_format(flags, options, keep=flags["failed"] is not None)
    with ExitStack() as stack:
        prepare: Callable[[], object] = lambda: None  # noqa: E731 - finds schemas, if any are needed
        if flags["serdes"]:
            from kcli.commands.shared.serdes import prepare_schemas, serdes_to_write  # only with -s

            specs, serdes = serdes_to_write(inv, flags)
            stack.enter_context(serdes)
            form = encoded(form, serdes, topic, specs)
            prepare = partial(prepare_schemas, inv, serdes, specs, topic)
        check_inputs(files)
        # The producer, which costs 60 ms: invalid input is reported before.
        from kcli.commands._produce_run import Run

        run_class = Run
        if inv.dry_run:
            from kcli.commands._produce_dry_run import DryRun  # only with --dry-run

            run_class = DryRun
        return run_class(inv, stack, options, topic, files, form, flags).run(prepare)


def _topic_and_files(
    first: str | None, files: tuple[str, ...], named: tuple[str, ...]
) -> tuple[str, tuple[str, ...]]:
    """With ``-t`` the first argument is a FILE too."""
    topics = tuple(dict.fromkeys(named))
    if len(topics) > 1:
        raise usage(
            f"kcli produce: -t {' -t '.join(topics)}",
            why="records are sent to one topic",
            do="run it once for each topic",
        )
    if topics:
        return topics[0], files if first is None else (first, *files)
    if first is None:
        raise usage(
            "kcli produce: missing argument TOPIC",
            why="it is required",
            do="name one: `kcli produce TOPIC`, or -t TOPIC",
        )
    return first, files


def _check_flags(inv: Invocation, flags: dict[str, Any]) -> None:
    if flags["tee"] and inv.values.output in ("json", "ndjson"):
        raise usage(
            f"kcli produce: --tee with -o {inv.values.output}",
            why="both would go to stdout",
            do="leave one of them out",
        )


def _check_checkpoint(flags: dict[str, Any], options: ProducerOptions) -> None:
    if flags["checkpoint"] is not None and options.acks == "0":
        raise usage(
            "kcli produce: --checkpoint with --acks 0",
            why="nothing is confirmed, so it is unknown how far it got",
            do="leave one of them out",
        )


def _unused(inv: Invocation, own: dict[str, Any]) -> dict[str, Unused]:
    """Options of a producer that this run does not use."""
    configured = inv.resolved.values
    found: dict[str, Unused] = {}
    if not (own["transactional_id"] or configured.get("transactional_id")):
        found["transaction_timeout_ms"] = ("nothing is sent in transactions", "give --transactional-id ID")
    if (own["compression_type"] or configured.get("compression_type", "none")) == "none":
        found["compression_level"] = (
            "nothing is compressed",
            "choose a codec: -z gzip, or -z gzip:9 with its level",
        )
    return found


def _own_options(flags: dict[str, Any]) -> dict[str, Any]:
    codec: Codec | None = flags["compression"]
    acks, idempotent = flags["acks"], flags["idempotent"]
    if idempotent and acks in ("0", "1"):
        raise usage(
            f"kcli produce: --idempotent with --acks {acks}",
            why="an idempotent producer needs acks=all",
            do="leave one of them out",
        )
    return {
        "compression_type": codec.name if codec else None,
        "compression_level": codec.level if codec else None,
        "acks": acks,
        "enable_idempotence": idempotent,
        "partitioner": flags["partitioner"],
        "transactional_id": flags["transactional_id"],
        "allow_auto_create_topics": flags["allow_auto_topic_creation"] or None,
    }
