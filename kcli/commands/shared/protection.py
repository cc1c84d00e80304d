"""What the marks of a profile forbid: ``read_only`` every command that changes the cluster. Pure.

A command declares whether it does (``changes`` of ``command.Command``); one that does not say counts as if it did.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.profiles.profile import Profile

Changes = bool | Callable[[Mapping[str, Any]], bool]
"""Whether a command changes the cluster, or a function of its flags that tells."""


class ReadOnlyError(KcliError):
    """The profile allows reading only."""

    exit_code = ExitCode.REFUSED


def may_change(changes: Changes | None, flags: Mapping[str, Any]) -> bool:
    """Whether a command with these flags changes anything on the cluster."""
    if callable(changes):
        return changes(flags)
    return changes is not False


def read_only_refusal(profile: Profile | None, what: str) -> ReadOnlyError | None:
    """The error for ``what`` under a read-only profile; None under any other."""
    if profile is None or not profile.read_only:
        return None
    return ReadOnlyError(
        f"{what} is refused: profile {profile.name} is read-only",
        why=f"read_only = true in {profile.mark_origins.get('read_only', profile.origin)}; nothing was done",
        do="use another profile with --profile NAME, or change read_only there",
    )
