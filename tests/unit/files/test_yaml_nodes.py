"""YAML as a tree: what is read, what is refused and where."""

import pytest
import yaml

from kcli.files.yaml_nodes import Items, Node, Pairs, Scalar, YamlError, yaml_documents


def test_every_node_has_its_place() -> None:
    (root,) = yaml_documents("a: 1\nb:\n  - 'x'\n", [])
    assert root == Pairs(
        [
            (Scalar("a", True, 1, 1), Scalar("1", True, 1, 4)),
            (Scalar("b", True, 2, 1), Items([Scalar("x", False, 3, 5)], 3, 3)),
        ],
        1,
        1,
    )


def test_json_is_yaml_also_with_tabs() -> None:
    (root,) = yaml_documents('{\n\t"a": [1, "x"],\n\t"b": null\n}', [])
    assert isinstance(root, Pairs)
    assert [key.text for key, _ in root.pairs] == ["a", "b"]


def test_documents_before_an_error_are_read() -> None:
    found = yaml_documents("a: 1\n---\nb: 2\n---\nc: [", [])
    assert isinstance(next(found), Pairs)
    assert isinstance(next(found), Pairs)
    with pytest.raises(YamlError) as caught:
        next(found)
    assert caught.value.line == 5


def test_a_key_twice_is_reported_and_the_first_stays() -> None:
    repeated: list[YamlError] = []
    (root,) = yaml_documents("a: 1\nb: {c: 1, c: 2}\na: 3\n", repeated)
    assert isinstance(root, Pairs)
    assert len(root.pairs) == 2
    assert [(error.line, error.column, error.why) for error in repeated] == [
        (2, 11, "the key c is in line 2 already"),
        (3, 1, "the key a is in line 1 already"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "column", "why"),
    [
        ("a: &x [1]\nb: *x", 2, 4, "*x is an alias"),
        ("a: &x {b: *x}", 1, 11, "*x is an alias"),
        ("a: &x [1]\n<<: [x]", 2, 1, "<< merges"),
        ("a: !!python/object/apply:os.system ['true']", 1, 4, "is a tag"),
        ("a: !!str 12", 1, 4, "!!str is a tag"),
        ("[" * 100_000, 1, 1001, "nested more than 30 levels"),
        ("\n".join(" " * depth + "a:" for depth in range(40)), 31, 31, "nested more than 30 levels"),
        ("{{ a }}: 2", 1, 2, "a key is text"),
        ("? [a]\n: 2", 1, 3, "a key is text"),
        ("a: @x", 1, 4, "cannot start any token"),
        ("a: b: c", 1, 5, "mapping values are not allowed"),
        ("a: 1\nb: [1", 2, 4, ""),
        ("a: 1\nb: \x00", 2, 4, "characters are not allowed"),
    ],
)
def test_what_is_refused_has_a_place(text: str, line: int, column: int, why: str) -> None:
    with pytest.raises(YamlError) as caught:
        list(yaml_documents(text, []))
    assert why in caught.value.why
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nb:\n  - 'x'\n---\n{c: [d, {e: f}]}\n",
        '{"a": [1, null, "\\u00e9"]}',
        "",
        "--- # x\n",
        "a: |\n  b\n c\n",
    ],
)
def test_the_parser_in_python_makes_the_same_tree(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> list[Node] | type[YamlError]:
        try:
            return list(yaml_documents(text, []))
        except YamlError:
            return YamlError

    in_c = found()
    monkeypatch.delattr(yaml, "CSafeLoader")
    assert found() == in_c


@pytest.mark.parametrize(
    "text", ["a: &x [1]\nb: *x", "a: !!str 1", "[" * 1000, "? [a]\n: 2", "a: @x", "a: [1", "a: \x00"]
)
def test_the_parser_in_python_refuses_the_same(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader")
    with pytest.raises(YamlError):
        list(yaml_documents(text, []))
