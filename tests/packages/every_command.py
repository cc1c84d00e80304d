"""A line for each command, which an installed kcli runs on a real broker: what reads, and dry runs of what changes.

They show that a package has all modules and libraries, not what the commands do.
"""

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from kcli.cli import cli

LINES = {
    "acls create": "--principal User:a --operation read --topic orders --dry-run",
    "acls delete": "--topic orders --dry-run",
    "acls list": "",
    "cluster describe": "--log-dirs",
    "completion": "bash",
    "config check": "",
    "config show": "--origin",
    "configs alter": "topics orders --set retention.ms=5 --dry-run",
    "configs describe": "topics orders",
    "consume": "orders --exit -n 3 -s value=json -o ndjson",
    "demo": "--help",  # every package runs it whole: see checks.py
    "doctor": "--topic orders --group billing",
    "elect-leaders": "--topic orders --dry-run",
    "exporter": "--help",  # has no end
    "groups copy": "billing other --dry-run",
    "groups create": "new -t orders --from earliest --dry-run",
    "groups delete": "billing --dry-run",
    "groups delete-offsets": "billing -t orders --dry-run",
    "groups describe": "billing --peek 1",
    "groups export": "billing",
    "groups import": "{dir}/offsets.csv --dry-run",
    "groups lag": "billing --time exact -o json",
    "groups list": "-o yaml",
    "groups remove-members": "billing somebody --dry-run",
    "groups rewind": "billing --to earliest --dry-run",
    "help": "exit-codes",
    "man": "groups rewind",
    "mirror": "--from {broker} --to {broker} -t orders --map-topic orders=copy --dry-run",
    "perf compare": "{dir}/perf.json {dir}/perf.json",
    "perf consume": "-t orders --num-records 10",
    "perf e2e": "-t e2e --num-records 5 --record-size 100",
    "perf produce": "-t e2e --num-records 50 --record-size 100 --verify -o json",
    "pipeline doctor": "--help",
    "pipeline export": "orders {dir}/exported --format ndjson --runner processes",
    "pipeline import": "{dir}/exported --dry-run --runner inline",
    "pipeline mirror": "--from {broker} --to {broker} -t orders --map-topic orders=copy --dry-run --runner inline",
    "pipeline pack": "--dry-run",
    "pipeline perf": "-t e2e --num-records 10 --record-size 100 --runner inline",
    "pipeline profile": "orders --runner inline",
    "pipeline query": "orders --sql 'select 1 from source' --dry-run",
    "pipeline replay": "orders --to copy --dry-run --runner inline",
    "pipeline verify": "--from {broker} --to {broker} -t orders --map-topic orders=copy --runner inline",
    "produce": "orders {dir}/lines.txt -z zstd --dry-run",
    "profile add": "{name} -b {broker}",
    "profile import": "--help",  # reads what other tools have left
    "profile list": "",
    "profile remove": "{name} --yes",
    "profile show": "{name}",
    "profile use": "{name}",
    "quotas alter": "--user a --set request_percentage=5 --dry-run",
    "quotas list": "",
    "reassign cancel": "--all --dry-run",
    "reassign plan": "--topic orders --dry-run",
    "reassign run": "{dir}/moves.json --dry-run",
    "reassign status": "",
    "sandbox down": "none --dry-run",
    "sandbox logs": "--help",
    "sandbox status": "",
    "sandbox up": "--dry-run",
    "schema": "GroupLag",
    "top": "--help",  # needs a terminal
    "topics alter": "orders --set retention.ms=5 --partitions 8 --dry-run",
    "topics create": "made --dry-run",
    "topics delete": "orders --dry-run",
    "topics describe": "orders",
    "topics list": "",
    "topics offsets": "orders -o csv",
    "topics trim": "orders --before latest --dry-run",
    "txn abort": "--topic orders --dry-run",
    "txn describe": "--topic orders",
    "txn list": "",
    "undo": "",
    "users delete": "a --dry-run",
    "users list": "",
    "users set": "a --dry-run --allow-plaintext-secrets",
}

STATUS = {
    "acls create": 7,  # the broker has no authorizer
    "acls delete": 7,
    "acls list": 7,
    "groups remove-members": 1,  # nobody has that name
    "perf compare": 2,  # the run was too short
    "pipeline verify": 8,  # they differ
    "sandbox down": 1,  # there is none
    "users delete": 1,  # there is none
}
"""What a line returns where that is not 0."""

WITH_SPARK = {"pipeline import", "pipeline pack", "pipeline profile", "pipeline query"}
"""2 where what the extra ``spark`` brings is not installed."""

WITH_JAVA = {"sandbox up"}
"""2 where there is none; that a package brings one is seen by its demo."""

NAME_CLUSTERS = {"mirror", "pipeline mirror", "pipeline verify"}
"""By --from and --to."""

SEEDS = (
    "topics create orders --partitions 3",
    "topics create copy --partitions 3",
    "topics create e2e",
    "produce orders {dir}/lines.txt -K :",
    "groups create billing -t orders --from earliest --yes",
)
"""What these lines find on the broker."""

FILES = {
    "lines.txt": "".join(f'k{number}:{{"a":{number}}}\n' for number in range(15)),
    "offsets.csv": "billing,orders,0,1\n",
    "moves.json": '{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[1]}]}',
}
"""In the folder ``{dir}``. ``perf.json`` is what ``perf produce`` has printed."""

LATE = ("perf compare", "pipeline import", "profile show", "profile use", "profile remove")
"""They need what others have made."""


def leaves(group: click.Command = cli, path: tuple[str, ...] = ()) -> Iterator[str]:
    """All commands that do something."""
    if not isinstance(group, click.Group):
        yield " ".join(path)
        return
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        yield from leaves(found, (*path, name))


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
        (folder / name).write_text(text)
    for leaf in leaves():
        done = run([*leaf.split(), "--help"])
        if done.code or f"kcli {leaf}" not in done.out:
            yield f"{leaf} --help: {done.code} {done.err.strip()}"
    for leaf in sorted(LINES, key=lambda one: (LATE.index(one) + 1 if one in LATE else 0, one)):
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
        (folder / name).write_text(text)
    for line in SEEDS:
        done = run([*shlex.split(line.format(dir=folder)), "-b", broker])
        assert not done.code, (line, done)
