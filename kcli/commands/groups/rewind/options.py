"""The options of ``groups rewind`` as the user gave them: what they mean, and which cannot be combined."""

from collections.abc import Collection
from typing import Any

import click

from kcli.commands.groups._options import with_empty_group
from kcli.commands.shared.cluster import unique
from kcli.commands.shared.offset_spec import instant_text, is_ago, offset_spec
from kcli.commands.shared.params import DURATION
from kcli.commands.shared.usage import usage
from kcli.core.classes import dataclass, fields
from kcli.core.clock import wall_ms
from kcli.core.positions import SPECIAL_NAMES, OffsetSpec
from kcli.flows.rewind.barriers import LONGEST_HOLD
from kcli.flows.rewind.scope import Scope, parse_topics
from kcli.flows.rewind.targets import Target, target_of
from kcli.output.progress import counted

TARGETS = (
    "to", "to_group", "from_file", "undo", "to_earliest", "to_latest", "to_current", "to_offset", "to_datetime",
    "by_duration", "shift_by",
)  # fmt: skip
"""The options that name a target; exactly one is required."""

REWIND_EXAMPLES = "--to earliest, --to @-1h, --to 2026-11-21T10:00Z, --to 1200, --to -1000 (from the commit)"

WORDS = {
    "earliest": "the start of the log",
    "latest": "the end of the log",
    "current": "the committed offset",
}
_WHICH_GROUPS = ("names", "empty_group")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RewindOptions:
    """One field an option of the command line. None, False and (): not given. ``to_datetime`` is in ms since 1970,
    ``by_duration`` in seconds; ``undo``, ``hold``, ``wait`` and ``watch`` are text, empty for the option without a value.
    """

    names: tuple[str, ...] = ()
    empty_group: bool = False
    more_names: tuple[str, ...] = ()
    all_groups: bool = False
    to: str | None = None
    to_group: str | None = None
    from_file: str | None = None
    undo: str | None = None
    to_earliest: bool = False
    to_latest: bool = False
    to_current: bool = False
    to_offset: int | None = None
    to_datetime: int | None = None
    by_duration: float | None = None
    shift_by: int | None = None
    topics: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    all_topics: bool = False
    live: bool = False
    hold: str | None = None
    wait: str | None = None
    watch: str | None = None
    journal: bool = False
    check: str | None = None
    export: bool = False
    reset_offsets: bool = False
    execute: bool = False

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that are named."""
        return unique((*with_empty_group(self.names, self.empty_group), *self.more_names))

    @property
    def changes(self) -> bool:
        """Not where it lists or checks earlier rewinds."""
        return not self.journal and self.check is None

    @property
    def runs(self) -> bool:
        """Whether groups with members are rewound as they run."""
        return self.live or self.hold is not None

    def check_groups(self) -> None:
        """A usage error where no group is named. An undo, and whatever affects members, needs the groups by name, not
        ``--all-groups``: a mistake would be costly.
        """
        clash = [
            *(["a GROUP"] if self.groups else []),
            *(f"--{name}" for name in ("undo", "live", "hold", "wait") if self._is_given(name)),
        ]
        if self.all_groups and clash:
            raise usage(
                f"groups rewind: --all-groups with {clash[0]}",
                why="it means every consumer group of the cluster; nothing was done",
                do="name the groups instead"
                if clash[0] != "a GROUP"
                else "leave out the names, or --all-groups",
            )
        if not self.all_groups and not self.groups:
            raise usage(
                "groups rewind: missing argument GROUP",
                why="it is required",
                do="`kcli groups list` lists the groups; --journal lists the rewinds made from this machine",
            )

    def check_alone(self, flag: str, fitting: Collection[str], why: str) -> None:
        """A usage error where options are given that say what to rewind, or how, besides ``flag`` and the ``fitting``."""
        context = click.get_current_context()
        params = {param.name: param for param in context.command.params}
        own = {one.name for one in fields(self)} - {*fitting, *_WHICH_GROUPS}
        left = [
            name for name in context.params if name in own and self._is_given(name)
        ]  # as they were written
        if left:
            raise usage(
                f"groups rewind: {flag} with {', '.join(max(params[name].opts, key=len) for name in left)}",
                why=why,
                do=f"leave {'it' if len(left) == 1 else 'them'} out, or {flag}",
            )

    def target(self) -> str:
        """The option that names the target; a usage error unless there is exactly one."""
        given = [name for name in TARGETS if self._is_given(name)]
        if len(given) == 1:
            return given[0]
        names = ", ".join("--" + name.replace("_", "-") for name in given)
        raise usage(
            f"groups rewind: {'no target given' if not given else 'more than one target given'}",
            why=f"{names} cannot be used together" if given else "it is required",
            do="as in --to earliest, --to @-1h, --to -1000, --to-group other, --from-file offsets.csv, --undo",
        )

    def simple_target(self, *, terminal: bool) -> tuple[Target, str]:
        """The target that depends on neither the cluster nor a file, and its description."""
        now = wall_ms()
        if self.to is not None:
            return spec_target(self.to, "groups rewind: --to", REWIND_EXAMPLES, terminal=terminal)
        if self.to_offset is not None:
            target = Target("offset", self.to_offset)
        elif self.shift_by is not None:
            target = Target("shift", self.shift_by)
        elif self.by_duration is not None:
            target = Target("time", now - round(self.by_duration * 1000))
        elif self.to_datetime is not None:
            target = target_of(OffsetSpec("timestamp", self.to_datetime))
        else:
            target = Target(self.target().removeprefix("to_"))
        return target, _words(target, now, ago=self.by_duration is not None)

    def scope(self) -> Scope:
        """``--topic``, ``--exclude-topic`` and ``--all-topics``."""
        try:
            topics = parse_topics(self.topics)
        except ValueError as error:
            raise usage(
                "groups rewind: --topic is not understood", why=str(error), do="as in --topic orders:0,2-4"
            ) from None
        if listed := [name for name in self.excluded if "," in name]:
            raise usage(
                f"groups rewind: --exclude-topic {listed[0]!r} is not a topic",
                why="names of topics contain no comma",
                do="repeat --exclude-topic for each topic",
            )
        if topics and self.all_topics:
            raise usage(
                "groups rewind: --topic and --all-topics cannot be used together",
                why="nothing was done",
                do="give one of them",
            )
        return Scope(topics, frozenset(self.excluded), self.all_topics or bool(self.excluded and not topics))

    def wait_limit(self) -> float | None:
        """Seconds of ``--wait``; None: indefinitely."""
        return _seconds(self.wait) if self.wait else None

    def hold_limit(self) -> float | None:
        """Seconds of ``--hold``; None: groups are not held while the plan is reviewed."""
        if self.wait is not None and self.runs:
            raise usage(
                "groups rewind: --wait and --live cannot be used together",
                why="--wait waits until the members have left, --live does not need them to leave",
                do="give one of them",
            )
        if not self.hold:
            return None if self.hold is None else LONGEST_HOLD
        seconds = _seconds(self.hold)
        if not 0 < seconds <= LONGEST_HOLD:
            raise usage(
                f"groups rewind: --hold={self.hold} is not between 0 and {LONGEST_HOLD:.0f} s",
                why="no member reads while a group is held",
                do="review the plan with --dry-run first, which holds no group",
            )
        return seconds

    def watch_limit(self) -> float | None:
        """Seconds for which members are watched, at most; None without ``--watch``: see ``Watcher``."""
        return _seconds(self.watch) if self.watch else None

    def check_watch(self) -> None:
        """A usage error where there are no members to watch."""
        if self.watch is not None and not self.runs:
            raise usage(
                "groups rewind: --watch without --live",
                why="only the members of a group that is rewound as it runs are watched",
                do="give --live, or leave --watch out",
            )

    def _is_given(self, name: str) -> bool:
        value: Any = getattr(self, name)
        return value is not None and value is not False and value != ()


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
    if target.kind == "special":
        return SPECIAL_NAMES[target.value]
    if target.kind == "offset":
        return f"offset {target.value:,}"
    if target.kind == "shift":
        side = "back" if target.value < 0 else "ahead"
        return f"{counted(abs(target.value), 'offset')} {side} from the commit"
    return WORDS[target.kind]


def _seconds(text: str) -> float:
    seconds: float = DURATION.convert(text, None, click.get_current_context())
    return seconds
