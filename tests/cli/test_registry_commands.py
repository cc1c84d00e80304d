"""``kcli registry``: each command, against a registry like Confluent's and one like Karapace."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kcli.commands.registry import BY_FLAGS, CHANGES, READS, ROWS
from tests.batches import batch_of
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.lines import REGISTRY
from tests.registry.fake import FakeRegistry, RefusedError
from tests.registry.server import RunningRegistry
from tests.run import Done, environment, kcli, run, start
from tests.warm_kcli import KCLI

FIELD = {"name": "id", "type": "long"}
CUSTOMER = {"type": "record", "name": "shop.Customer", "fields": [FIELD]}
NAMED = {**CUSTOMER, "fields": [FIELD, {"name": "name", "type": "string", "default": ""}]}
OTHER = {**CUSTOMER, "fields": [{"name": "id", "type": "string"}]}
ORDER = {
    "type": "record",
    "name": "shop.Order",
    "fields": [FIELD, {"name": "customer", "type": "shop.Customer"}],
}
PART = 'syntax = "proto3"; package shop; message Part { string name = 1; }'
PROTO = 'syntax = "proto3"; package shop; import "part.proto"; message Whole { shop.Part part = 1; }'
SHAPE = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
OF_ORDER = "--reference shop.Customer=customer-value:1"
LIKE = ("confluent", "karapace")


class World:
    """A registry with some subjects, and a folder with files; ``lonely`` has a level of its own, ``gone`` is deleted."""

    def __init__(self, folder: Path, like: str) -> None:
        self.folder = folder
        self.running = RunningRegistry(FakeRegistry(like=like))
        self.content = self.running.content
        files = {
            "customer.avsc": CUSTOMER, "named.avsc": NAMED, "other.avsc": OTHER, "order.avsc": ORDER, "shape.json": SHAPE,
        }  # fmt: skip
        for name, schema in files.items():
            (folder / name).write_text(json.dumps(schema))
        (folder / "part.proto").write_text(PART)
        (folder / "whole.proto").write_text(PROTO)
        (folder / "broken.avsc").write_text("{")
        (folder / "wrong.avsc").write_text(
            '{"type":"record","name":"x","fields":[{"name":"y","type":"nosuch"}]}'
        )
        reference = {"name": "shop.Customer", "subject": "customer-value", "version": 1}
        register = self.content.register
        register("customer-value", {"schema": json.dumps(CUSTOMER)})
        register("orders-value", {"schema": json.dumps(ORDER), "references": [reference]})
        for schema in ("int", "long"):
            register("gone", {"schema": json.dumps(schema)})
            register("lonely", {"schema": json.dumps(schema)})
        self.content.levels["lonely"] = "NONE"
        self.content.answer("DELETE", "/subjects/gone", {}, None)

    def __call__(
        self, line: str, *more: str, stdin: str = "", profile: str = "", code: int | None = 0
    ) -> Done:
        variables = {
            "KCLI_X_SCHEMA_REGISTRY_URL": self.running.url,
            "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_CONFIG_HOME": str(self.folder),
            **({"KCLI_PROFILE": profile} if profile else {}),
        }
        words = line.format(dir=self.folder).split()
        done = kcli(*words, *more, stdin=stdin.encode(), **variables)
        assert code is None or done.code == code, done
        assert "Traceback" not in done.err
        return done

    def items(self, line: str, *more: str, **how: Any) -> list[dict[str, Any]]:
        document = json.loads(self(line, *more, "-o", "json", **how).out)
        items: list[dict[str, Any]] = document["items"]
        return items

    def changes(self, since: int = 0) -> list[str]:
        """The requests from then on that could change something."""
        return [
            asked
            for asked in self.content.asked[since:]
            if re.match(r"DELETE|PUT|PATCH|POST /subjects/[^/?]+/versions", asked)
        ]

    @property
    def state(self) -> Any:
        """What a user sees of it; versions get new numbers."""
        subjects = {
            name: sorted({one.stored.id for one in versions if not one.deleted})
            for name, versions in self.content.subjects.items()
        }
        return (
            {name: ids for name, ids in subjects.items() if ids},
            {**self.content.levels},
            {**self.content.modes},
        )


@pytest.fixture(params=LIKE)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path, request.param)
    with made.running:
        yield made


@pytest.fixture
def confluent(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path, "confluent")
    with made.running:
        yield made


def exported(world: World) -> None:
    """A file of what another registry has, with other ids than those that this one would give."""
    other = FakeRegistry()
    other.modes[""] = "IMPORT"
    other.register("part", {"schema": PART, "schemaType": "PROTOBUF"}, 70, 3)
    reference = {"name": "part.proto", "subject": "part", "version": 3}
    body = {"schema": PROTO, "schemaType": "PROTOBUF", "references": [reference]}
    other.register("a-whole", body, 71, 1)
    other.register("shape", {"schema": json.dumps(SHAPE), "schemaType": "JSON"}, 72, 9)
    other.levels["shape"] = "FULL"
    with RunningRegistry(other) as running:
        at = ("-X", f"schema.registry.url={running.url}")
        (world.folder / "exported.ndjson").write_text(world("registry export", *at).out)


LINES = {
    "registry register lonely {dir}/customer.avsc": LIKE,
    f"registry register new {{dir}}/order.avsc {OF_ORDER}": LIKE,
    "registry register p {dir}/part.proto": LIKE,
    "registry register j {dir}/shape.json --context x": LIKE,
    "registry delete lonely": LIKE,
    "registry delete lonely:1": LIKE,
    "registry delete lonely:latest --permanent": LIKE,
    "registry delete orders-value --permanent": LIKE,
    "registry undelete gone": LIKE,
    "registry undelete gone:2": LIKE,
    "registry import {dir}/exported.ndjson": ("confluent",),
    "registry import {dir}/exported.ndjson --context y": ("confluent",),
    "registry import {dir}/exported.ndjson --new-ids": LIKE,
    "registry config lonely --set compatibility=full": LIKE,
    "registry config lonely --unset": LIKE,
    "registry config --set NONE": LIKE,
    "registry mode lonely --set READONLY": ("confluent",),
    "registry mode new --set IMPORT": ("confluent",),
}
"""What changes something, and on which registries."""
WALKED = [(line, like) for line, likes in LINES.items() for like in likes]
NOT_UNDONE = {
    (
        "registry import {dir}/exported.ndjson --new-ids",
        "karapace",
    ): "what deleted schemas refer to is not deleted there",
}
VERBS = {line.split(maxsplit=2)[1] for line in LINES}


@pytest.fixture
def made(like: str, tmp_path: Path) -> Iterator[World]:
    found = World(tmp_path, like)
    with found.running:
        exported(found)
        yield found


def test_every_verb_that_changes_something_is_walked_over() -> None:
    changing = {path.split()[1] for path in REGISTRY if ROWS[path][1] in (CHANGES, BY_FLAGS)}
    assert changing == VERBS
    assert {ROWS[path][1] for path in REGISTRY} == {CHANGES, BY_FLAGS, READS}


@pytest.mark.parametrize(("line", "like"), WALKED)
def test_a_change_is_planned_asked_made_read_back_and_undone(made: World, line: str) -> None:
    before, since = made.state, len(made.content.asked)
    asked = made(line, code=2)
    assert "there is no terminal" in asked.err
    assert f"On schema registry {made.running.url}" in asked.err
    dry = made(line, "--dry-run")
    assert f"On schema registry {made.running.url}" in dry.out
    for form in ("ndjson", "csv", "tsv", "yaml"):
        made(line, "--dry-run", "-o", form)
    plan = made.items(line, "--dry-run")
    assert (made.state, made.changes(since)) == (before, [])
    assert {item["status"] for item in plan} >= {"planned"}
    done = made(line, "--yes", "-o", "json")
    report = json.loads(done.out)
    assert report["cluster"] == made.running.url
    assert [item["status"] for item in report["items"]] == [
        {"planned": "done"}.get(item["status"], item["status"]) for item in plan
    ]
    assert made.state != before
    assert made.changes(since)
    after = made.state
    if "delete" not in line:
        assert {item["status"] for item in made.items(line, "--yes")} == {"unchanged"}
    assert made.state == after
    assert "read back" in done.err
    assert "mode" in line or made.content.modes == {"": "READWRITE"}
    made(f"undo {report['undo']}", "--dry-run")
    assert made.state == after
    if (line, made.content.like) in NOT_UNDONE:
        return
    made(f"undo {report['undo']}", "--yes")
    assert made.state == before


@pytest.mark.parametrize("line", LINES)
def test_a_read_only_profile_refuses_it(confluent: World, line: str) -> None:
    exported(confluent)
    (confluent.folder / "kcli").mkdir()
    (confluent.folder / "kcli/config.toml").write_text("[profiles.locked]\nread_only = true\n")
    since = len(confluent.content.asked)
    done = confluent(line, "--yes", profile="locked", code=7)
    assert "is refused: profile locked is read-only" in done.err
    assert confluent.content.asked[since:] == []


REFUSED = [
    ("registry register customer-value {dir}/other.avsc", 7, "is not compatible with subject customer-value"),
    ("registry check customer-value {dir}/other.avsc", 8, "its compatibility is BACKWARD: "),
    ("registry register customer-value {dir}/wrong.avsc", 2, "42201"),
    ("registry register new {dir}/wrong.avsc", 2, "42201"),
    ("registry check customer-value {dir}/wrong.avsc", 2, "42201"),
    ("registry register customer-value {dir}/broken.avsc", 2, "it is not JSON"),
    ("registry register customer-value {dir}/nosuch.avsc", 2, "no such file"),
    ("registry register customer-value -", 2, "give --type avro, protobuf, json"),
    ("registry register customer-value:1 {dir}/named.avsc", 2, "names a version"),
    ("registry register new {dir}/order.avsc --reference shop.Customer", 2, "--reference customer.avsc=customer-value:2"),
    ("registry register new {dir}/order.avsc --reference shop.Customer=customer-value:7", 1, "40402"),
    ("registry delete customer-value", 7, "other schemas refer to it"),
    ("registry delete customer-value:1 --permanent", 7, "other schemas refer to it"),
    ("registry delete customer-valeu", 1, "similar ones: customer-value"),
    ("registry delete customer-value:3", 1, "it has 1"),
    ("registry undelete nosuch", 1, "there is no subject nosuch"),
    ("registry undelete gone:7", 1, "there is no version 7"),
    ("registry describe nosuch", 1, "there is no subject nosuch"),
    ("registry describe gone:latest", 1, "there is no latest version of subject gone"),
    ("registry export nosuch", 1, "there is no subject nosuch"),
    ("registry export a --match b", 2, "give one of them"),
    ("registry list -X acks=1", 2, "no broker"),
    ("registry config lonely --set x", 2, "the values are BACKWARD"),
    ("registry config --unset", 2, "--unset without SUBJECT"),
    ("registry config lonely --unset --set FULL", 2, "give one of them"),
    ("registry mode lonely --set x", 2, "the values are READWRITE"),
    ("registry mode lonely --set READONLY --force", 2, "only that needs it"),
    ("registry describe :.a:x --context b", 2, "is not of context b"),
    ("registry import {dir}/broken.avsc", 2, "line 1"),
    ("registry usage lonely", 2, "no broker is named"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "code", "words"), REFUSED)
def test_what_is_refused_is_refused_by_the_dry_run_too(
    world: World, line: str, code: int, words: str
) -> None:
    before, since = world.state, len(world.content.asked)
    for more in (["--dry-run"], ["--yes"]) if "registry usage" not in line else (["--yes"],):
        done = world(line, *more, code=code)
        assert words in done.err, done.err
    assert (world.state, world.changes(since)) == (before, [])


@pytest.mark.parametrize(
    ("line", "code", "name"),
    [
        ("registry register customer-value {dir}/other.avsc --yes", 7, "config"),
        ("registry delete customer-valeu --yes", 1, "list --deleted"),
        ("registry delete customer-value:7 --yes", 1, "describe"),
        ("registry register locked {dir}/other.avsc --yes", 7, "mode"),
        ("registry import {dir}/shape.json --yes", 2, "export"),
        ("registry delete customer-value --yes", 7, "describe --references"),
        ("registry export nosuch", 1, "list"),
        ("registry import {dir}/other.ndjson --yes", 7, "describe it"),
        ("undo --yes", 7, "show"),
    ],
)
def test_a_remedy_can_be_typed(confluent: World, line: str, code: int, name: str) -> None:
    confluent.content.modes["locked"] = "READONLY"
    other = {"kind": "RegistrySchema", "subject": "customer-value", "version": 1, "id": 9, "type": "avro"}
    (confluent.folder / "other.ndjson").write_text(json.dumps({**other, "schema": '"int"'}))
    if line.startswith("undo"):
        report = json.loads(confluent("registry config lonely --set FULL --yes -o json").out)
        confluent("registry config lonely --set FORWARD --yes")
        line = f"undo {report['undo']} --yes"
    done = confluent(line, code=code)
    type_remedy(
        {
            "config": "change the schema; `kcli registry config customer-value` shows the compatibility",
            "list --deleted": "`kcli registry list --deleted` lists all subjects",
            "describe": "`kcli registry describe customer-value` shows its versions",
            "mode": "`kcli registry mode locked --set READWRITE` changes the mode",
            "export": "give it what `kcli registry export` has written, whole",
            "describe --references": "delete these first, some registries want that with --permanent; `kcli registry "
            "describe customer-value:1 --references` shows them",
            "list": "`kcli registry list` lists the subjects",
            "describe it": "`kcli registry describe customer-value:1` shows it; --context imports into another context",
            "show": "`kcli registry config lonely` shows it",
        }[name],
        done.err,
        registry=confluent.running.url,
    )


def test_a_mode_that_cannot_be_restored_is_said(confluent: World) -> None:
    exported(confluent)
    plain = confluent.content.answer

    def failing(method: str, path: str, query: Any, body: Any) -> Any:
        if method == "DELETE" and path.startswith("/mode/"):
            raise RefusedError(422, 42205, "no")
        return plain(method, path, query, body)

    confluent.content.answer = failing  # type: ignore[method-assign]
    done = confluent("registry import {dir}/exported.ndjson --yes", code=7)
    assert set(confluent.content.modes.values()) == {"READWRITE", "IMPORT"}
    type_remedy(
        "`kcli registry mode shape --set READWRITE` lets producers register schemas again",
        done.err,
        registry=confluent.running.url,
    )
    confluent.content.answer = plain  # type: ignore[method-assign]
    again = confluent("registry import {dir}/exported.ndjson --yes")
    assert "subject shape is in mode IMPORT already: the run of journal " in again.err
    assert confluent.content.modes == {"": "READWRITE"}


def silent_from(world: World, at: int) -> list[int]:
    """From its ``at``-th request on, the registry answers nothing; how many came then. Undone by another ``at``."""
    plain, asked = FakeRegistry.answer, [0, 0]

    def answer(method: str, path: str, query: Any, body: Any) -> Any:
        asked[0] += 1
        if asked[0] >= at:
            asked[1] += 1
            raise RefusedError(503, 503, "silent")
        return plain(world.content, method, path, query, body)

    world.content.answer = answer  # type: ignore[method-assign]
    return asked


SILENT = [
    *(
        f"registry {rest}"
        for rest in ("list", "export", "describe lonely --references", "config lonely", "mode lonely")
    ),
    "registry check customer-value {dir}/named.avsc",
    *LINES,
]


@pytest.mark.parametrize("line", SILENT)
def test_a_registry_that_falls_silent_is_waited_for_once(
    confluent: World, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever that is: what is left is not asked for one by one, and the report has all."""
    monkeypatch.setattr("kcli.flows.registry.errors.VISIBLE_WITHIN", 0.0)
    exported(confluent)
    for number in range(30):
        confluent.content.register(
            f"s{number}", {"schema": json.dumps({"type": "fixed", "name": "F", "size": 9 + number})}
        )
    plan = len(confluent.items(f"{line} --dry-run")) if line in LINES else 0
    asked = silent_from(confluent, 1 << 30)
    confluent(f"{line} --dry-run" if plan else line)
    for at in sorted({1, 2, 3, 5, asked[0] // 2, asked[0], asked[0] + 2, asked[0] + 3, asked[0] + 9} - {0}):
        count = silent_from(confluent, at)
        done = confluent(line, "--yes", "-o", "json", "-X", "schema.registry.max.retries=0", code=None)
        confluent.content.answer = FakeRegistry.answer.__get__(confluent.content)  # type: ignore[method-assign]
        if count[1]:
            assert done.code in (3, 6), (at, done)
            assert count[1] <= 4, (at, done.err)
        if plan and done.out:
            assert len(json.loads(done.out)["items"]) == plan


def test_what_is_deleted_by_half_can_be_undone(confluent: World) -> None:
    plain, before = confluent.content.answer, confluent.state

    def refusing(method: str, path: str, query: Any, body: Any) -> Any:
        if "permanent" in query:
            raise RefusedError(422, 42205, "not for good")
        return plain(method, path, query, body)

    confluent.content.answer = refusing  # type: ignore[method-assign]
    done = confluent("registry delete lonely --permanent --yes -o json", code=7)
    report = json.loads(done.out)
    assert [item["status"] for item in report["items"]] == ["failed", "failed"]
    type_remedy(
        "what was not deleted for good is deleted softly: `kcli registry list --deleted` shows it",
        done.err,
        registry=confluent.running.url,
    )
    confluent.content.answer = plain  # type: ignore[method-assign]
    confluent(f"undo {report['undo']} --yes")
    assert confluent.state == before


def test_what_refers_to_a_schema_that_is_gone_does_not_come_back(world: World) -> None:
    first = json.loads(world("registry delete orders-value --permanent --yes -o json").out)["undo"]
    world("registry delete customer-value --permanent --yes")
    before = world.state
    for more in ("--dry-run", "--yes"):
        assert world(f"undo {first}", more, code=None).code == 7
    assert world.state == before
    world("registry undelete gone --yes")
    assert "nothing is to be undeleted" in world("registry undelete gone --dry-run").err


def test_a_version_that_is_listed_and_not_there_is_missing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = world.content.answer

    def answer(method: str, path: str, *more: Any) -> Any:
        if path == "/subjects/lonely/versions/1":
            raise RefusedError(404, 40402, "Version 1 not found.")
        return plain(method, path, *more)

    monkeypatch.setattr(world.content, "answer", answer)
    assert "lonely" in world("registry export", code=6).err
    world("registry describe lonely", code=1)
    world("registry delete lonely --yes", code=1)
    assert not world.changes()


def test_karapace_has_no_modes_and_keeps_no_ids(tmp_path: Path) -> None:
    world = World(tmp_path, "karapace")
    with world.running:
        exported(world)
        before = world.state
        for line, words in (
            ("registry mode lonely --set READONLY", "has no modes to set"),
            ("registry import {dir}/exported.ndjson", "--new-ids registers them with new ids"),
        ):
            assert words in world(line, "--dry-run", code=7).err
            assert words in world(line, "--yes", code=7).err
        assert world.state == before


def test_lists_and_descriptions(world: World) -> None:
    rows = world.items("registry list")
    assert [(row["subject"], row["versions"], row["id"], row["type"]) for row in rows] == [
        ("customer-value", 1, 1, "avro"),
        ("lonely", 2, 4, "avro"),
        ("orders-value", 1, 2, "avro"),
    ]
    assert [row["subject"] for row in world.items("registry list --deleted") if row["deleted"]] == ["gone"]
    assert [row["subject"] for row in world.items("registry list --match *-value --type avro")] == [
        "customer-value",
        "orders-value",
    ]
    assert world.items("registry list --type json") == []
    (row,) = world.items("registry describe customer-value:latest --references")
    assert (row["version"], row["referenced_by"], row["compatibility"]) == (1, ["orders-value:1"], "BACKWARD")
    (row,) = world.items("registry describe orders-value --references")
    assert (row["references"], row["all_references"]) == (["shop.Customer=customer-value:1"],) * 2
    assert json.loads(row["schema"]) == ORDER
    shown = world("registry describe lonely").out
    assert shown.splitlines()[-1] == '"long"'
    assert [row["version"] for row in world.items("registry describe lonely")] == [1, 2]
    (row,) = world.items("registry describe gone:2")
    assert row["deleted"] is True
    (setting,) = world.items("registry config lonely")
    assert setting == {"subject": "lonely", "compatibility": "NONE", "own": True}
    (setting,) = world.items("registry config")
    assert setting == {"subject": None, "compatibility": "BACKWARD", "own": True}
    assert world.items("registry mode") == [{"subject": None, "mode": "READWRITE", "own": True}]
    (setting,) = world.items("registry mode lonely")  # Karapace does not tell
    assert setting["own"] is (False if world.content.like == "confluent" else None)


def test_a_check_says_yes_to_what_is_registered_and_compatible(world: World) -> None:
    for line in (
        "customer-value {dir}/named.avsc",
        "customer-value {dir}/customer.avsc",
        "new {dir}/shape.json",
    ):
        (row,) = world.items(f"registry check {line}")
        assert (row["compatible"], row["messages"]) == (True, [])
    assert world("registry check customer-value {dir}/named.avsc -q").out == ""
    assert world("registry check customer-value - --type avro", stdin=json.dumps(NAMED)).code == 0


def test_contexts_are_a_part_of_names(confluent: World) -> None:
    confluent("registry register c {dir}/customer.avsc --context x --yes")
    assert [row["subject"] for row in confluent.items("registry list --context x")] == [":.x:c"]
    assert ":.x:c" not in [row["subject"] for row in confluent.items("registry list --context .")]
    assert confluent.items("registry describe c:1 --context x")[0]["subject"] == ":.x:c"
    assert confluent.items("registry describe :.x:c")[0]["subject"] == ":.x:c"
    confluent("registry config --context x --set FULL --yes")
    assert confluent.content.levels[":.x:"] == "FULL"
    confluent("registry delete c --context x --yes")
    assert confluent.items("registry list --context x") == []


def test_an_answer_that_is_lost_is_settled_by_what_is_read_back(confluent: World) -> None:
    plain, left = confluent.content.answer, [1]

    def losing(method: str, path: str, query: Any, body: Any) -> Any:
        answer = plain(method, path, query, body)
        if method in ("DELETE", "PUT") and left[0]:
            left[0] -= 1
            raise RefusedError(503, 503, "lost")
        return answer

    confluent.content.answer = losing  # type: ignore[method-assign]
    more = ("-X", "schema.registry.max.retries=0")
    (item,) = confluent.items("registry delete orders-value --yes", *more)
    assert item["status"] == "done"
    left[0] = 1
    confluent("registry delete lonely --yes")
    assert confluent.items("registry list --match lonely") == []


def test_an_import_that_was_interrupted_goes_on_and_restores_modes(confluent: World) -> None:
    exported(confluent)
    plain, left = confluent.content.answer, [1]

    def failing(method: str, path: str, query: Any, body: Any) -> Any:
        if method == "POST" and path.endswith("/versions") and "compatibility" not in path:
            left[0] -= 1
            if left[0] < 0:
                raise RefusedError(422, 42201, "no")
        return plain(method, path, query, body)

    confluent.content.answer = failing  # type: ignore[method-assign]
    done = confluent("registry import {dir}/exported.ndjson --yes -o json", code=6)
    statuses = [item["status"] for item in json.loads(done.out)["items"]]
    assert statuses.count("done") == 2  # a schema, and a compatibility
    assert statuses.count("failed") == 2
    assert confluent.content.modes == {"": "READWRITE"}
    confluent.content.answer = plain  # type: ignore[method-assign]
    again = confluent.items("registry import {dir}/exported.ndjson --yes")
    assert sorted(item["status"] for item in again) == ["done", "done", "unchanged", "unchanged"]
    whole = [(one["subject"], one["version"], one["id"]) for one in again if one["version"]]
    assert sorted(whole) == [("a-whole", 1, 71), ("part", 3, 70), ("shape", 9, 72)]


def killed_import(world: World, at: int) -> None:
    """An import that is killed while its ``at``-th request that changes something is on its way."""
    plain, left = world.content.answer, [at]
    arrived, over = threading.Event(), threading.Event()

    def stopping(method: str, path: str, query: Any, body: Any) -> Any:
        if method in ("PUT", "DELETE") or (
            re.fullmatch(r"/subjects/[^/]+/versions", path) and method == "POST"
        ):
            left[0] -= 1
            if not left[0]:
                arrived.set()
                assert over.wait(120)
                raise RefusedError(503, 503, "nobody waits for it")
        return plain(method, path, query, body)

    world.content.answer = stopping  # type: ignore[method-assign]
    words = f"registry import {world.folder}/exported.ndjson --yes".split()
    variables = {
        "KCLI_X_SCHEMA_REGISTRY_URL": world.running.url,
        "XDG_STATE_HOME": str(world.folder / "state"),
    }
    process = start(*words, env=environment(**variables))
    assert arrived.wait(120)
    process.kill()
    process.communicate()
    over.set()
    world.content.answer = plain  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("at", "then"), [(2, "undo"), (3, "again"), (5, "undo"), (6, "again"), (7, "again"), (8, "undo")]
)
def test_modes_that_a_killed_import_has_left_are_restored(confluent: World, at: int, then: str) -> None:
    """Three modes are set, three schemas registered, a level set, and three modes restored."""
    exported(confluent)
    confluent.content.modes["part"] = "READWRITE"
    before = confluent.state
    killed_import(confluent, at)
    left = {name for name, mode in confluent.content.modes.items() if mode == "IMPORT"}
    assert len(left) == min(at - 1, 3)
    (row,) = confluent.items("undo")
    line = f"undo {row['id']}" if then == "undo" else "registry import {dir}/exported.ndjson"
    told = confluent(f"{line} --dry-run")
    assert {name for name, mode in confluent.content.modes.items() if mode == "IMPORT"} == left
    if then == "again":
        assert f"the run of journal {row['id']} has left it so" in told.err
    confluent(f"{line} --yes")
    assert confluent.content.modes == {"": "READWRITE", "part": "READWRITE"}
    if then == "undo":
        assert confluent.state == before
    confluent.content.modes["shape"] = "IMPORT"  # on purpose: no journal has it any more
    told = confluent("registry import {dir}/exported.ndjson --yes")
    assert confluent.content.modes["shape"] == "IMPORT"
    type_remedy(
        "subject shape is in mode IMPORT already, and stays in it; `kcli registry mode shape --set READWRITE` ends it",
        told.err,
        registry=confluent.running.url,
    )


def refusing(world: World, method: str, path: str) -> Callable[[], None]:
    """Answers such requests with 500; how that ends."""
    plain = world.content.answer

    def answer(asked: str, at: str, *more: Any) -> Any:
        if asked == method and at.startswith(path):
            raise RefusedError(500, 50001, "the store timed out")
        return plain(asked, at, *more)

    def over() -> None:
        world.content.answer = plain  # type: ignore[method-assign]

    world.content.answer = answer  # type: ignore[method-assign]
    return over


MANY = ("a-any", "b-any")


@pytest.fixture
def any_level(made: World) -> World:
    """Subjects with the compatibility NONE, and versions that others do not allow beside each other."""
    for subject in MANY:
        for kind in ("int", "string"):
            made.content.register(subject, {"schema": json.dumps(kind)})
        made.content.levels[subject] = "NONE"
    return made


@pytest.mark.parametrize("like", LIKE)
@pytest.mark.parametrize("how", ["", "--permanent"])
def test_what_a_registry_forgot_with_a_subject_is_an_item_of_the_undo(any_level: World, how: str) -> None:
    """It is in the report, also where that fails, and is set by the next undo."""
    before = any_level.state
    deleted = json.loads(any_level(f"registry delete a-any {how} --yes -o json").out)["undo"]
    over = refusing(any_level, "PUT", "/config/a-any")
    more = ("-X", "schema.registry.max.retries=0")
    if any_level.content.like == "confluent":
        failed = any_level(f"undo {deleted} --yes -o json", *more, code=None)
        statuses = [item["status"] for item in json.loads(failed.out)["items"]]
        assert (failed.code, len(statuses)) in [(3, 3), (6, 3)]
        assert statuses[-1] in ("unknown", "failed")
        assert any_level.content.levels.get("a-any") is None
    over()
    again = any_level(f"undo {deleted} --yes -o json", code=None)
    if how and any_level.content.like == "karapace":
        return  # it has forgotten the ids
    assert again.code == 0, again
    assert len(json.loads(again.out)["items"]) == 3
    assert any_level.state == before
    back = json.loads(again.out)["undo"]
    any_level(f"undo {back} --yes")
    assert any_level.state != before


@pytest.mark.parametrize("like", LIKE)
def test_a_version_that_the_level_of_its_subject_allows_is_copied_with_new_ids(
    any_level: World, like: str
) -> None:
    file = any_level.folder / "any.ndjson"
    file.write_text(any_level("registry export --match *-any").out)
    (any_level.folder / "other").mkdir()
    other = World(any_level.folder / "other", like)
    with other.running:
        before = other.state
        done = json.loads(other(f"registry import {file} --new-ids --yes -o json").out)
        assert [item["status"] for item in done["items"]] == ["done"] * 6
        assert other.items("registry export --match *-any")
        assert {other.content.levels[subject] for subject in MANY} == {"NONE"}
        other(f"undo {done['undo']} --yes")
        assert other.state == before


def test_a_mode_is_set_back_after_the_mode_in_which_schemas_come_back(confluent: World) -> None:
    modes = confluent.content.modes
    modes |= {"": "READONLY", "lonely": "READWRITE"}
    deleted = json.loads(confluent("registry delete lonely --permanent --yes -o json").out)["undo"]
    modes.pop("lonely")  # as Confluent's registry does with the last version
    refused = confluent(f"undo {deleted} --yes -o json", code=7)
    assert {item["status"] for item in json.loads(refused.out)["items"]} == {"refused"}
    assert modes == {"": "READONLY"}
    modes[""] = "READWRITE"
    items = confluent.items(f"undo {deleted} --yes")
    assert [(item["status"], item["version"]) for item in items] == [
        ("done", 1), ("done", 2), ("done", None), ("done", None)
    ]  # fmt: skip
    assert modes == {"": "READWRITE", "lonely": "READWRITE"}
    assert {item["status"] for item in confluent.items(f"undo {deleted} --yes")} == {"unchanged"}
    modes["lonely"] = "READONLY"
    assert "has been changed since" in confluent(f"undo {deleted} --yes", code=7).err


def test_of_versions_with_the_same_schema_the_newest_comes_back(confluent: World) -> None:
    """A subject has one of them that is not deleted; the others were deleted softly before all were for good."""
    confluent("registry undelete gone --yes")
    before = confluent.state
    deleted = json.loads(confluent("registry delete gone --permanent --yes -o json").out)["undo"]
    for statuses in (["done", "done", "unchanged", "unchanged"], ["unchanged"] * 4):
        items = confluent.items(f"undo {deleted} --yes")
        assert sorted(item["status"] for item in items) == statuses
        assert {item["version"] for item in items if item["note"] != "it is there"} >= {1, 2}
        assert confluent.state == before


@pytest.mark.parametrize("softly", [1, 2])
def test_what_had_been_deleted_softly_is_so_again_when_the_deletion_for_good_is_undone(
    confluent: World, softly: int
) -> None:
    confluent(f"registry delete lonely:{softly} --yes")
    before = [(one.number, one.stored.id, one.deleted) for one in confluent.content.subjects["lonely"]]
    deleted = json.loads(confluent("registry delete lonely --permanent --yes -o json").out)["undo"]
    done = confluent(f"undo {deleted} --yes")
    assert "registered 2 schemas, read back" in done.err
    assert "1 version of them deleted softly, as before" in done.err
    assert [
        (one.number, one.stored.id, one.deleted) for one in confluent.content.subjects["lonely"]
    ] == before
    items = confluent.items(f"undo {deleted} --yes")
    assert {item["status"] for item in items} == {"unchanged"}


def test_levels_alone_are_imported_and_set_back(confluent: World) -> None:
    file = confluent.folder / "levels.ndjson"
    rows = [json.loads(line) for line in confluent("registry export").out.splitlines()]
    levels = {"customer-value": "FULL", "lonely": "FORWARD"}
    file.write_text(
        "\n".join(json.dumps({**row, "compatibility": levels.get(row["subject"])}) for row in rows)
    )
    before = confluent.state
    done = json.loads(confluent(f"registry import {file} --yes -o json").out)
    assert confluent.content.levels == {"": "BACKWARD", **levels}
    confluent.content.levels["lonely"] = "NONE"
    refused = confluent(f"undo {done['undo']} --yes -o json", code=None)
    assert [item["status"] for item in json.loads(refused.out)["items"]] == ["done", "unchanged"]
    confluent.content.levels["lonely"] = "BACKWARD"
    refused = confluent(f"undo {done['undo']} --yes -o json", code=7)
    assert [item["status"] for item in json.loads(refused.out)["items"]] == ["unchanged", "refused"]
    confluent.content.levels["lonely"] = "NONE"
    assert confluent.state == before


def test_what_a_subject_has_got_since_comes_back_with_it(confluent: World) -> None:
    first = json.loads(confluent("registry register new {dir}/shape.json --yes -o json").out)["undo"]
    confluent("registry config new --set FULL --yes")
    before = confluent.state
    second = json.loads(confluent(f"undo {first} --yes -o json").out)["undo"]
    confluent.content.levels.pop("new")  # as Confluent's registry does with the last version
    confluent(f"undo {second} --yes")
    assert confluent.state == before


@pytest.mark.parametrize("wrong", [{"id": None}, {"version": None}, {"version": 7}, {"id": "3"}])
@pytest.mark.parametrize(
    "line",
    [
        "registry list --match lonely",
        "registry export lonely",
        "registry describe lonely",
        "registry delete lonely --yes",
        "registry delete lonely:1 --yes",
    ],
)
def test_a_version_without_number_or_id_is_no_version(
    confluent: World, monkeypatch: pytest.MonkeyPatch, line: str, wrong: dict[str, Any]
) -> None:
    plain = confluent.content._whole
    monkeypatch.setattr(
        confluent.content,
        "_whole",
        lambda *asked: {key: one for key, one in {**plain(*asked), **wrong}.items() if one is not None},
    )
    done = confluent(line, code=1)
    assert "cannot be used" in done.err
    assert not confluent.changes()


@pytest.mark.parametrize("form", ["ndjson", "json"])
def test_an_export_that_is_not_complete_is_not_imported(confluent: World, form: str) -> None:
    over = refusing(confluent, "GET", "/subjects/orders-value/versions/1")
    done = confluent(f"registry export -o {form}", "-X", "schema.registry.max.retries=0", code=6)
    over()
    refused = confluent("registry import - --yes", stdin=done.out, code=2)
    assert "it is not complete" in refused.err
    assert not confluent.changes()


CONTRACT = {
    "metadata": {"properties": {"owner": "sales"}},
    "ruleSet": {
        "domainRules": [{"name": "hide", "kind": "TRANSFORM", "mode": "WRITEREAD", "type": "ENCRYPT"}]
    },
}


def test_metadata_and_rules_are_a_part_of_a_schema(confluent: World) -> None:
    """The same text with others is another schema, with another id: whatever registers it again has them."""
    for contract in ({}, {"metadata": CONTRACT["metadata"]}, CONTRACT):
        confluent.content.register("ruled", {"schema": '"int"', **contract})
    kept = [one.body for one in confluent.content.subjects["ruled"]]
    before, text = confluent.state, confluent("registry export ruled").out
    for how in ("--permanent", ""):
        deleted = json.loads(confluent(f"registry delete ruled {how} --yes -o json").out)["undo"]
        confluent(f"undo {deleted} --yes")
        assert confluent.state == before
        live = [one.body for one in confluent.content.subjects["ruled"] if not one.deleted]
        assert live == kept
    confluent("registry delete ruled --yes")
    confluent("registry undelete ruled --yes")
    assert confluent.state == before
    (confluent.folder / "other").mkdir()
    for like, more, codes in (("confluent", "", {"done"}), ("karapace", "--new-ids", {"done", "failed"})):
        other = World(confluent.folder / "other", like)
        with other.running:
            done = other(f"registry import - {more} --yes -o json", stdin=text, code=0 if not more else 6)
            assert {item["status"] for item in json.loads(done.out)["items"]} == codes
            if like == "confluent":
                assert [one.body for one in other.content.subjects["ruled"]] == kept
            else:
                assert "without its metadata and rules" in done.err


def test_rules_that_producers_apply_are_named(confluent: World, cluster: FakeCluster) -> None:
    confluent.content.register("values-value", {"schema": '"int"', **CONTRACT})
    brokers = ("-b", cluster.bootstrap)
    for spec in ("value=avro", "value=avro:id=5"):
        done = confluent("produce values -s", spec, *brokers, stdin="1\n")
        assert "has rules that kcli does not apply: hide (ENCRYPT)" in done.err
    confluent.content.register("values-value", {"schema": '"int"', "metadata": CONTRACT["metadata"]})
    assert "rules" not in confluent("produce values -s value=avro", *brokers, stdin="1\n").err


def test_an_import_contradicts_nothing_that_is_there(confluent: World) -> None:
    exported(confluent)
    confluent.content.register("shape", {"schema": '"int"'}, 0, 9)
    confluent.content.register("x", {"schema": '"bytes"'}, 71, 1)
    before = confluent.state
    plan = confluent.items("registry import {dir}/exported.ndjson --dry-run", code=None)
    notes = {item["subject"]: (item["status"], item["note"]) for item in plan if item["version"]}
    assert notes["shape"][0] == notes["a-whole"][0] == "refused"
    assert "another schema has this id there" in notes["a-whole"][1]
    assert notes["part"][0] == "planned"
    assert confluent.state == before


def some_registry(random: Random) -> FakeRegistry:
    """Subjects with versions, references, levels, contexts and deleted versions, made at random."""
    made = FakeRegistry()
    made.levels[""] = "NONE"
    known: list[tuple[str, int]] = []
    for number in range(random.randrange(1, 12)):
        context = random.choice(("", "", ":.c:"))
        subject = f"{context}s{random.randrange(4)}"
        mine = [one for one in known if one[0].startswith(":.c:") == bool(context)]
        references = [
            {"name": f"n{at}", "subject": name, "version": version}
            for at, (name, version) in enumerate(random.sample(mine, random.randrange(min(3, len(mine) + 1))))
        ]
        body: dict[str, Any] = {"schema": json.dumps({"type": "fixed", "name": "F", "size": number + 1})}
        made.register(subject, {**body, **({"references": references} if references else {})})
        known = [(name, one.number) for name, versions in made.subjects.items() for one in versions]
        if random.random() < 0.2:
            made.levels[subject] = "FULL"
    return made


def test_a_copy_of_a_registry_is_equal_to_it(tmp_path: Path) -> None:
    """Ten registries; each is copied into an empty one, and that is exported again."""
    for seed in range(10):
        source, target = RunningRegistry(some_registry(Random(seed))), RunningRegistry()
        with source, target:
            text = ""
            for running in (source, target):
                at: Any = {"KCLI_X_SCHEMA_REGISTRY_URL": running.url, "XDG_STATE_HOME": str(tmp_path)}
                if running is target:
                    done = kcli("registry", "import", "-", "--yes", stdin=text.encode(), **at)
                    assert done.code == 0, done
                done = kcli("registry", "export", "-q", **at)
                assert (done.code, done.err) == (0, "")
                assert text in ("", done.out), seed
                text = done.out
            assert running.content.modes == {"": "READWRITE"}
            known: set[tuple[str, int]] = set()
            for row in map(json.loads, text.splitlines()):
                assert {(one["subject"], one["version"]) for one in row["references"]} <= known
                known.add((row["subject"], row["version"]))


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"keys": 2, "values": 1, "headers": 1, "none": 1}) as made:
        yield made


def usage(world: World, cluster: FakeCluster, line: str, code: int = 0) -> dict[str, Any]:
    done = kcli(
        *f"registry usage {line} -o json".split(),
        bootstrap=cluster.bootstrap,
        KCLI_X_SCHEMA_REGISTRY_URL=world.running.url,
    )
    assert done.code == code, done
    found: dict[str, Any] = json.loads(done.out)
    return found


def put(cluster: FakeCluster, topic: str, partition: int, *rows: tuple[Any, ...]) -> None:
    from kcli.core.types import Record

    records = [
        Record(topic, partition, at, 1_700_000_000_000 + at, 0, key, value, headers)
        for at, (key, value, headers) in enumerate(rows)
    ]
    cluster.append(topic, partition, bytes(batch_of(records).raw))


def test_usage_finds_ids_in_keys_values_and_headers(confluent: World, cluster: FakeCluster) -> None:
    mine, other = b"\0\0\0\0\3x", b"\0\0\0\0\1x"
    guid = next(one.stored.guid for one in confluent.content.subjects["lonely"] if one.number == 2)
    header = b"\1" + bytes.fromhex(guid.replace("-", ""))
    put(cluster, "keys", 0, (mine, other, ()), (mine, b"", ()))
    put(cluster, "keys", 1, (mine, None, ()))
    put(cluster, "values", 0, *[(None, mine, ())] * 3, *[(None, other, ())] * 2)
    put(cluster, "headers", 0, (b"k", b"anything", (("__value_schema_id", header),)))
    put(cluster, "none", 0, (b"\0", b"\0\0\0", ()), (None, None, ()))
    found = usage(confluent, cluster, "lonely")
    rows = [
        (r["topic"], r["part"], r["id"], r["versions"], r["records"], r["partitions"]) for r in found["items"]
    ]
    assert rows == [
        ("headers", "value", 4, ["2"], 1, 1),
        ("keys", "key", 3, ["1"], 3, 2),
        ("values", "value", 3, ["1"], 3, 1),
    ]
    assert (found["topics"], found["partitions"], found["records"], found["complete"]) == (4, 5, 11, True)
    assert found["items"][1]["other_subjects"] == []
    few = usage(confluent, cluster, "lonely --records 2")
    assert [row["topic"] for row in few["items"]] == ["headers", "keys"]
    one = usage(confluent, cluster, "lonely:2 -t headers -t values")
    assert [(row["topic"], row["id"]) for row in one["items"]] == [("headers", 4)]
    shared = usage(confluent, cluster, "gone -t values")  # it has the same schemas
    assert shared["items"][0]["other_subjects"] == ["lonely"]


def test_usage_of_a_subject_of_a_context_names_others_of_that_context(
    confluent: World, cluster: FakeCluster
) -> None:
    for name in ("one", "two"):  # with the id 1, which is another schema in the default context
        confluent.content.register(f":.eu:{name}", {"schema": json.dumps("bytes")})
    put(cluster, "values", 0, (None, b"\0\0\0\0\1x", ()))
    for line in (":.eu:one -t values", "one --context eu -t values"):
        (row,) = usage(confluent, cluster, line)["items"]
        assert (row["id"], row["records"], row["other_subjects"]) == (1, 1, [":.eu:two"])


def test_usage_says_what_it_could_not_read(confluent: World, cluster: FakeCluster) -> None:
    put(cluster, "values", 0, (None, b"\0\0\0\0\3x", ()))
    cluster.move_leader("keys", 0, -1)
    found = usage(confluent, cluster, "lonely --timeout 2s", code=6)
    assert [part["what"] for part in found["missing"]] == ["keys-0"]
    assert (found["complete"], found["partitions"]) == (False, 4)
    assert [row["topic"] for row in found["items"]] == ["values"]
    done = kcli(
        *["registry", "usage", "lonely", "--timeout", "2s"],
        bootstrap=cluster.bootstrap,
        KCLI_X_SCHEMA_REGISTRY_URL=confluent.running.url,
    )
    type_remedy(
        "`kcli topics describe keys` shows its leaders", done.err, cluster.bootstrap, then="6: it has none"
    )


def test_usage_without_an_answer_about_other_subjects_has_the_rest(
    confluent: World, cluster: FakeCluster
) -> None:
    put(cluster, "values", 0, (b"\0\0\0\0\4x", b"\0\0\0\0\3x", ()))
    for path, missing in (("/schemas/ids/3/versions", 1), ("/schemas/ids/", 2)):
        over = refusing(confluent, "GET", path)
        found = usage(confluent, cluster, "lonely", code=6)
        over()
        assert len(found["missing"]) == missing
        assert [(row["id"], row["records"]) for row in found["items"]] == [(4, 1), (3, 1)]


def test_undo_lists_what_was_changed_in_the_registry_that_is_named(
    confluent: World, cluster: FakeCluster
) -> None:
    confluent("registry delete lonely --yes")
    at: Any = {"XDG_STATE_HOME": str(confluent.folder / "state")}
    listed = kcli(
        "undo",
        "-o",
        "json",
        "-X",
        f"schema.registry.url={confluent.running.url}",
        bootstrap=cluster.bootstrap,
        **at,
    )
    assert listed.code == 0, listed
    (row,) = json.loads(listed.out)["items"]
    assert (row["command"], row["what"]) == (
        "registry delete",
        "2 versions of lonely; compatibility of lonely",
    )
    done = confluent(
        f"undo {row['id']} --yes", "-X", f"schema.registry.url={confluent.running.url}x", code=None
    )
    assert done.code != 0
    assert kcli("undo", "-o", "json", bootstrap=cluster.bootstrap, **at).out.count('"id"') == 0
    elsewhere = confluent(f"undo {row['id']} --yes", "-X", "schema.registry.url=http://127.0.0.1:9", code=2)
    unnamed = kcli("undo", row["id"], "--yes", **at)
    for done in (elsewhere, unnamed):
        assert f"give -X schema.registry.url={confluent.running.url}, or" in done.err
    alone = json.loads(confluent("undo -o json").out)  # no cluster is named
    assert (alone["cluster"], [one["id"] for one in alone["items"]]) == (confluent.running.url, [row["id"]])
    assert "no broker is named" in kcli("undo", **at).err


def test_without_a_registry_each_command_says_how_to_name_one(tmp_path: Path) -> None:
    (tmp_path / "s.avsc").write_text('"int"')
    for path in sorted(REGISTRY - {"registry usage", "registry import"}):
        more = {"check": ["s", f"{tmp_path}/s.avsc"], "register": ["s", f"{tmp_path}/s.avsc"]}
        verb = path.split()[1]
        words = more.get(verb, ["s"] if verb in ("delete", "describe", "undelete") else [])
        done = kcli("registry", verb, *words)
        assert done.code == 2, done
        assert "-X schema.registry.url=http://HOST:8081, or --profile" in done.err


def test_requests_to_the_registry_are_shown_without_secrets(world: World) -> None:
    done = world("registry describe orders-value --debug=proto -X basic.auth.user.info=me:geheim")
    lines = [line.partition(" ")[2] for line in done.err.splitlines()]
    where = f"{world.running.url} GET /subjects/orders-value/versions"
    assert f"→ {where} 0 bytes" in lines
    assert any(re.fullmatch(rf"← {re.escape(where)} 200 \d+ bytes \d+ ms", line) for line in lines)
    assert "geheim" not in done.err


def test_the_registry_may_inherit_the_credentials_for_brokers(world: World) -> None:
    source = ("-X", "basic.auth.credentials.source=SASL_INHERIT")
    login = (
        "-X",
        "security.protocol=SASL_SSL",
        "-X",
        "sasl.mechanism=PLAIN",
        "-X",
        "sasl.username=me",
        "-X",
        "sasl.password=geheim",
    )
    world("registry list", *source, *login)
    assert world.content.headers[-1]["Authorization"] == "Basic bWU6Z2VoZWlt"
    none = world("registry list", *source, code=2)
    assert "SASL_INHERIT without sasl.username and sasl.password" in none.err
    assert "has no effect" in world("registry list", *login, code=2).err


def test_subjects_are_completed_from_the_registry_of_the_line_and_kept(world: World) -> None:
    variables = {
        "XDG_CACHE_HOME": str(world.folder / "cache"),
        "XDG_CONFIG_HOME": str(world.folder),
        "HOME": str(world.folder),
    }
    (world.folder / "kcli").mkdir(exist_ok=True)
    config = world.folder / "kcli" / "config.toml"
    config.write_text(f'[profiles.eu]\n"schema.registry.url" = "{world.running.url}"\n')

    def asked(prefix: str, *words: str) -> tuple[list[str], int]:
        since = len(world.content.headers)
        line = [*KCLI, "__complete", "subjects", "zsh", prefix, "kcli", "registry", "describe", *words]
        done = run(line, env=environment(**variables), capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
        names = [row.partition("\t")[0] for row in done.stdout.decode().splitlines()]
        return names, len(world.content.headers) - since

    assert asked("", "--profile", "eu") == (["customer-value", "lonely", "orders-value"], 1)
    assert asked("lo", "--profile", "eu") == (["lonely"], 0), "it is kept for a minute"
    assert asked("lo", "-X", f"schema.registry.url={world.running.url}/") == (["lonely"], 1)
    assert asked("lo") == ([], 0)
    assert asked("lo", "-X", "schema.registry.url=http://127.0.0.1:1") == ([], 0)
    secret = ("-X", "basic.auth.user.info_command=echo me:geheim")
    assert asked("lo", "--profile", "eu", *secret) == ([], 0), "no program is run for it"
