"""Numbers in messages agree with their nouns: ``1 record``, not ``1 records``.

``counted`` writes them. An f-string with a number right before a noun in the plural is found in the sources, except after
"of" and "than" (``1 of 1 partitions``), and where the number is more than one by what precedes; those are listed.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2] / "kcli"
NOUNS = "records|partitions|topics|groups|members|brokers|batches|offsets|lines|files|tasks|processes|replicas|messages"
BEHIND = re.compile(rf" (more |unread )?({NOUNS})\b(?!/)")
BEFORE = re.compile(r"\b(of|than|neither|the) $")
WITHOUT_NUMBERS = {"core", "serde", "docgen"}
"""Errors of an API and of malformed bytes, whose numbers are not those of a user's things."""
MANY = {
    "{count:,} partitions": "more than 10,000",
    "{len(lags):,} groups": "more than a few",
    "{len(alike)} partitions": "one has a message of its own",
    "{len(plan.groups)} groups": "one has a question of its own",
    "{groups} groups": "one has a question of its own",
    "{interval.records} records": "as Kafka writes it",
    "{processes} processes": "one is not mentioned, or more than there are records",
    "{asked.processes} processes": "one is not mentioned",
    "{(ctx.command_path if ctx else 'kcli')} topics": "no number",
    "{' or '.join(asked.filters)} partitions": "no number",
    "{(' steady state' if item['warmup_records'] else '')} records": "as Kafka writes it",
    "{now} partitions": "more than there were",
    "{len(items)} records": "not one",
    "{len(named)} topics": "several, so that it is ambiguous",
    "{lines} lines": "more than one",
}


def numbers_before_plurals(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        text = ""
        for part, following in zip(node.values, [*node.values[1:], ast.Constant("")], strict=True):
            if isinstance(part, ast.Constant):
                text = str(part.value)
            elif isinstance(following, ast.Constant) and (found := BEHIND.match(str(following.value))):
                if not BEFORE.search(text):
                    yield ast.unparse(ast.JoinedStr([part]))[2:-1] + found[0]
                text = ""


def test_numbers_agree_with_their_nouns() -> None:
    found = {
        text
        for path in sorted(ROOT.rglob("*.py"))
        if path.relative_to(ROOT).parts[0] not in WITHOUT_NUMBERS
        for text in numbers_before_plurals(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set(MANY)


def test_a_number_before_a_plural_is_found() -> None:
    tree = ast.parse(
        "f'up to {n:,} records, {a} of {b} partitions, {rate} records/s, {counted(n, \"line\")}'"
    )
    assert list(numbers_before_plurals(tree)) == ["{n:,} records"]
