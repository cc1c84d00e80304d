"""What ``kcli config show`` does: reads all sources, with the options of a running sandbox."""

from collections.abc import Iterable, Mapping
from typing import Any

from kcli.commands.shared.configuration import report_sources
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.option_rows import is_structured, print_values, value_row
from kcli.commands.shared.sources import sources_of
from kcli.core.errors import ConfigError
from kcli.core.options import key_of
from kcli.profiles.resolve import NoBrokerError, Resolved, resolve, shown_values
from kcli.sandbox.discovery import find_sandbox
from kcli.sandbox.errors import SeveralSandboxesError


def show(inv: Invocation, *, origin: bool) -> int:
    """Lists the options of all sources."""
    resolved = _resolved(inv)
    report_sources(inv.talk, resolved)
    name = resolved.profile.name if resolved.profile is not None else None
    print_values(inv, _rows(resolved, structured=is_structured(inv)), origin=origin, profile=name)
    return 0


def _resolved(inv: Invocation) -> Resolved:
    """With the options of a running sandbox where no brokers are named, if there is one."""

    def sandbox() -> tuple[str, Mapping[str, str]] | None:
        try:
            return find_sandbox()
        except SeveralSandboxesError as error:
            inv.talk.note(f"{error.what} ({error.why}): no option is from a sandbox")
            return None

    def report(error: ConfigError) -> None:
        if not isinstance(error, NoBrokerError):
            raise error

    return resolve(sources_of(inv.values, sandbox), report=report)


def _rows(resolved: Resolved, *, structured: bool) -> Iterable[dict[str, Any]]:
    sources = {**resolved.registry, **resolved.values}
    for name, value, secret, origin in shown_values(resolved):
        yield value_row(key_of(name), value, sources[name], secret, origin, structured=structured)
