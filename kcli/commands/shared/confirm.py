"""Confirmations: the plan, then y/N or a typed name; flags answer where a terminal is missing.

``decide`` is pure; ``confirm`` shows and asks.
"""

import sys
import termios
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from select import select

from kcli.commands.shared.context import Invocation, cluster_text
from kcli.commands.shared.exit import Declined
from kcli.commands.shared.usage import usage
from kcli.core.clock import monotonic
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.output.colour import heading
from kcli.output.sanitise import visible, visible_line

GO, STOP, ASK, MISMATCH, IMPOSSIBLE = "go", "stop", "ask", "mismatch", "impossible"


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """``until`` when an answer is accepted (seconds of the monotonic clock); ``otherwise``: the message after a "no", or
    without an answer.
    """

    until: float
    otherwise: str


class ExpiredError(KcliError):
    """There was no answer in time."""

    exit_code = ExitCode.REFUSED


def decide(
    *,
    name: str | None,
    dry_run: bool,
    yes: bool,
    confirmed: str | None,
    no_input: bool,
    terminal: bool,
    among: Collection[str] = (),
    danger: bool = False,
) -> str:
    """What follows from the flags: continue, stop (dry run), ask, or refuse.

    ``among``: further names that ``--confirm`` may give. ``danger``: ``--yes`` is not sufficient.
    """
    if dry_run:
        return STOP
    if confirmed is not None and name is not None and confirmed != name and confirmed not in among:
        return MISMATCH
    if (yes and not danger) or (confirmed is not None and confirmed == name):
        return GO
    return ASK if terminal and not no_input else IMPOSSIBLE


def confirm(
    inv: Invocation,
    plan: str,
    question: str,
    *,
    name: str | None = None,
    subject: str | None = None,
    limit: TimeLimit | None = None,
    among: Collection[str] = (),
    danger: str | None = None,
    remarks: Callable[[], object] | None = None,
) -> bool:
    """Shows the plan and asks; returns whether to continue. False with ``--dry-run``; an error on "no".

    With ``name``, that name has to be typed, otherwise y. ``--yes`` answers; so does ``--confirm NAME``, which may
    also give another name of ``among``. ``danger`` says why ``--yes`` is not sufficient; a protected profile is such a
    reason, and then ``subject`` has to be typed where there is no ``name``. ``remarks`` is called between the plan and
    the question.
    """
    name, danger = protected(inv, name, subject, danger)
    verdict = _verdict(inv, name, among, danger)
    show_plan(inv, plan if danger is None else f"{plan}\n{danger}.", asked=verdict == ASK)
    if remarks is not None:
        remarks()
    check_answerable(inv, question, name=name, among=among, danger=danger)
    return verdict != STOP and (verdict == GO or _asked(inv, question, name, limit))


def protected(
    inv: Invocation, name: str | None, subject: str | None, danger: str | None
) -> tuple[str | None, str | None]:
    """The name that confirms, and why ``--yes`` does not: under a protected profile every confirmation has both."""
    profile = inv.profile
    if profile is None or not profile.protected:
        return name, danger
    wanted = next(one for one in (name, subject, profile.name) if one is not None)
    return wanted, danger or f"Profile {profile.name} is protected"


def check_answerable(
    inv: Invocation,
    question: str,
    *,
    name: str | None = None,
    subject: str | None = None,
    among: Collection[str] = (),
    danger: str | None = None,
) -> str:
    """How the question is answered: GO, STOP (dry run) or ASK; a usage error where it cannot be."""
    name, danger = protected(inv, name, subject, danger)
    verdict = _verdict(inv, name, among, danger)
    if verdict == MISMATCH:
        raise usage(
            f"--confirm {inv.values.confirm} does not name what would be changed",
            why="nothing was done",
            do=f"use --confirm {_typed(name)}",
        )
    if verdict == IMPOSSIBLE and danger is not None:
        raise usage(
            f"confirmation by name required: {question}",
            why=f"{danger}; --yes is not enough for it, and nothing was done",
            do=f"give --confirm {_typed(name)}; --dry-run only shows the plan",
        )
    if verdict == IMPOSSIBLE:
        reason = "--no-input was given" if inv.no_input else "there is no terminal"
        raise usage(
            f"confirmation required, and {reason}: {question}",
            why="nothing was done",
            do="give --yes to confirm; --dry-run only shows the plan",
        )
    return verdict


def _verdict(inv: Invocation, name: str | None, among: Collection[str], danger: str | None) -> str:
    return decide(
        name=name,
        dry_run=inv.dry_run,
        yes=inv.yes,
        confirmed=inv.values.confirm,
        no_input=inv.no_input,
        terminal=inv.talk.isatty and sys.stdin is not None and sys.stdin.isatty(),
        among=among,
        danger=danger is not None,
    )


def show_plan(inv: Invocation, plan: str, *, asked: bool = False) -> None:
    """The plan on stderr; of a dry run it is the result and goes to stdout, except with an output format for programs.

    With ``-q`` it is on stderr only where a question follows.
    """
    text = with_cluster(plan.rstrip("\n"), inv)
    color = inv.profile.color if inv.profile is not None else ""
    if asked:
        inv.talk.plan(text, color)
    elif not inv.dry_run or inv.out.kind in ("json", "ndjson", "yaml", "csv", "tsv"):
        if not inv.talk.quiet:
            inv.talk.plan(text, color)
    else:
        inv.out.shown(heading(text, color if inv.out.colour else "") + "\n")
        inv.out.flush()


def with_cluster(plan: str, inv: Invocation) -> str:
    """The plan below a line with the cluster's name and id and the profile, unless its first line has them."""
    cluster = f"cluster {visible_line(inv.cluster_id)}" if inv.cluster_id else ""
    profile = f"profile {inv.profile.name}" if inv.profile is not None else ""
    first = plan.partition("\n")[0]
    if cluster in first and profile in first:
        return plan
    return f"On {cluster_text(inv.cluster_name, inv.cluster_id)}:\n{plan}"


def _asked(inv: Invocation, question: str, name: str | None, limit: TimeLimit | None) -> bool:
    prompt = f"{question} [y/N] " if name is None else f"{question} Type {_typed(name)} to confirm: "
    if limit is not None:
        if not _answered(inv, visible(prompt), limit.until):
            why, do = "there was no answer in time", "run it again, or use --yes"
            raise ExpiredError(limit.otherwise, why=why, do=do)
    else:
        color = inv.profile.color if inv.profile is not None and inv.talk.colour else ""
        inv.talk.stream.write(heading(visible(prompt), color))
        inv.talk.stream.flush()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        inv.talk.plain("")
    answer = answer.strip()
    if answer == _typed(name) if name is not None else answer.lower() in ("y", "yes"):
        return True
    raise Declined(
        limit.otherwise if limit else "nothing was done",
        why="the answer was no" if name is None else f"the answer was not {_typed(name)}",
        do="",
    )


def _typed(name: str | None) -> str:
    """What is typed for a name. For the empty one two quotes, as in a shell: an empty answer agrees to nothing."""
    return name or "''"


def _answered(inv: Invocation, prompt: str, until: float) -> bool:
    """Whether a line can be read by ``until`` (monotonic seconds).

    The remaining time is redrawn every second, and the cursor put back to where the answer is typed.
    """
    stream = inv.talk.stream
    with suppress(OSError, termios.error):  # input typed before the plan was shown is no answer
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    first = True
    while (left := until - monotonic()) > 0:
        text = f"({left:3.0f} s left) {prompt}"
        stream.write(text if first else f"\x1b7\r{text}\x1b8")
        stream.flush()
        first = False
        if select([sys.stdin], [], [], min(1.0, left))[0]:
            return True
    inv.talk.plain("")
    return False
