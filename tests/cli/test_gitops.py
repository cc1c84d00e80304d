"""The jobs of the page *GitOps*, as the page has them: their lines are run by a shell, on a fake cluster, in a checkout
of their own. What GitHub and GitLab supply is replaced: ``pipx``, ``pip``, ``gh``, and the API that takes comments.
"""

import http.server
import os
import re
import shlex
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.fake.cluster import FakeCluster
from tests.run import environment, kcli

PAGE = Path(__file__).resolve().parents[2] / "docs/tasks/gitops.md"
_BLOCK = re.compile(r"^`([^`\n]+)`:\n\n```(?:sh|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = dict(_BLOCK.findall(PAGE.read_text(encoding="utf-8")))
SCRIPT, GITHUB, GITLAB = "ci/kafka-plan.sh", ".github/workflows/kafka.yaml", ".gitlab-ci.yml"
CLIENT = ("KCLI_X_SECURITY_PROTOCOL", "KCLI_X_SASL_MECHANISM", "KCLI_X_SASL_USERNAME", "KCLI_X_SASL_PASSWORD")
"""The fake cluster wants none of these."""
POLICY = "- kind: Topic\n  rule: spec.partitions <= 8\n  message: at most 8 partitions\n"
TOPIC = """\
apiVersion: kcli/v1
kind: Topic
metadata: {{name: orders}}
spec: {{partitions: {partitions}, config: {{retention.ms: 60000}}}}
"""


class Repository(NamedTuple):
    """``folder`` is the checkout, ``home`` the runner's; ``comments`` are those that were posted."""

    folder: Path
    home: Path
    bootstrap: str
    comments: list[str]
    notes: str

    def write(self, partitions: int, policy: str = POLICY) -> None:
        (self.folder / "kafka/topics.yaml").write_text(TOPIC.format(partitions=partitions))
        (self.folder / "policy.yaml").write_text(policy)

    def run(self, lines: list[str], variables: Mapping[str, str], *options: str) -> int:
        """The exit code of a script of bash."""
        known = {key: value for key, value in environment().items() if not key.startswith("XDG_")}
        known |= {key: value for key, value in variables.items() if key not in CLIENT}
        known |= {"KCLI_BOOTSTRAP_SERVER": self.bootstrap, "HOME": str(self.home), "NOTES": self.notes}
        known["PATH"] = f"{self.home}/bin{os.pathsep}{known['PATH']}"
        done = subprocess.run(
            ["bash", *options, "-c", "\n".join(lines)],
            cwd=self.folder, env=known, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        print(done.stdout, done.stderr)
        posted = self.home / "posted"
        if posted.exists():
            self.comments.append(posted.read_text())
            posted.unlink()
        return done.returncode


class _Notes(http.server.BaseHTTPRequestHandler):
    """GitLab's API for comments."""

    def do_POST(self) -> None:
        assert self.headers["Private-Token"] == "a-token"
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.server.comments.append(form["body"][0])  # type: ignore[attr-defined]
        self.send_response(201)
        self.end_headers()

    def log_message(self, *_args: object) -> None:
        """Nothing."""


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    folder, home = tmp_path / "checkout", tmp_path / "home"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "kafka").mkdir()
    (home / "bin").mkdir(parents=True)
    programs = {
        "kcli": f'exec {shlex.quote(sys.executable)} -m kcli "$@"',
        "python": f'exec {shlex.quote(sys.executable)} "$@"',
        "pip": "exit 0",
        "pipx": "exit 0",
        "gh": '[ "$1 $2 $3" = "pr comment https://forge.example/pull/7" ] && cp comment.md ~/posted',
    }
    for name, text in programs.items():
        program = home / "bin" / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    comments: list[str] = []
    server = http.server.HTTPServer(("127.0.0.1", 0), _Notes)
    server.comments = comments  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with FakeCluster(1) as cluster:
            notes = f"http://127.0.0.1:{server.server_port}/notes"
            yield Repository(folder, home, cluster.bootstrap, comments, notes)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def of_github(repository: Repository, name: str) -> int:
    """Runs a job as GitHub does: each step in a shell of its own, after a failure only those with ``if: always()``."""
    workflow: dict[str, Any] = yaml.safe_load(FILES[GITHUB])
    job = workflow["jobs"][name]
    code = 0
    for step in job["steps"]:
        if "run" not in step or (code and step.get("if") != "always()"):
            continue
        given = {**workflow["env"], **job.get("env", {}), **step.get("env", {})}
        filled = {
            key: _of_github(str(value)) for key, value in given.items() if key != "KCLI_BOOTSTRAP_SERVER"
        }
        code = repository.run([step["run"]], filled, "-e") or code
    return code


def _of_github(text: str) -> str:
    known = {
        "github.event.pull_request.html_url": "https://forge.example/pull/7",
        "github.token": "a-token",
        "vars.KAFKA_READER": "reader",
        "vars.KAFKA_ADMIN": "admin",
        "secrets.KAFKA_READER_PASSWORD": "x",
        "secrets.KAFKA_ADMIN_PASSWORD": "x",
    }
    return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: known[found[1]], text)


def of_gitlab(repository: Repository, name: str) -> int:
    """Runs a job as GitLab does: before_script and script in one shell, after_script in another, whatever the code."""
    pipeline: dict[str, Any] = yaml.safe_load(FILES[GITLAB])
    job = pipeline[name]
    given = {"KAFKA_COMMENTS": "a-token"}
    given |= {key: str(value) for key, value in job.get("variables", {}).items() if key != "NOTES"}
    given = {key: value.replace("$CI_PROJECT_DIR", str(repository.folder)) for key, value in given.items()}
    lines = [*pipeline["default"]["before_script"], *job["script"]]
    code = repository.run(lines, given, "-eo", "pipefail")
    if "after_script" in job:
        assert repository.run(job["after_script"], given, "-e") == 0
    return code


@pytest.mark.parametrize("run", [of_github, of_gitlab])
def test_a_change_is_planned_applied_and_watched(repository: Repository, run: Any) -> None:
    repository.write(partitions=3)
    assert run(repository, "plan") == 0
    (comment,) = repository.comments
    assert comment.startswith("### Kafka: applied after the merge\n")
    assert "````diff\n--- cluster (it does not exist)\n" in comment
    assert "orders: 3 partitions" in comment
    assert _partitions(repository) is None
    assert run(repository, "apply") == 0
    assert _partitions(repository) == 3
    assert run(repository, "drift") == 0

    repository.write(partitions=6)
    assert run(repository, "plan") == 0
    assert "-  partitions: 3\n+  partitions: 6\n" in repository.comments[-1]
    assert run(repository, "drift") == 8
    assert run(repository, "apply") == 0
    assert _partitions(repository) == 6
    assert run(repository, "plan") == 0
    journals = [path for path in repository.folder.parent.rglob("*.json") if "journal" in path.parts]
    assert len(journals) == 2, "what both applies leave for kcli undo"


@pytest.mark.parametrize(
    ("run", "count", "policy", "code", "title", "reason"),
    [
        (of_github, 9, POLICY, 8, "a rule is broken", "Topic orders: at most 8 partitions"),
        (of_gitlab, 2, POLICY, 7, "refused", "partitions"),
        (of_gitlab, 0, POLICY, 2, "a file or an option is wrong", "must be a whole number from 1, and is 0"),
        (
            of_github,
            3,
            "- {rule: spec.x >}",
            2,
            "a file or an option is wrong",
            "the rule 'spec.x >' is not valid",
        ),
    ],
)
def test_a_plan_that_fails_says_why(
    repository: Repository, run: Any, count: int, policy: str, code: int, title: str, reason: str
) -> None:
    kcli("topics", "create", "orders", "--partitions", "3", "--yes", bootstrap=repository.bootstrap)
    repository.write(count, policy)
    assert run(repository, "plan") == code
    (comment,) = repository.comments
    assert comment.startswith(f"### Kafka: {title}\n")
    assert reason in comment


def test_a_cluster_that_does_not_answer_is_no_plan(repository: Repository) -> None:
    repository.write(partitions=3)
    away = repository._replace(bootstrap="127.0.0.1:1")
    assert of_github(away, "plan") == 3
    assert away.comments[-1].startswith("### Kafka: not known, exit code 3\n")


def test_jobs_run_for_the_right_events() -> None:
    workflow: dict[Any, Any] = yaml.safe_load(FILES[GITHUB])
    assert workflow[True] == {  # YAML 1.1 reads the key `on` as true, and GitHub does not
        "pull_request": {"paths": ["kafka/**", "policy.yaml"]},
        "push": {"branches": ["main"], "paths": ["kafka/**", "policy.yaml"]},
        "schedule": [{"cron": "0 5 * * *"}],
    }
    assert {name: job["if"] for name, job in workflow["jobs"].items()} == {
        "plan": "github.event_name == 'pull_request'",
        "apply": "github.event_name == 'push'",
        "drift": "github.event_name == 'schedule'",
    }
    assert set(FILES) == {SCRIPT, GITHUB, GITLAB}


def _partitions(repository: Repository) -> int | None:
    done = kcli("topics", "describe", "orders", "-o", "json", bootstrap=repository.bootstrap)
    return None if done.code else len(done.items[0]["partitions"])
