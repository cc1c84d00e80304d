"""The one target of ``kcli groups rewind`` among ``--to`` and Kafka's own flags, by group and in words."""

from collections.abc import Mapping
from typing import Any

from kcli.commands.shared.offset_spec import instant_text, is_ago, offset_spec
from kcli.commands.shared.usage import usage
from kcli.core.clock import wall_ms
from kcli.core.positions import OffsetSpec
from kcli.flows.rewind.targets import Target, target_of
from kcli.output.progress import counted

FLAGS = (
    "to", "to_group", "from_file", "undo", "to_earliest", "to_latest", "to_current", "to_offset", "to_datetime",
    "by_duration", "shift_by",
)  # fmt: skip
"""The flags that name a target; exactly one is required."""

REWIND_EXAMPLES = "--to earliest, --to @-1h, --to 2026-11-21T10:00Z, --to 1200, --to -1000 (from the commit)"

WORDS = {
    "earliest": "the start of the log",
    "latest": "the end of the log",
    "current": "the committed offset",
}


def chosen(flags: Mapping[str, Any]) -> str:
    """The flag that names the target; a usage error unless there is exactly one."""
    said = [name for name in FLAGS if flags[name] not in (None, False)]
    if len(said) == 1:
        return said[0]
    names = ", ".join("--" + name.replace("_", "-") for name in said)
    raise usage(
        f"groups rewind: {'no target given' if not said else 'more than one target given'}",
        why=f"{names} cannot be used together" if said else "it is required",
        do="as in --to earliest, --to @-1h, --to -1000, --to-group other, --from-file offsets.csv, --undo",
    )


def simple_target(name: str, value: Any, *, terminal: bool) -> tuple[Target, str]:
    """The target that depends on neither the cluster nor a file, and its description."""
    now = wall_ms()
    if name == "to":
        return spec_target(value, "groups rewind: --to", REWIND_EXAMPLES, terminal=terminal)
    if name in ("to_earliest", "to_latest", "to_current"):
        target = Target(name.removeprefix("to_"))
    elif name == "to_offset":
        target = Target("offset", value)
    elif name == "shift_by":
        target = Target("shift", value)
    elif name == "by_duration":
        target = Target("time", now - round(value * 1000))
    else:
        target = target_of(OffsetSpec("timestamp", value))
    return target, _words(target, now, ago=name == "by_duration")


def spec_target(text: str, option: str, examples: str, *, terminal: bool) -> tuple[Target, str]:
    """The target of ``text``, and its description. ``option`` with its command and ``examples`` are for messages.

    A time without a zone needs a ``terminal``, where a user sees how it was understood.
    """
    now = wall_ms()
    spec = offset_spec(text, now, option, examples, terminal=terminal)
    target = target_of(spec)
    return target, "; ".join(filter(None, (_words(target, now, ago=is_ago(text)), spec.note)))


def _words(target: Target, now: int, *, ago: bool) -> str:
    if target.kind == "time":
        return instant_text(target.value, now, ago=ago)
    if target.kind == "offset":
        return f"offset {target.value:,}"
    if target.kind == "shift":
        side = "back" if target.value < 0 else "ahead"
        return f"{counted(abs(target.value), 'offset')} {side} from the commit"
    return WORDS[target.kind]
