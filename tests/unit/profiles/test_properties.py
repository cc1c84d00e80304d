"""Files of options: Java's rules, as ``java.util.Properties`` documents them, and librdkafka's plain lines."""

import contextlib

import confluent_kafka
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.errors import ConfigError
from kcli.core.foreign_options import JAVA_KEYS, LIBRDKAFKA_KEYS, only_in_java, only_in_librdkafka
from kcli.core.options import spellings
from kcli.profiles.properties import parse_properties, split_pair

pytestmark = pytest.mark.case("S10")


def pairs(text: str) -> list[tuple[str, str]]:
    return [(key, value) for key, value, _origin in parse_properties(text, "f").pairs]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", [("a", "b")]),
        ("a = b ", [("a", "b")]),
        ("a:b", [("a", "b")]),
        ("a b", [("a", "b")]),
        ("a\tb=c", [("a", "b=c")]),
        ("a=b=c", [("a", "b=c")]),
        ("a = : b", [("a", ": b")]),
        ("a", [("a", "")]),
        ("a=", [("a", "")]),
        ("# c\n! d\n  # e\na=1 # not a comment", [("a", "1 # not a comment")]),
        ("a=1\\\n   2\\\n   3\nb=4", [("a", "123"), ("b", "4")]),
        ("a=1\\\\\nb=2", [("a", "1\\"), ("b", "2")]),
        ("a=1\\\n# still a value\nb=2", [("a", "1# still a value"), ("b", "2")]),
        (r"a\=b=c", [("a=b", "c")]),
        (r"a\ b=c", [("a b", "c")]),
        (r"a=\t\n\u0041\q", [("a", "\t\nAq")]),
        ("a=1\r\nb=2\rc=3", [("a", "1"), ("b", "2"), ("c", "3")]),
        ("\ufeffa=1", [("a", "1")]),
        ("\n\n", []),
        ("a=${HOME}", [("a", "${HOME}")]),
        ("metadata.broker.list=h:1,h:2", [("metadata.broker.list", "h:1,h:2")]),
        ("a=1\\", [("a", "1")]),
    ],
)
def test_forms(text: str, expected: list[tuple[str, str]]) -> None:
    assert pairs(text) == [(key, value.rstrip()) for key, value in expected]


def test_origins_name_the_line_where_a_value_begins() -> None:
    assert [origin for *_kv, origin in parse_properties("\na=1\\\n2\n\nb=3", "my.properties").pairs] == [
        "my.properties:2",
        "my.properties:5",
    ]


@pytest.mark.parametrize("text", ["=b", ": b", r"a=\u12", r"a=\uzzzz"])
def test_a_refusal_names_the_line(text: str) -> None:
    with pytest.raises(ConfigError, match="f:2"):
        parse_properties("x=1\n" + text, "f")


@given(st.text(max_size=200))
def test_any_text_parses_or_is_a_config_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        parse_properties(text, "f")


LIBRDKAFKAS = [
    "metadata.broker.list", "sasl.mechanisms", "sasl.username", "sasl.password", "ssl.ca.location", "ssl.key.location",
    "ssl.certificate.pem", "enable.ssl.certificate.verification", "sasl.oauthbearer.method", "log_level",
    "socket.timeout.ms", "statistics.interval.ms", "sasl.kerberos.keytab",
]  # fmt: skip
JAVAS = [
    "sasl.jaas.config", "ssl.truststore.location", "ssl.truststore.password", "ssl.keystore.type", "ssl.protocol",
    "ssl.enabled.protocols", "key.serializer", "sasl.login.callback.handler.class", "config.providers.vault.class",
    "max.block.ms", "partitioner.class",
]  # fmt: skip
SECRET = r"a\tb\\c\q\u0041"


@pytest.mark.parametrize("key", LIBRDKAFKAS)
def test_a_backslash_in_a_file_of_librdkafka_is_kept(key: str) -> None:
    for secret in (SECRET, "ends\\"):
        file = parse_properties(
            f"bootstrap.servers=h:1\n{key}=1\nssl.key.password={secret}\n\n# end\nclient.id=x", "f"
        )
        assert [(key, text) for key, text, _origin in file.pairs[2:]] == [
            ("ssl.key.password", secret),
            ("client.id", "x"),
        ]
        assert (
            file.reading == f"f: read as librdkafka's key=value lines, since {key} (line 2) is librdkafka's"
        )
        assert not file.warnings


@pytest.mark.parametrize("key", JAVAS)
def test_a_backslash_in_a_file_of_java_is_an_escape(key: str) -> None:
    file = parse_properties(f"ssl.key.password={SECRET}\n{key}=1", "f")
    assert file.pairs[0].text == "a\tb\\cqA"
    assert file.reading == f"f: read as Java's .properties, since {key} (line 2) is Java's"
    assert not file.warnings


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("bootstrap.servers: h:1", "line 2 is not key=value"),
        ("bootstrap.servers h=1", "line 2 is not key=value"),
        ("bootstrap.servers:h=1", "line 2 is not key=value"),
        ("! a comment", "line 2 is not key=value"),
        ("client.id=a,\\\n  b", "line 3 is not key=value"),
    ],
)
def test_a_form_that_only_java_has_counts_more_than_a_key(line: str, why: str) -> None:
    file = parse_properties(f"sasl.password={SECRET}\n{line}", "f")
    assert file.pairs[0].text == "a\tb\\cqA"
    assert (file.reading, file.warnings) == (f"f: read as Java's .properties, since {why}", [])


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("security.protocol=SASL_SSL", "no key says whose the file is"),
        (
            "sasl.username=me\nssl.truststore.location=/t",
            "ssl.truststore.location (line 3) is Java's, sasl.username (line 2) librdkafka's",
        ),
    ],
)
def test_where_nothing_says_whose_a_file_is_each_value_that_would_differ_is_warned_of(
    more: str, why: str
) -> None:
    text = f"ssl.key.password={SECRET}\n{more}\nclient.id=x\nsasl.aws.profile=a\\:b\nsasl.aws.region=x\\"
    file = parse_properties(text, "f")
    assert file.pairs[0].text == "a\tb\\cqA"
    last = text.count("\n") + 1
    assert file.warnings == [
        f"f:{line}: a backslash in {key} is read as an escape, as in Java's .properties; librdkafka would keep it, "
        f"and {why}"
        for line, key in ((1, "ssl.key.password"), (last, "sasl.aws.region"))
    ]
    assert SECRET not in str(file.warnings)
    assert file.reading == f"f: read as Java's .properties, since {why}"


def test_what_is_said_to_be_known_to_librdkafka_only_is_and_what_to_java_only_is_not() -> None:
    keys = {*spellings(), *JAVA_KEYS, *LIBRDKAFKA_KEYS}
    for key in keys:
        if only_in_librdkafka(key):
            assert is_of_librdkafka(key), key
        if only_in_java(key):
            assert not is_of_librdkafka(key), key


def is_of_librdkafka(key: str) -> bool:
    try:
        confluent_kafka.Producer({key: ""})
    except confluent_kafka.KafkaException as error:
        return not any(text in str(error) for text in ("No such configuration", "not supported"))
    except (TypeError, ValueError):  # of an option that is a function
        return True
    return True


def test_x() -> None:
    assert split_pair(" a = b=c ", "-X") == ("a", "b=c", "-X")
    assert split_pair("a=", "-X") == ("a", "", "-X")
    for text in ("a", "=b", ""):
        with pytest.raises(ConfigError, match="is not KEY=VALUE"):
            split_pair(text, "-X")
