"""Finds the running sandboxes of this user: reads their state files and checks whether their processes live.

Light enough for the start of any command: no network, no jgo, no lock, no subprocess (on Linux).
"""

from kcli.sandbox.errors import SeveralSandboxesError
from kcli.sandbox.identity import is_alive
from kcli.sandbox.paths import state_root
from kcli.sandbox.state import FILE_NAME, Phase, SandboxState, read_state

DEFAULT_NAME = "default"


def all_states() -> list[SandboxState]:
    """Every sandbox that is remembered, running or not, by name."""
    homes = sorted(path.parent for path in state_root().glob(f"*/{FILE_NAME}"))
    return [state for state in map(read_state, homes) if state is not None]


def running() -> list[SandboxState]:
    """The sandboxes that are up: started to the end, and at least one broker lives."""
    return [state for state in all_states() if is_running(state)]


def is_running(state: SandboxState) -> bool:
    return state.phase is Phase.UP and any(
        node.process is not None and is_alive(node.process) for node in state.nodes
    )


def find_bootstrap() -> tuple[str, str] | None:
    """(name, ``host:port,…``) of the sandbox to use when no broker was named; None when none runs.

    The one called ``default``, else the only one; with several others: ``SeveralSandboxesError``.
    """
    found = {state.name: state.bootstrap for state in running()}
    if not found:
        return None
    if DEFAULT_NAME in found:
        return DEFAULT_NAME, found[DEFAULT_NAME]
    if len(found) > 1:
        raise SeveralSandboxesError(
            "several sandboxes run and none is called default",
            why=", ".join(f"{name} ({bootstrap})" for name, bootstrap in found.items()),
            do="name the brokers with -b",
        )
    return next(iter(found.items()))
