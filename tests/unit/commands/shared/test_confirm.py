"""Plans and questions: what is shown to whom, and what ``-q`` leaves out."""

import io
from types import SimpleNamespace
from typing import Any

import pytest

from kcli.commands.shared import confirm as module
from kcli.commands.shared.confirm import confirm, show_plan
from kcli.output.talk import Talk

PLAN = "Rewind group g\n  t 0 5 → 3"


def invocation(*, quiet: bool, yes: bool = False, dry_run: bool = False, kind: str = "plain") -> Any:
    shown: list[str] = []
    out = SimpleNamespace(kind=kind, shown=shown.append, flush=lambda: None, told=shown)
    talk = Talk(io.StringIO(), quiet=quiet)
    values = SimpleNamespace(confirm=None)
    return SimpleNamespace(talk=talk, out=out, values=values, yes=yes, dry_run=dry_run, no_input=False)


def on_stderr(inv: Any) -> str:
    return str(inv.talk.stream.getvalue())


@pytest.mark.parametrize("quiet", [True, False])
def test_a_plan_without_a_prompt_is_shown_unless_quiet(*, quiet: bool) -> None:
    inv = invocation(quiet=quiet, yes=True)
    assert confirm(inv, PLAN, "Proceed?")
    assert on_stderr(inv) == ("" if quiet else PLAN + "\n")


@pytest.mark.parametrize("quiet", [True, False])
def test_a_plan_that_cannot_be_confirmed_is_shown_unless_quiet(*, quiet: bool) -> None:
    inv = invocation(quiet=quiet)
    with pytest.raises(Exception, match="confirmation"):
        confirm(inv, PLAN, "Proceed?")
    assert on_stderr(inv) == ("" if quiet else PLAN + "\n")


def test_a_plan_that_is_asked_about_is_always_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    inv = invocation(quiet=True)
    inv.talk.isatty = True
    terminal = SimpleNamespace(isatty=lambda: True, readline=lambda: "y\n")
    monkeypatch.setattr(module.sys, "stdin", terminal)
    assert confirm(inv, PLAN, "Proceed?")
    assert on_stderr(inv).startswith(PLAN)


def test_the_plan_of_a_dry_run_is_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    inv = invocation(quiet=True, dry_run=True)
    show_plan(inv, PLAN)
    assert (inv.out.told, on_stderr(inv)) == ([PLAN + "\n"], "")
    inv = invocation(quiet=True, dry_run=True, kind="json")
    show_plan(inv, PLAN)
    assert (inv.out.told, on_stderr(inv)) == ([], "")
