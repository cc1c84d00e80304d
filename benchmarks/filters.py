"""``kcli consume --where`` beside ``--grep``, all records and ``jq``: whole processes, one real broker, JSON of 60 bytes.

``KCLI_BENCH_ROUNDS`` (3) and ``KCLI_BENCH_RECORDS`` (2,000,000) choose. jq reads the file of lines, without a broker.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from benchmarks import _contenders as tools
from benchmarks._measure import Contest, Run, create_topic, environment, machine
from benchmarks._table import Table
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings

ROUNDS = int(os.environ.get("KCLI_BENCH_ROUNDS", "3"))
RECORDS = int(os.environ.get("KCLI_BENCH_RECORDS", "2000000"))
TOPIC = "documents"
FILTERS = {
    "--where value.status": ("--where", "value.status == `500`"),
    "--where, three members": ("--where", "value.status == `500` || value.id > `7` && value.more.ok"),
    "--where starts_with": ("--where", "starts_with(value.path, '/index/77')"),
    "--where, value and offset": ("--where", "value.status == `500` && offset > `7`"),
    "--where key": ("--where", "key == 'k'"),
    "--where, not compiled": ("--where", "value.{a: status}.a == `500`"),
    "--grep": ("--grep", 'v:"status":500'),
    "all": (),
}


def main() -> list[Table]:
    """Starts a broker, writes the records, prints and returns the table."""
    print(f"machine: {machine()}", flush=True)
    sandbox = Sandbox(f"bench-{os.getpid()}")
    status = sandbox.up(Settings(port=0, ephemeral=True, die_with_parent=True))
    try:
        with tempfile.TemporaryDirectory(prefix="kcli-bench-") as folder:
            lines = documents(Path(folder))
            create_topic(status.bootstrap, TOPIC, 1)
            run = tools.kcli_produce(status.bootstrap, TOPIC, lines, RECORDS, "none")
            with lines.open("rb") as stdin:
                subprocess.run(run.argv, stdin=stdin, check=True, env=environment())
            contest = Contest(
                "consume with filters, one record in a hundred",
                {
                    name: partial(tools.kcli_consume, status.bootstrap, TOPIC, RECORDS, *flags)
                    for name, flags in FILTERS.items()
                },
                "--grep",
            )
            contest.contenders["jq"] = partial(jq, lines)
            for _ in range(ROUNDS):
                contest.round()
            print(contest.report(), flush=True)
            return [contest.table()]
    finally:
        sandbox.down(delete=True)


def documents(folder: Path) -> Path:
    """A file with a document a line."""
    path = folder / "documents"
    with path.open("wb") as file:
        for number in range(RECORDS):
            status = 200 if number % 100 else 500
            file.write(
                b'{"id":%d,"status":%d,"path":"/index/%d","ok":true}\n' % (number, status, number % 1000)
            )
    return path


def jq(lines: Path) -> Run | None:
    """The same from a file."""
    program = shutil.which("jq")
    return Run([program, "-c", "select(.status == 500)", str(lines)], RECORDS) if program else None


if __name__ == "__main__":
    main()
