"""The options of ``consume`` as the user gave them, checked, and merged with the configuration, which they override."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.usage import usage
from kcli.core.classes import dataclass, fields, replace
from kcli.core.errors import ConfigError
from kcli.core.names import own_group_danger
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions
from kcli.core.positions import OffsetSpec, RangeSpec, ResetPolicy, parse_reset
from kcli.profiles.applicability import Unused, unused_of_members
from kcli.profiles.profile import COMMAND_LINE

if TYPE_CHECKING:
    from kcli.flows.expectation import Expectation

_OF_TAIL = "--tail N prints N records and exits"
_OF_COUNT = "--count prints no records"
_OF_LATEST = "--latest-per-key reads the range twice, up to its end"
_OF_GROUP = "the group determines what its members read, and from where"
_CONTRADICTIONS = (
    ("--tail", ("--until", "--merge", "--latest-per-key", "--sample"), _OF_TAIL),
    ("--follow", ("-e", "--count"), "--follow goes on without an end"),
    (
        "--count",
        (
            "--tail",
            "--select",
            "-f",
            "-J",
            "--raw",
            "--merge",
            "--print-control",
            "--delimiter",
            "--null-marker",
        ),
        _OF_COUNT,
    ),
    (
        "--latest-per-key",
        ("--sample", "--print-control", "--idle-timeout", "--within", "--group"),
        _OF_LATEST,
    ),
    ("--select", ("-f", "-J", "--raw", "--print-control"), "--select determines what is printed"),
    ("--distinct", ("--print-control",), "the end of a transaction has no fields"),
    ("--sample", ("--print-control",), "the end of a transaction is no record"),
    ("--on-each", ("--ack-after-exec",), "each decides how a record is acknowledged"),
    (
        "--processes",
        ("--tail", "--merge"),
        "it orders the records of all partitions, one by one, which one process does",
    ),
    (
        "--processes",
        ("--count", "--latest-per-key", "--distinct"),
        "what was seen before is known to one process",
    ),
    ("--processes", ("--group-type",), "each record of a share group is acknowledged by its member"),
    ("--group", ("--count",), "offsets are committed for records that were printed"),
    ("--group", ("--tail", "--partitions", "--all-partitions", "--exact-times"), _OF_GROUP),
    (
        "--group",
        ("--merge",),
        "records that wait for others cannot be committed in the order of their offsets",
    ),
)
_OF_ENDING_TAIL = ("--max-messages", "--idle-timeout", "--within")
_WITHOUT_GROUP = (
    "--tail",
    "--partitions",
    "--all-partitions",
    "--exact-times",
    "--merge",
    "--count",
    "--latest-per-key",
)
_SPELLED = {"until_end": "-e", "template": "-f", "kcat": "-J"}
_BELONGS = {
    "--all-partitions": ("--key", "all partitions are read anyway"),
    "--by": ("--count", "it determines what is counted"),
    "--top": ("--by", "it is a number of groups"),
    "--with-tombstones": ("--latest-per-key", "otherwise they are printed anyway"),
    "--follow": ("--tail", "without an end reading goes on anyway"),
    "--within": ("--expect", "it is the time for what is expected"),
    "--group-type": ("--group", "it is the type of that group"),
    "--on-each": ("--group-type", "only records of share groups are acknowledged"),
    "--ack-after-exec": ("--group-type", "only records of share groups are acknowledged"),
}
"""Options without effect unless another is given, and why."""
_POSITIONS = "the brokers keep the positions of a share group, and where it begins is share.auto.offset.reset"
_CHOICE = (
    "what is left out could only be accepted unseen, or delivered again until the group's limit of deliveries: "
    "filter what is printed"
)
_RESULTS = "it needs all records of a range, and a share group divides them among its members"
NOT_SHARED = {
    "--partitions": "the coordinator assigns partitions, and members share them",
    "--all-partitions": _CHOICE,
    "--isolation-level": "the group's share.isolation.level applies",
    "--print-control": "the markers of transactions are not delivered",
    "--offset": _POSITIONS,
    "--since": _POSITIONS,
    "--until": _POSITIONS,
    "--exact-times": _POSITIONS,
    "--from-beginning": _POSITIONS,
    "--tail": _POSITIONS,
    "--follow": _POSITIONS,
    "--grep": _CHOICE,
    "--where": _CHOICE,
    "--key": _CHOICE,
    "--sample": _CHOICE,
    "--distinct": _CHOICE,
    "--count": _RESULTS,
    "--by": _RESULTS,
    "--top": _RESULTS,
    "--latest-per-key": _RESULTS,
    "--with-tombstones": _RESULTS,
    "--commit": "nothing is committed: each record is acknowledged (--on-each)",
    "--merge": "records that wait for others may be delivered to another member meanwhile",
    "--on-out-of-range": _POSITIONS,
    "--on-recreate": "records of a re-created topic are delivered as those of any other",
}
"""Options that mean nothing in a share group, and why."""
_STARTS = ("--offset", "--since", "--tail", "--from-beginning")
_IN_ORDER = {
    "table": "its columns grow with the records that were printed before",
    "pretty": "it is for people, who read more slowly than one process formats",
    "hex": "it is for people, who read more slowly than one process formats",
}
"""Formats that one process makes, and why."""
PEOPLE = ("value", "pretty", "table", "hex")
"""Formats that are read rather than parsed."""
_FORMATTED = ("template", "kcat", "raw", "select", "count", "delimiter", "null_marker")
_ALWAYS: dict[str, Unused] = {
    "max_poll_records": ("records are written in whole batches", "leave it out; -n N stops after N records"),
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConsumeOptions:
    """One field an option of the command line; ``topics`` are the arguments and those of ``-t``. Times are ms since 1970,
    durations are seconds. None and False: not given.
    """

    topics: tuple[str, ...]
    partitions: tuple[int, ...] | None = None
    isolation_level: str | None = None
    print_control: bool = False
    rack: str | None = None
    offset: RangeSpec | None = None
    since: int | None = None
    until: int | None = None
    exact_times: bool = False
    from_beginning: bool = False
    tail: int | None = None
    until_end: bool = False
    max_messages: int | None = None
    idle_timeout: float | None = None
    grep: tuple[str, ...] = ()
    where: str | None = None
    key: str | None = None
    all_partitions: bool = False
    group: str | None = None
    group_type: str | None = None
    on_each: str | None = None
    ack_after_exec: str | None = None
    commit: bool | None = None
    template: str | None = None
    serdes: tuple[str, ...] = ()
    kcat: bool = False
    delimiter: bytes | None = None
    null_marker: str | None = None
    raw: bool = False
    merge: bool = False
    select: str | None = None
    count: bool = False
    by: str | None = None
    top: int | None = None
    latest_per_key: bool = False
    with_tombstones: bool = False
    distinct: str | None = None
    sample: int | None = None
    follow: bool = False
    expect: "Expectation | None" = None
    within: float | None = None
    on_out_of_range: str | None = None
    on_recreate: str = "fail"
    on_corrupt: str | None = None
    processes: int = 1
    terminal_format: str | None = None
    """Of the profile, where nothing else determines the format."""

    @property
    def goes_on(self) -> bool:
        """Whether records are shown as they come, with no end that is known."""
        return not self.reads_to_the_end and (self.tail is None or self.follow)

    @property
    def is_shared(self) -> bool:
        """Whether the group is a share group."""
        return self.group_type == "share"

    @property
    def reads_to_the_end(self) -> bool:
        """Whether reading stops at the end offsets: also where only the result is printed."""
        return self.until_end or self.count or self.latest_per_key

    @property
    def is_bounded(self) -> bool:
        """Whether reading ends by itself, if it is not the range that ends it."""
        limits = (self.max_messages, self.idle_timeout, self.within, None if self.follow else self.tail)
        return self.reads_to_the_end or any(limit is not None for limit in limits)

    @property
    def limit(self) -> int | None:
        """The number of records after which reading stops: within a time, as soon as it is known whether they are as
        expected.
        """
        if self.expect is None or self.within is None:
            return self.max_messages
        return min(self.expect.decided_at, self.max_messages or self.expect.decided_at)

    @property
    def keeps_single_records(self) -> bool:
        """Whether single records of a batch are kept, after which the batch is of no use."""
        return self.tail is not None or self.merge

    def given(self) -> Iterator[str]:
        """The names of the options that were given, without those that have a default."""
        for field in fields(self):
            given = getattr(self, field.name)
            if given not in (None, False, ()) and not (field.name == "processes" and given == 1):
                yield _SPELLED.get(field.name, f"--{field.name.replace('_', '-')}")

    def format_kind(self, output: str | None) -> str:
        """The format of the records; ``output`` is the value of ``-o``."""
        return "kcat" if self.kcat else output or self.terminal_format or "value"

    def check(self, output: str | None) -> None:
        """Usage errors for options that contradict each other, or have no effect; ``output`` is the value of ``-o``."""
        given = set(self.given())
        if self.is_shared:
            if self.on_recreate == "fail":
                given.discard("--on-recreate")
            if self.commit is not None:
                given.add("--commit")
            for option, why in NOT_SHARED.items():
                if option in given:
                    raise usage(
                        f"kcli consume: {option} with --group-type share",
                        why=why,
                        do=f"leave {option} out, or read without a share group",
                    )
        for one, others, why in _CONTRADICTIONS:
            clash = sorted(given & set(others)) if one in given else []
            if clash:
                raise usage(f"kcli consume: {one} and {clash[0]} together", why=why, do="use one of them")
        if self.tail is not None and not self.follow and (clash := sorted(given & {*_OF_ENDING_TAIL})):
            raise usage(
                f"kcli consume: --tail and {clash[0]} together",
                why=_OF_TAIL,
                do="use one of them, or add --follow",
            )
        starts = [name for name in _STARTS if name in given]
        if len(starts) > 1:
            raise usage(
                f"kcli consume: {' and '.join(starts)} together",
                why="each specifies where to start",
                do="use one of them",
            )
        formats = {"-f": self.template is not None, "-J": self.kcat, "-o": output is not None}
        if sum(formats.values()) > 1:
            raise usage(
                f"kcli consume: {' and '.join(flag for flag, chosen in formats.items() if chosen)} together",
                why="each chooses the output format",
                do="use one of them",
            )
        for option, (other, why) in _BELONGS.items():
            if option in given and other not in given:
                raise usage(
                    f"kcli consume: {option} without {other}",
                    why=why,
                    do=f"add {other}, or leave {option} out",
                )
        if not self.topics:
            raise usage(
                "kcli consume: missing argument TOPIC",
                why="it is required",
                do="name one: `kcli consume TOPIC`, or -t TOPIC",
            )
        self._check_format(self.format_kind(output))
        self._check_result(self.format_kind(output))

    def _check_format(self, kind: str) -> None:
        """A usage error for an option that the format ignores; --key uses the null marker with all formats."""
        templated = self.template is not None
        used = {
            "-D": self.delimiter is None or (kind == "value" and not templated),
            "--null-marker": self.null_marker is None
            or self.key is not None
            or templated
            or kind in ("value", "csv"),
        }
        for flag, is_used in used.items():
            if not is_used:
                raise usage(
                    f"kcli consume: {flag} with {'-f' if templated else f'-o {kind}'}",
                    why="it has no effect on that format",
                    do=f"leave {flag} out",
                )

    def _check_result(self, kind: str) -> None:
        """Usage errors for formats that are for whole records."""
        what = "--count" if self.count else "--select" if self.select is not None else None
        if what is not None and kind in ("pretty", "raw", "hex", "kcat"):
            raise usage(
                f"kcli consume: {what} with -o {kind}",
                why="that format is for whole records",
                do="use value, table, csv, ndjson or json",
            )
        if self.processes > 1 and kind in _IN_ORDER:
            raise usage(
                f"kcli consume: --processes with -o {kind}",
                why=_IN_ORDER[kind],
                do="use another format, or leave --processes out",
            )

    def check_decided(self) -> None:
        """A usage error for an expectation that is never decided."""
        ranged = self.until is not None or (self.offset is not None and self.offset.stop is not None)
        if self.expect is not None and not (self.is_bounded or ranged):
            raise usage(
                "kcli consume: --expect without an end",
                why="reading goes on without end, so it is never decided",
                do="add --within DUR, as in --within 10s, or -e for the records that there are",
            )


_OF_BROKERS = {
    "--group": "a group has its coordinator among the brokers",
    "--follow": "nothing arrives in the log directories of a broker that is gone, and one that runs has it all",
    "--rack": "no broker is asked",
}
"""Options that mean nothing where log directories are read, and why."""


def of_log_dirs(inv: Invocation, asked: ConsumeOptions) -> ConsumeOptions:
    """The options where log directories are read: up to the ends that they have, and for a key all partitions, as their
    folders do not tell how many the topic has. A usage error for what has no meaning there; unchanged where brokers are
    asked.
    """
    if not inv.resolved.values.get("log_dirs"):
        return asked
    flag = inv.resolved.origins["log_dirs"]
    given = set(asked.given())
    for option, why in _OF_BROKERS.items():
        if option in given:
            raise usage(f"kcli consume: {option} with {flag}", why=why, do=f"leave {option} out")
    all_of_them = asked.all_partitions or asked.key is not None
    return replace(asked, until_end=asked.tail is None, all_partitions=all_of_them)


def terminal_format(inv: Invocation, asked: ConsumeOptions) -> str | None:
    """The ``record_format`` of the profile: for a terminal, where no option says how records are printed."""
    profile = inv.resolved.profile
    if profile is None or not profile.record_format or not inv.out.isatty:
        return None
    given = inv.values.output or any(getattr(asked, name) not in (None, False) for name in _FORMATTED)
    return None if given else profile.record_format


def group_of(inv: Invocation, asked: ConsumeOptions) -> str | None:
    """The group to read as a member of: ``-g``, else ``group.id``. One from a file or a variable is ignored if a flag
    excludes groups. A usage error for ``--commit`` without a group.
    """
    name = _configured_group(inv, asked)
    if name is not None:
        inv.check_may_change(f"joining group {name}")
        if (danger := own_group_danger(name)) and not inv.dry_run:
            from kcli.commands.shared.confirm import confirm  # only for a group of kcli's own

            confirm(inv, f"Join group {name}", f"Join group {name}?", name=name, danger=danger)
    if asked.commit is not None and name is None:
        raise usage(
            f"kcli consume: {'--commit' if asked.commit else '--no-commit'} without -g",
            why="offsets are committed for a group",
            do="give -g GROUP",
        )
    return name


def _configured_group(inv: Invocation, asked: ConsumeOptions) -> str | None:
    if asked.group is not None:
        return asked.group
    name = inv.resolved.values.get("group_id")
    if not name:
        return None
    origin = inv.resolved.origins["group_id"]
    given = set(asked.given())
    clash = next((name for name in _WITHOUT_GROUP if name in given), None)
    if inv.resolved.values.get("log_dirs"):
        clash = inv.resolved.origins["log_dirs"]
    if clash is None:
        inv.talk.note(
            f"reading as a member of group {name}: group.id ({origin}); -X group.id= reads without a group"
        )
        return str(name)
    if origin == COMMAND_LINE:
        raise usage(
            f"kcli consume: -X group.id={name} and {clash} together",
            why=_OF_GROUP,
            do="use one of them",
        )
    inv.talk.note(f"reading without a group: {clash} is given, group.id ({origin}) is not used")
    return None


def reset_policy(inv: Invocation, asked: ConsumeOptions) -> ResetPolicy | None:
    """``auto.offset.reset`` if it is configured and no flag gives a start."""
    text = inv.resolved.values.get("auto_offset_reset")
    if text is None:
        return None
    start = asked.offset.start if asked.offset is not None else None
    if start is not None or not {*_STARTS[1:]}.isdisjoint(asked.given()):
        return None
    origin = inv.resolved.origins["auto_offset_reset"]
    try:
        policy = parse_reset(text)
    except ValueError as error:
        raise ConfigError(
            f"auto.offset.reset={text!r} is not a valid value (from {origin})",
            why=str(error),
            do="use one of these, as in by_duration:PT12H for twelve hours ago",
        ) from None
    if policy.kind == "none" and asked.group is None:
        raise ConfigError(
            f"auto.offset.reset={text} ({origin}) without a group",
            why="it forbids choosing where to start, and without a group no offset is committed",
            do="give a start: --from-beginning, --offset SPEC or --since TIME; or read in a group with -g GROUP",
        )
    if policy.kind != "earliest":
        where = "where nothing is committed, " if asked.group is not None else ""
        inv.talk.note(
            f"{where}starting as auto.offset.reset={text} ({origin}) specifies; --from-beginning overrides it"
        )
    return policy


def consumer_options(
    inv: Invocation, asked: ConsumeOptions, spec: RangeSpec, policy: ResetPolicy | None
) -> tuple[ConsumerOptions, bool]:
    """The consumer's options, and whether this command, instead of the consumer, commits what was written."""
    start = spec.start or OffsetSpec("earliest")
    options = inv.client_options(
        ConsumerOptions,
        unused=_ALWAYS | unused_of_members(inv.resolved, asked.group),
        group_id=asked.group,
        auto_offset_reset=_reset_to(start) if policy is None else None,
        enable_auto_commit=asked.commit,
        isolation_level=asked.isolation_level,
        client_rack=asked.rack,
        on_corrupt=asked.on_corrupt,
        on_out_of_range=asked.on_out_of_range,
        show_control_batches=asked.print_control or None,
    )
    changed = replace(
        options,
        on_out_of_range=options.on_out_of_range or "fail",
        max_poll_records=WHOLE_BATCHES,
        enable_auto_commit=False,
    )
    return changed, options.enable_auto_commit


def _reset_to(start: OffsetSpec) -> str:
    """``auto.offset.reset`` for a start, as far as it can express it."""
    return "latest" if start.kind == "latest" else "earliest"
