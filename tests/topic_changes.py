"""Administrative commands, run in this process against the fake cluster. Not a test."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple

from kcli.__main__ import run
from tests.fake.cluster import FakeCluster
from tests.printed_json import check_printed


class Done(NamedTuple):
    """What became of a run."""

    code: int
    out: str
    err: str

    @property
    def items(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.out)["items"]
        return found


class Command:
    """``kcli NOUN`` of a cluster."""

    def __init__(self, cluster: FakeCluster, noun: str) -> None:
        self.cluster = cluster
        self.noun = noun

    def __call__(self, line: str, code: int = 0) -> Done:
        done = self.run(f"{line} -b {self.cluster.bootstrap}")
        assert done.code == code, done
        check_printed(done.out)
        return done

    def run(self, line: str) -> Done:
        """The line as it is, without a broker."""
        out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            found = run([self.noun, *line.split()])
        out.flush()
        raw = out.buffer
        assert isinstance(raw, io.BytesIO)
        return Done(found, raw.getvalue().decode(), err.getvalue())


class Topics(Command):
    """``kcli topics``."""

    def __init__(self, cluster: FakeCluster) -> None:
        super().__init__(cluster, "topics")
