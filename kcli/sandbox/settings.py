"""The settings of ``sandbox up``, and how they combine with a sandbox that exists. Pure decisions.

None means "not given": a sandbox that exists keeps its value, and a new one gets the default. So
``up`` without options brings back whatever was there, and is content with whatever runs.
"""

from collections.abc import Mapping
from typing import TypeVar

from kcli.core.classes import dataclass
from kcli.output.progress import counted
from kcli.sandbox.config import (
    DEFAULT_VERSION,
    can_be_secure,
    has_dynamic_quorum,
    parse_version,
    uses_zookeeper,
)
from kcli.sandbox.errors import RefusedError, UsageError
from kcli.sandbox.state import SandboxState

LAST_PORT = 65_535

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Settings:
    """The requested settings. ``port``: the first node's, 0 for any. ``extra``: further lines of
    server.properties, which take precedence.

    ``controllers``: the quorum is dynamic (KIP-853), and so many nodes are its first voters; 0: all, for good.
    ``log_dirs``: how many log directories each node has.
    ``die_with_parent`` ends the brokers when this process ends, however it ends (for tests; see watchdog.py).
    ``timeout`` is how many seconds each step may take: the format of the data, and the brokers to become ready.
    """

    version: str | None = None
    brokers: int | None = None
    port: int | None = None
    data: str | None = None
    ephemeral: bool | None = None
    extra: Mapping[str, str] | None = None
    heap_mb: int | None = None
    jvm_options: tuple[str, ...] | None = None
    secure: bool | None = None
    controllers: int | None = None
    log_dirs: int | None = None
    die_with_parent: bool = False
    timeout: float = 90.0


@dataclass(frozen=True, slots=True)
class Resolved:
    """The settings with every gap filled, except ports."""

    version: str
    brokers: int
    data: str
    ephemeral: bool
    extra: Mapping[str, str]
    heap_mb: int
    jvm_options: tuple[str, ...]
    secure: bool
    controllers: int
    log_dirs: int


def resolve(settings: Settings, kept: SandboxState | None, *, default_data: str) -> Resolved:
    """Fill what was not given from ``kept`` (the stopped sandbox of that name, if any), else by default."""
    version = settings.version or (kept.version if kept else DEFAULT_VERSION)
    parse_version(version)
    brokers = settings.brokers or (len(kept.nodes) if kept else 1)
    if settings.brokers is not None and settings.brokers < 1:
        raise UsageError(
            f"--brokers {settings.brokers}", why="a sandbox has at least one", do="write --brokers 1 or more"
        )
    if settings.port and settings.port + brokers - 1 > LAST_PORT:
        raise UsageError(
            f"{counted(brokers, 'broker')} from port {settings.port} on",
            why=f"ports end at {LAST_PORT}",
            do="choose a lower --port",
        )
    secure = _first(settings.secure, kept.secure if kept else False)
    if secure and not can_be_secure(version):
        raise RefusedError(
            f"Kafka {version} cannot be started with --secure",
            why="the credentials of SCRAM are set when data is formatted, which Kafka can do from 3.5 on",
            do="choose 3.5.0 or newer with --kafka-version, or leave --secure out",
        )
    controllers = _first(settings.controllers, kept.controllers if kept else 0)
    if controllers > brokers:
        raise UsageError(
            f"--controllers {controllers} of {counted(brokers, 'broker')}",
            why="each node is broker and controller",
            do=f"write --brokers {controllers}, or fewer --controllers",
        )
    if controllers and not has_dynamic_quorum(version):
        raise RefusedError(
            f"Kafka {version} cannot be started with --controllers",
            why="a quorum can be changed from 3.9 on (KIP-853)",
            do="choose 3.9.0 or newer with --kafka-version, or leave --controllers out",
        )
    return Resolved(
        version=version,
        brokers=brokers,
        data=settings.data or (kept.data if kept else default_data),
        ephemeral=_first(settings.ephemeral, kept.ephemeral if kept else False),
        extra=_first(settings.extra, kept.extra if kept else {}),
        heap_mb=_first(settings.heap_mb, kept.heap_mb if kept else 512 if brokers < 3 else 384),
        jvm_options=_first(settings.jvm_options, kept.jvm_options if kept else ()),
        secure=secure,
        controllers=controllers,
        log_dirs=_first(settings.log_dirs, kept.log_dirs if kept else 1),
    )


def differences(settings: Settings, running: SandboxState) -> list[str]:
    """The settings that differ from the running sandbox, as ``--brokers 3 (it has 1)``."""
    said: list[tuple[str, object, object]] = [
        ("--kafka-version", settings.version, running.version),
        ("--brokers", settings.brokers, len(running.nodes)),
        ("--port", settings.port or None, running.nodes[0].port),
        ("--data", settings.data, running.data),
        ("--ephemeral", settings.ephemeral, running.ephemeral),
        ("--secure", settings.secure, running.secure),
        ("--controllers", settings.controllers, running.controllers),
        ("--log-dirs", settings.log_dirs, running.log_dirs),
        ("extra properties", settings.extra, running.extra),
        ("heap MB", settings.heap_mb, running.heap_mb),
        ("JVM options", settings.jvm_options, running.jvm_options),
    ]
    return [
        f"{option} {wish} (it has {fact})" for option, wish, fact in said if wish is not None and wish != fact
    ]


def refuse_mismatched_data(resolved: Resolved, kept: SandboxState) -> None:
    """Refuse to start on data that other settings wrote: Kafka would fail later, and less clearly."""
    problem = _data_problem(resolved, kept)
    if problem:
        raise RefusedError(
            f"sandbox {kept.name} keeps data that does not fit",
            why=problem,
            do=f"leave the option out, or throw the data away: `kcli sandbox down {kept.name} --delete`",
        )


def _data_problem(resolved: Resolved, kept: SandboxState) -> str:
    if resolved.brokers != len(kept.nodes):
        return f"it was written with --brokers {len(kept.nodes)}, not {resolved.brokers}"
    if resolved.secure != kept.secure:
        return f"it was written with{'' if kept.secure else 'out'} --secure"
    if resolved.controllers != kept.controllers:
        return f"it was written with --controllers {kept.controllers}, not {resolved.controllers}"
    if resolved.log_dirs != kept.log_dirs:
        return f"it was written with --log-dirs {kept.log_dirs}, not {resolved.log_dirs}"
    if uses_zookeeper(resolved.version) != uses_zookeeper(kept.version):
        return f"Kafka {kept.version} and {resolved.version} differ in using ZooKeeper"
    if parse_version(resolved.version) < parse_version(kept.version):
        return f"it was written by Kafka {kept.version}, {resolved.version} is older"
    return ""


def _first(wish: _T | None, otherwise: _T) -> _T:
    return otherwise if wish is None else wish
