"""Every command that changes a cluster: its dry run ends with the code of the act, and both print documents.

The commands are those of the command tree: a new one needs a row in ``tests/lines.py:DENIED``, or a reason below.
"""

import csv
import json
import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from kcli.core.permissions import AclOperation
from tests.cli.test_questions import LINES, World
from tests.cli.test_read_only import CHANGING, SOMETIMES, line_of
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.lines import DENIED
from tests.protocol.tables import requests

FEW = 1 << AclOperation.DESCRIBE | 1 << AclOperation.DESCRIBE_CONFIGS
"""What a user may do that may change nothing."""


NOT_DENIED = {
    "mirror accept-gap": "it needs a job: tests/fault/test_mirror_jobs.py",
    "mirror promote": "it needs a job: tests/fault/test_mirror_promotion.py",
    "mirror reset": "it needs a job: tests/fault/test_mirror_jobs.py",
    "mirror reverse": "it needs a job: tests/fault/test_mirror_reversal.py",
    "mirror run": "two clusters: tests/cli/test_mirror_runs.py",
    "segments restore": "it is a mirror: tests/cli/test_segments_restore.py",
    "topics copy": "it is a mirror: tests/cli/test_topics_copy.py",
    "pipeline import": "tests/pipeline",
    "pipeline mirror": "tests/pipeline",
    "pipeline perf": "tests/pipeline",
    "pipeline replay": "tests/pipeline",
    "pipeline verify": "tests/pipeline",
}
NOT_REPORTED = {
    "txn abort": "brokers report no operations on transactional ids: tests/cli/test_txn.py",
    **dict.fromkeys(
        ("tokens create", "tokens expire", "tokens renew"),
        "nor on delegation tokens and users: tests/cli/test_tokens.py",
    ),
}
STREAMS = {"produce", "perf produce", "perf e2e"}
"""They have counts instead of items."""
ADDING = STREAMS | {"topics create"}
"""They ask nothing."""
PATHS = sorted(DENIED | NOT_REPORTED)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(tmp_path, stack)


def prepared(world: World, path: str) -> str:
    world.prepare(path)
    return LINES.get(path, line_of(path))


def run(world: World, line: str, *more: str) -> tuple[int, str, str]:
    done = world.run("", *shlex.split(line.format(dir=world.folder)), *more)
    return int(done.code), done.out, done.err


def test_every_command_that_changes_something_is_in_a_table() -> None:
    assert DENIED.keys() | NOT_DENIED.keys() | NOT_REPORTED.keys() == CHANGING | SOMETIMES


@pytest.mark.parametrize("path", sorted(DENIED))
def test_what_brokers_would_refuse_is_the_code_of_the_dry_run(world: World, path: str) -> None:
    line = prepared(world, path)
    settings = world.cluster.settings
    settings.topic_operations = settings.cluster_operations = FEW
    world.cluster.configure_groups(operations=FEW)
    api, resource = DENIED[path]
    request = next(one for one in requests() if one.api_name == api)
    world.cluster.fail(request, Code[f"{resource}_AUTHORIZATION_FAILED"], times=FOREVER)
    since = len(world.cluster.requests)
    dry = run(world, line, "--dry-run")
    assert world.changes(since) == []
    act = run(world, line, "--yes")
    assert (dry[0], act[0]) == (4, 4), dry[2] + act[2]
    assert "AUTHORIZATION_FAILED" in dry[2]


@pytest.mark.parametrize("path", sorted(set(PATHS) - STREAMS))
def test_plan_is_a_document_in_each_format(world: World, path: str) -> None:
    """The items are the same ones, and each has a status."""
    line = prepared(world, path)
    code, out, err = run(world, line, "--dry-run", "-o", "json")
    plan = json.loads(out)
    assert (code, plan["kind"][-4:], bool(plan["items"])) == (0, "Plan", True), err
    assert {item["status"] for item in plan["items"]} <= {"planned", "unchanged", "refused"}
    assert "planned" in {item["status"] for item in plan["items"]}
    code, out, _ = run(world, line, "--dry-run", "-o", "ndjson")
    assert (code, len(out.splitlines())) == (0, len(plan["items"]))
    for form in ("csv", "tsv"):
        code, out, _ = run(world, line, "--dry-run", "-o", form)
        assert (code, len(out.splitlines())) == (0, len(plan["items"]) + 1)
        assert "status" in out.splitlines()[0]
        columns = out.splitlines()[0].replace(",", "\t").split("\t")
        assert columns[-2:] == ["note", "status"], columns
    code, out, _ = run(world, line, "--dry-run", "-o", "yaml")
    assert (code, yaml.safe_load(out)["kind"], len(yaml.safe_load(out)["items"])) == (
        0,
        plan["kind"],
        len(plan["items"]),
    )


@pytest.mark.parametrize("form", ["json", "ndjson", "yaml", "csv", "tsv"])
@pytest.mark.parametrize("path", sorted(set(PATHS) - STREAMS))
def test_report_is_a_document_in_each_format(world: World, path: str, form: str) -> None:
    """It has an item for each of the plan, which has been done."""
    line = prepared(world, path)
    plan = json.loads(run(world, line, "--dry-run", "-o", "json")[1])
    code, out, err = run(world, line, "--yes", "-o", form)
    assert code == 0, err
    kind = plan["kind"].replace("Plan", "Report")
    if form in ("csv", "tsv"):
        rows = list(csv.DictReader(out.splitlines(), delimiter="," if form == "csv" else "\t"))
        assert list(rows[0])[-2:] == ["status", "note"]
    elif form == "ndjson":
        rows = [json.loads(row) for row in out.splitlines()]
        assert {row["kind"] for row in rows} == {f"{kind}Item"}
    else:
        report = yaml.safe_load(out) if form == "yaml" else json.loads(out)
        assert report["kind"] == kind
        rows = report["items"]
    assert len(rows) == len(plan["items"])
    assert {row["status"] for row in rows} <= {"done", "unchanged"}
    assert "done" in {row["status"] for row in rows}
    if path.startswith(("acls", "quotas", "users")):
        assert not any(row["note"] for row in rows)


@pytest.mark.parametrize("path", PATHS)
def test_an_answer_that_would_not_do_is_refused_by_the_dry_run_too(world: World, path: str) -> None:
    """--yes is not sufficient under a protected profile: it wants a name."""
    line = prepared(world, path)
    (world.folder / "kcli").mkdir()
    (world.folder / "kcli/config.toml").write_text(
        f'[profiles.p]\nbootstrap.servers = "{world.cluster.bootstrap}"\nprotected = true\n'
    )
    since = len(world.cluster.requests)
    dry, act = (run(world, line, *more, "--profile", "p") for more in (("--yes", "--dry-run"), ("--yes",)))
    assert (dry[0], act[0]) == ((0, 0) if path in ADDING else (2, 2)), dry[2] + act[2]
    if path not in ADDING:
        assert "Profile p is protected; --yes is not enough" in dry[2]
        assert world.changes(since) == []
