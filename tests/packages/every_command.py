"""A line for each command, which an installed kcli runs on a real broker: what reads, and dry runs of what changes.

They show that a package has all modules and libraries, not what the commands do.
"""

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import lines

OTHERWISE = {
    "exporter": "--help",  # has no end
    "groups lag": "{group} --time exact -o json",
    "groups list": "-o yaml",
    "profile rename": "{name}-copy {name}-renamed",
    "profile test": "-b {broker}",
    "top": "--help",  # needs a terminal
    "topics copy": "{topic} copied --dry-run",
    "topics offsets": "{topic} -o csv",
}
LINES = {
    path: line.format(
        topic="orders",
        other="copy",
        group="billing",
        load="e2e",
        dir="{dir}",
        broker="{broker}",
        name="{name}",
    )
    for path, line in {**lines.LINES, **OTHERWISE}.items()
}

STATUS = {
    "acls check": 7,  # the broker has no authorizer
    "acls create": 7,
    "acls delete": 7,
    "acls list": 7,
    "brokers drain": 1,  # there is no such broker
    "brokers move-log-dir": 1,  # it has no such directories
    "brokers unregister": 1,  # there is none
    "features upgrade": 7,  # it has a higher level
    "groups remove-members": 1,  # nobody has that name
    "perf compare": 2,  # the run was too short
    "pipeline verify": 8,  # they differ
    "mirror accept-gap": 1,  # there is no job
    "mirror check": 1,
    "mirror promote": 1,
    "mirror reset": 1,
    "mirror reverse": 1,
    "mirror verify": 8,  # nothing is copied
    "quorum add-controller": 7,  # the quorum is static
    "quorum remove-controller": 7,
    "sandbox down": 1,  # there is none
    "tokens create": 7,  # the broker has no secret for them
    "tokens expire": 7,
    "tokens list": 7,
    "tokens renew": 7,
    "users delete": 1,  # there is none
}
"""What a line returns where that is not 0."""

WITH_SPARK = {"pipeline import", "pipeline pack", "pipeline profile", "pipeline query", "query"}
"""2 where what the extra ``spark`` brings is not installed; of a query, the extra ``sql`` too."""

WITH_JAVA = {"sandbox up"}
"""2 where there is none; that a package brings one is seen by its demo."""

NAME_CLUSTERS = {
    *(path for path in lines.PATHS if path.startswith("mirror ")),
    "pipeline mirror",
    "pipeline verify",
    "segments restore",
}
"""By --from and --to."""

SEEDS = (
    "topics create orders --partitions 3",
    "topics create copy --partitions 3 --config retention.ms=86400000000",
    "topics create e2e",
    "produce orders {dir}/lines.txt -K :",
    "groups create billing -t orders --from earliest --yes",
)
"""What these lines find on the broker."""

FILES = {
    "lines.txt": "".join(f'k{number}:{{"a":{number}}}\n' for number in range(15)),
    "00000000000000000000.log": "",
    "gone-0/00000000000000000000.log": "",
    "offsets.csv": "billing,orders,0,1\n",
    "topic.yaml": "apiVersion: kcli/v1\nkind: Topic\nmetadata: {name: orders}\nspec: {partitions: 3}\n",
    "applied.yaml": "{apiVersion: kcli/v1, kind: Topic, metadata: {name: orders}, spec: {config: {retention.ms: 5}}}\n",
    "moves.json": '{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[1]}]}',
}
"""In the folder ``{dir}``. ``perf.json`` is what ``perf produce`` has printed."""

LATE = ("perf compare", "pipeline import", "profile show", "profile use", "profile remove")
"""They need what others have made."""
IN_ORDER = sorted(LINES, key=lambda leaf: (LATE.index(leaf) + 1 if leaf in LATE else 0, leaf))


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


Run = Callable[[Sequence[str]], Done]
"""Runs words of a command line with the installed kcli."""


def faults(run: Run, *, broker: str, folder: Path, seen_as: str) -> Iterator[str]:
    """What any command does that it should not. ``folder`` is empty; the installed kcli sees it as ``seen_as``."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    for leaf in lines.PATHS:
        done = run([*leaf.split(), "--help"])
        if done.code or f"kcli {leaf}" not in done.out:
            yield f"{leaf} --help: {done.code} {done.err.strip()}"
    for leaf in IN_ORDER:
        words = shlex.split(LINES[leaf].format(dir=seen_as, broker=broker, name="here"))
        # Of a profile that is made here only its own lines know.
        server = [] if leaf.startswith("profile ") or leaf in NAME_CLUSTERS else ["-b", broker]
        done = run([*leaf.split(), *words, *server])
        if leaf == "perf produce":
            (folder / "perf.json").write_text(done.out)
        allowed = {STATUS.get(leaf, 0)} | ({2} if leaf in WITH_SPARK else set())
        if leaf in WITH_JAVA and "no Java" in done.err:
            allowed = {2}
        if done.code not in allowed:
            yield f"{leaf} {' '.join(words)}: {done.code} {done.err.strip()}"


def prepare(run: Run, *, broker: str, folder: Path) -> None:
    """Makes on a broker what the lines need; ``run`` is the kcli of the checkout."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    for line in SEEDS:
        done = run([*shlex.split(line.format(dir=folder)), "-b", broker])
        assert not done.code, (line, done)
