"""Plans and questions: what is shown to whom, and what ``-q`` leaves out."""

import io
from types import SimpleNamespace
from typing import Any

import pytest

from kcli.commands.shared import confirm as module
from kcli.commands.shared.confirm import confirm, show_plan, with_cluster
from kcli.commands.shared.context import ClusterName
from kcli.output.talk import Talk
from kcli.profiles.profile import Profile

PLAN = "Rewind group g\n  t 0 5 → 3"


NAME = ClusterName("prod", "profile prod, as User:me")


def invocation(
    *,
    quiet: bool,
    yes: bool = False,
    dry_run: bool = False,
    kind: str = "plain",
    confirmed: str | None = None,
    profile: Profile | None = None,
    cluster_id: str | None = None,
) -> Any:
    shown: list[str] = []

    def show(text: str, *, fold: bool, color: str) -> None:
        assert fold, "a plan is sentences"
        shown.append(text)

    out = SimpleNamespace(kind=kind, shown=show, flush=lambda: None, told=shown, colour=False)
    talk = Talk(io.StringIO(), quiet=quiet)
    values = SimpleNamespace(confirm=() if confirmed is None else (confirmed,))
    found = {"talk": talk, "out": out, "values": values, "profile": profile, "cluster_id": cluster_id}
    return SimpleNamespace(**found, yes=yes, dry_run=dry_run, no_input=False, cluster_name=NAME, place=None)


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


PROTECTED = Profile("prod", "c:1", protected=True, color="red")


@pytest.mark.parametrize(("name", "needed"), [(None, "g"), ("t", "t")])
def test_a_protected_profile_is_confirmed_by_name_only(name: str | None, needed: str) -> None:
    with pytest.raises(Exception, match="confirmation by name required") as caught:
        confirm(invocation(quiet=True, yes=True, profile=PROTECTED), PLAN, "Proceed?", name=name, subject="g")
    assert f"--confirm {needed}" in caught.value.do  # type: ignore[attr-defined]
    assert "Profile prod is protected" in caught.value.why  # type: ignore[attr-defined]
    named = invocation(quiet=True, profile=PROTECTED, confirmed=needed)
    assert confirm(named, PLAN, "Proceed?", name=name, subject="g")


def test_a_protected_profile_needs_its_own_name_where_a_plan_has_none() -> None:
    with pytest.raises(Exception, match="confirmation by name required"):
        confirm(invocation(quiet=True, yes=True, profile=PROTECTED), PLAN, "Proceed?")
    assert confirm(invocation(quiet=True, profile=PROTECTED, confirmed="prod"), PLAN, "Proceed?")
    with pytest.raises(Exception, match="--confirm g does not name what would be changed") as caught:
        confirm(invocation(quiet=True, profile=PROTECTED, confirmed="g"), PLAN, "Proceed?")
    assert caught.value.do == "use --confirm prod; it stands for all of it"  # type: ignore[attr-defined]


def test_a_plan_names_the_cluster_by_its_id() -> None:
    inv = invocation(quiet=False, yes=True, cluster_id="Qx3")
    assert confirm(inv, PLAN, "Proceed?")
    assert on_stderr(inv) == f"On prod (cluster Qx3, profile prod, as User:me):\n{PLAN}\n"
    assert with_cluster("Rewind on h:1 (cluster Qx3)\n  t", inv) == "Rewind on h:1 (cluster Qx3)\n  t"


def test_a_plan_names_the_profile_once_and_in_its_colour() -> None:
    inv = invocation(quiet=False, yes=True, profile=Profile("prod", "c:1", color="red"))
    assert confirm(inv, PLAN, "Proceed?")
    assert on_stderr(inv) == f"On prod (profile prod, as User:me):\n{PLAN}\n"
    inv = invocation(quiet=False, yes=True, profile=Profile("prod", "c:1", color="red"))
    inv.talk.colour = True
    assert confirm(inv, "Rewind on prod (profile prod)\n  t", "Proceed?")
    assert on_stderr(inv) == "\x1b[1;31mRewind on prod (profile prod)\x1b[0m\n  t\n"
