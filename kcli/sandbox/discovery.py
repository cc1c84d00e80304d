"""Finds the running sandboxes of this user: reads their state files and checks whether their processes live.

Light enough for the start of any command: no network, no jgo, no lock, no subprocess (on Linux).
"""

from pathlib import Path

from kcli.sandbox.errors import RefusedError, SeveralSandboxesError, UsageError
from kcli.sandbox.identity import is_alive
from kcli.sandbox.paths import home_of, state_root
from kcli.sandbox.security.names import ADMIN, MUTUAL_TLS, Names, certificate_options
from kcli.sandbox.state import FILE_NAME, Phase, SandboxState, read_state, security_folder

DEFAULT_NAME = "default"


def all_states() -> list[SandboxState]:
    """Every sandbox that is remembered, running or not, by name; without those of a newer kcli."""
    homes = sorted(path.parent for path in state_root().glob(f"*/{FILE_NAME}"))
    return [state for state in map(_readable_state, homes) if state is not None]


def _readable_state(home: Path) -> SandboxState | None:
    try:
        return read_state(home)
    except RefusedError:
        return None


def running() -> list[SandboxState]:
    """The sandboxes that are up: started to the end, and at least one broker lives."""
    return [state for state in all_states() if is_running(state)]


def is_running(state: SandboxState) -> bool:
    return state.phase is Phase.UP and any(
        node.process is not None and is_alive(node.process) for node in state.nodes
    )


def find_sandbox() -> tuple[str, dict[str, str]] | None:
    """Name and client options of the sandbox to use when no broker was named; None when none runs.

    The one called ``default``, else the only one; with several others: ``SeveralSandboxesError``. Clients of a secure
    sandbox connect as its super user, by certificate.
    """
    found = {state.name: state for state in running()}
    if not found:
        return None
    if DEFAULT_NAME in found:
        return DEFAULT_NAME, _options(found[DEFAULT_NAME])
    if len(found) > 1:
        raise SeveralSandboxesError(
            "several sandboxes run and none is called default",
            why=", ".join(f"{name} ({state.bootstrap})" for name, state in found.items()),
            do=f"choose one: --profile sandbox:{next(iter(found))}",
        )
    name, state = next(iter(found.items()))
    return name, _options(state)


def options_of(name: str) -> dict[str, str]:
    """The client options of the running sandbox of that name; UsageError if it does not run."""
    state = _readable_state(home_of(name))
    if state is not None and is_running(state):
        return _options(state)
    up = [other.name for other in running()]
    raise UsageError(
        f"there is no sandbox {name}" if state is None else f"sandbox {name} is not running",
        why=f"running are {', '.join(up)}" if up else "no sandbox is running",
        do=f"start it: `kcli sandbox up {name}`" + (f", or choose sandbox:{up[0]}" if up else ""),
    )


def _options(state: SandboxState) -> dict[str, str]:
    if not state.secure:
        return {"bootstrap.servers": state.bootstrap}
    names = Names(security_folder(state.data))
    return certificate_options(names, ADMIN, state.bootstraps[MUTUAL_TLS])
