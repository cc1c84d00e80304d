"""Judges the local side: versions, optional libraries, configuration, the limit of open files. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from kcli.core.classes import dataclass
from kcli.flows.doctor.findings import Finding, warning, well

CLIENT = "client"
FEW_FILES = 256
"""Below this limit a client of a larger cluster runs out of descriptors: it has up to five connections per broker."""


@dataclass(frozen=True, slots=True)
class ClientFacts:
    """``extras``: optional parts, and whether each is installed. ``open_files``: the limit, None without one.

    ``options``: (key, origin) of what is configured, without values. ``ignored``: keys that mean nothing here.
    """

    versions: str
    kernels: str
    extras: Mapping[str, bool]
    open_files: int | None
    options: Sequence[tuple[str, str]]
    ignored: Sequence[str]
    warnings: Sequence[str]


def versions(facts: ClientFacts) -> Iterator[Finding]:
    """What runs here."""
    yield well(CLIENT, "versions", facts.versions)


def kernels(facts: ClientFacts) -> Iterator[Finding]:
    """Whether records are handled by compiled code."""
    if facts.kernels == "native":
        return
    yield warning(
        CLIENT,
        "kernels",
        f"records are handled in Python ({facts.kernels})",
        why="the compiled module is not installed, or KCLI_IMPL chooses the other one: kcli is several times slower",
        do="install a C compiler and kcli again, or unset KCLI_IMPL",
    )


def extras(facts: ClientFacts) -> Iterator[Finding]:
    """Which optional parts are installed."""
    there = [name for name, found in facts.extras.items() if found]
    missing = [name for name, found in facts.extras.items() if not found]
    text = ", ".join(there) or "none"
    yield well(CLIENT, "extras", text + (f"; not installed: {', '.join(missing)}" if missing else ""))


def configuration(facts: ClientFacts) -> Iterator[Finding]:
    """Where the options come from, and what is doubtful about them."""
    by_origin: dict[str, list[str]] = {}
    for key, origin in facts.options:
        file, _, line = origin.rpartition(":")
        by_origin.setdefault(file if line.isdecimal() else origin, []).append(key)
    text = "; ".join(f"{', '.join(keys)} from {origin}" for origin, keys in by_origin.items())
    yield well(CLIENT, "configuration", text or "defaults")
    for remark in facts.warnings:
        yield warning(CLIENT, "configuration", remark, why="", do="")
    if facts.ignored:
        yield warning(
            CLIENT,
            "configuration",
            f"options without effect: {', '.join(facts.ignored)}",
            why="they are options of other clients",
            do="leave them out, if they were meant for kcli; `kcli help options` lists its own",
        )


def open_files(facts: ClientFacts) -> Iterator[Finding]:
    """Whether there are enough descriptors."""
    if facts.open_files is None or facts.open_files >= FEW_FILES:
        limit = "no limit" if facts.open_files is None else f"at most {facts.open_files:,}"
        yield well(CLIENT, "open files", limit)
        return
    yield warning(
        CLIENT,
        "open files",
        f"at most {facts.open_files}",
        why="a client has up to five connections to each broker, besides its files",
        do="raise the limit: ulimit -n 1024",
    )


CHECKS: tuple[Callable[[ClientFacts], Iterator[Finding]], ...] = (
    versions,
    kernels,
    extras,
    configuration,
    open_files,
)
"""The table, in the order of the report."""
