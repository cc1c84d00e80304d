"""``-s``: what is understood, what is refused, and that the nearest name is told."""

import pytest

from kcli.core.errors import ConfigError
from kcli.serde.names import (
    ARGUMENTS,
    INTERNAL,
    NAMES,
    SerdeSpec,
    SerdeSpecs,
    parse_serde,
    parse_serdes,
)


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_understood(name: str) -> None:
    assert parse_serde(name) == SerdeSpec(name)
    assert parse_serde(name.upper()) == SerdeSpec(name)


def test_without_a_part_it_is_for_both_and_a_named_part_is_stronger() -> None:
    both = SerdeSpec("json")
    assert parse_serdes([]) == SerdeSpecs()
    assert not parse_serdes([])
    assert parse_serdes(["json"]) == SerdeSpecs(both, both)
    assert parse_serdes(["key=str"]) == SerdeSpecs(SerdeSpec("str"), None)
    assert parse_serdes(["key=str", "json"]) == SerdeSpecs(SerdeSpec("str"), both)
    assert parse_serdes(["json", "value=avro"]) == SerdeSpecs(both, SerdeSpec("avro"))


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("avro:id=7", "avro", {"id": "7"}),
        ("avro:subject=a,b-value", "avro", {"subject": "a,b-value"}),
        ("avro:subject=a=b,version=latest", "avro", {"subject": "a=b", "version": "latest"}),
        (
            "protobuf:file=a b.proto,message=x.Y",
            "protobuf",
            {"file": "a b.proto", "message": "x.Y"},
        ),
        ("jsonschema:file=a,register=true", "jsonschema", {"file": "a", "register": "true"}),
        ("proto:id=1", "protobuf", {"id": "1"}),
        ("string", "str", {}),
        ("__consumer_offsets", "consumer_offsets", {}),
    ],
)
def test_arguments_and_other_names(text: str, name: str, arguments: dict[str, str]) -> None:
    spec = parse_serde(text)
    assert (spec.name, dict(spec.arguments)) == (name, arguments)
    assert parse_serde(str(spec)) == spec
    assert parse_serdes([f"value={text}"]).value == spec


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("arvo", "did you mean avro?"),
        ("intt", "did you mean int?"),
        ("strng", "did you mean str?"),
        ("zzzzzz", "known are str, json"),
        ("", "known are str, json"),
        ("kye=str", "did you mean key=str?"),
        ("header=str", "-s key=str or -s value=str"),
        ("int:size=4", "-s int"),
        ("avro:sbject=x", "did you mean subject=x?"),
        ("avro:message=x", "see docs/serdes.md"),
        ("avro:", "avro takes id, subject"),
        ("avro:id", "avro takes id, subject"),
        ("avro:id=", "avro takes id, subject"),
        ("avro:id=1,id=2", "give it once"),
        ("avro:strategy=topc", "did you mean topic?"),
    ],
)
def test_faults_are_reported_with_the_valid_form(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_serdes([text])
    assert said in caught.value.do
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "text",
    [
        "avro:id=0",
        "avro:id=x",
        "avro:id=-1",
        "avro:id=4294967296",
        "avro:id=" + "9" * 5000,
        "avro:version=0",
        "avro:id=1,subject=x",
        "avro:id=1,file=x",
        "avro:id=1,version=2",
        "avro:subject=x,strategy=topic",
        "avro:file=x,version=2",
        "avro:register=true",
        "avro:file=x,register=true,framing=none",
        "avro:framing=glue",
    ],
)
def test_contradictory_options_are_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_serde(text)


@pytest.mark.parametrize("texts", [["str", "json"], ["key=str", "key=str"]])
def test_two_for_one_part_are_refused(texts: list[str]) -> None:
    with pytest.raises(ConfigError, match="two serdes"):
        parse_serdes(texts)


@pytest.mark.parametrize("name", INTERNAL)
def test_internal_topics_are_only_read(name: str) -> None:
    assert parse_serdes([f"key={name}"])
    with pytest.raises(ConfigError, match="only read"):
        parse_serdes([f"key={name}"], writing=True)


def test_the_manual_names_every_serde_and_argument(project_text) -> None:
    page = project_text("docs/serdes.md")
    for name in NAMES:
        assert f"`{name}`" in page, name
    for arguments in ARGUMENTS.values():
        for name in arguments:
            assert f"`{name}=" in page, name


def test_the_manual_names_every_option_of_the_registry(project_text) -> None:
    from kcli.serde.registry.options import _REGISTRY

    page = project_text("docs/serdes.md")
    assert [key for key in _REGISTRY.fields if f"`{key}`" not in page] == []
