"""Confirmations: the plan, then y/N or a typed name; flags answer where a terminal is missing.

``decide`` is pure; ``ask`` shows and asks.
"""

import sys
import termios
from collections.abc import Callable, Collection
from contextlib import suppress
from select import select

from kcli.account.change import Question
from kcli.commands.shared.context import Invocation, cluster_text
from kcli.commands.shared.exit import Declined
from kcli.commands.shared.usage import usage
from kcli.core.clock import monotonic
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.output.sanitise import visible, visible_line
from kcli.output.terminal import heading

GO, STOP, ASK, MISMATCH, IMPOSSIBLE = "go", "stop", "ask", "mismatch", "impossible"


class ExpiredError(KcliError):
    """There was no answer in time."""

    exit_code = ExitCode.REFUSED


def decide(
    *,
    name: str | None,
    dry_run: bool,
    yes: bool,
    confirmed: Collection[str],
    no_input: bool,
    terminal: bool,
    among: Collection[str] = (),
    danger: bool = False,
) -> str:
    """What follows from the flags: continue, stop (dry run), ask, or refuse.

    ``confirmed``: the names that ``--confirm`` gives; ``among``: others than ``name`` that it may give. ``danger``:
    ``--yes`` is not sufficient. A dry run takes questions as answered, but refuses an answer that would not do.
    """
    if confirmed and name is not None and not {name, *among}.intersection(confirmed):
        return MISMATCH
    unanswered = ASK if terminal and not no_input else IMPOSSIBLE
    verdict = GO if (yes and not danger) or name in confirmed else unanswered
    return STOP if dry_run and not (yes and verdict == IMPOSSIBLE) else verdict


def confirm(
    inv: Invocation,
    plan: str,
    sentence: str,
    *,
    name: str | None = None,
    subject: str | None = None,
    among: Collection[str] = (),
    danger: str | None = None,
    remarks: Callable[[], object] | None = None,
) -> bool:
    """Shows the plan and asks as of ``Question``; returns whether to continue: not with ``--dry-run``."""
    ask(inv, Question(plan, sentence, name, subject, among, danger), remarks)
    return not inv.dry_run


def ask(inv: Invocation, question: Question, remarks: Callable[[], object] | None = None) -> None:
    """Shows the plan of the question, and asks it unless an option answers; Declined on "no".

    ``--yes`` answers; so does ``--confirm NAME``. ``remarks`` is called between the plan and the question.
    """
    full = protected(inv, question)
    verdict = _verdict(inv, full)
    danger = None if full.danger is None else f"{full.danger}."
    if plan := "\n".join(filter(None, (full.plan, danger))):
        show_plan(inv, plan, asked=verdict == ASK)
    if remarks is not None:
        remarks()
    if check_answerable(inv, question) == ASK:
        _answer(inv, full)


def protected(inv: Invocation, question: Question) -> Question:
    """Under a protected profile every confirmation has a name, and a reason why ``--yes`` is not sufficient."""
    profile = inv.profile
    if profile is None or not profile.protected:
        return question
    wanted = next(one for one in (question.name, question.subject, profile.name) if one is not None)
    return question._replace(name=wanted, danger=question.danger or f"Profile {profile.name} is protected")


def check_answerable(inv: Invocation, question: Question) -> str:
    """How the question is answered: GO, STOP (dry run) or ASK; a usage error where it cannot be."""
    of_profile = question.name is None and question.subject is None
    question = protected(inv, question)
    verdict = _verdict(inv, question)
    if verdict == MISMATCH:
        several = (
            "it stands for all of it"
            if of_profile
            else "where several things are named, once for each of them"
        )
        raise usage(
            f"--confirm {' --confirm '.join(inv.values.confirm)} does not name what would be changed",
            why="nothing was done",
            do=f"use --confirm {_typed(question.name)}; {several}",
        )
    if verdict == IMPOSSIBLE and question.danger is not None:
        raise usage(
            f"confirmation by name required: {question.sentence}",
            why=f"{question.danger}; --yes is not enough for it, and nothing was done",
            do=f"give --confirm {_typed(question.name)}; --dry-run only shows the plan",
        )
    if verdict == IMPOSSIBLE:
        reason = "--no-input was given" if inv.no_input else "there is no terminal"
        raise usage(
            f"confirmation required, and {reason}: {question.sentence}",
            why="nothing was done",
            do="give --yes to confirm; --dry-run only shows the plan",
        )
    return verdict


def may_be_agreed(inv: Invocation) -> bool:
    """Whether the line, or somebody at a terminal, can agree to a plan: else it is only shown."""
    return inv.yes or bool(inv.values.confirm) or (_terminal(inv) and not inv.no_input)


def _terminal(inv: Invocation) -> bool:
    return inv.talk.isatty and sys.stdin is not None and sys.stdin.isatty()


def _verdict(inv: Invocation, question: Question) -> str:
    return decide(
        name=question.name,
        dry_run=inv.dry_run,
        yes=inv.yes,
        confirmed=inv.values.confirm,
        no_input=inv.no_input,
        terminal=_terminal(inv),
        among=question.among,
        danger=question.danger is not None,
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
        inv.out.shown(text + "\n", fold=True, color=color)
        inv.out.flush()


def with_cluster(plan: str, inv: Invocation) -> str:
    """The plan below a line with the cluster's name and id and the profile, unless its first line has them."""
    cluster = f"cluster {visible_line(inv.cluster_id)}" if inv.cluster_id else ""
    profile = f"profile {inv.profile.name}" if inv.profile is not None else ""
    place = inv.place.name if inv.place is not None else ""
    first = plan.partition("\n")[0]
    if cluster in first and profile in first and place in first:
        return plan
    return f"On {cluster_text(inv.cluster_name, inv.cluster_id)}:\n{plan}"


def _answer(inv: Invocation, question: Question) -> None:
    """Asks, and returns if the answer is yes; Declined if not."""
    name, sentence, limit = question.name, question.sentence, question.limit
    prompt = f"{sentence} [y/N] " if name is None else f"{sentence} Type {_typed(name)} to confirm: "
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
        return
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
