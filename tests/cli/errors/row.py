"""A row of the error tables, and what its script may break. Not a test."""

from collections.abc import Callable
from dataclasses import dataclass

from kcli.core.protocol.api import Request
from tests.cli.error_world import World
from tests.fake.script import FOREVER

Api = type[Request]
Script = Callable[[World], object]


@dataclass(frozen=True, slots=True)
class Row:
    """``line``: what is typed behind ``kcli``; ``{words}`` are those of the world. ``do`` has to be said in every row.

    ``script``: what is broken before. ``at``: the cluster that is found in the environment. ``out``: where stdout goes.
    ``then``: ``CODE: why``, if the commands of the remedy do not end with 0 in that situation; ``CODE WORDS: why`` for
    those with these words. ``mends``: they are done in earnest, and the line succeeds afterwards. ``first``: what the
    remedy asks for before its commands. ``adds``: options that it names; the line succeeds with them.
    """

    line: str
    code: int
    what: str
    why: str
    do: str
    script: Script | None = None
    stdin: bytes = b"a\n"
    at: str = "{cluster}"
    env: tuple[tuple[str, str], ...] = ()
    out: str = ""
    then: str = ""
    mends: bool = False
    first: Script | None = None
    adds: str = ""

    def __str__(self) -> str:
        return f"{self.code} {self.line}"


def fails(api: Api, code: int) -> Script:
    """All requests of an API are refused."""
    return lambda here: here.cluster.fail(api, code, times=FOREVER)


def once(api: Api, code: int, after: int) -> Script:
    """One request of an API is refused, after so many."""
    return lambda here: here.cluster.fail(api, code, after=after)


def silent(api: Api, after: int = 0) -> Script:
    """Requests of an API are never answered, nor what follows them on their connection."""
    return lambda here: here.cluster.drop(api, "silence", times=FOREVER, after=after)


def member(here: World) -> None:
    """A group has one."""
    here.member_of("billing")
