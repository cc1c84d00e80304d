"""Addresses to start from, as people write them."""

import re

import pytest

from kcli.core.cluster.cluster import bootstrap_nodes
from kcli.core.errors import ConfigError


@pytest.mark.case("S4-3")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("broker", [("broker", 9092)]),
        ("broker:9093", [("broker", 9093)]),
        ("a:1,b:65535", [("a", 1), ("b", 65535)]),
        (" a:1 , b:2 ,", [("a", 1), ("b", 2)]),
        ("[::1]:9093", [("::1", 9093)]),
        ("[2001:db8::1]", [("2001:db8::1", 9092)]),
        ("PLAINTEXT://broker:9093", [("broker", 9093)]),
        ("127.0.0.1:9092", [("127.0.0.1", 9092)]),
    ],
)
def test_addresses(text: str, expected: list[tuple[str, int]]) -> None:
    nodes = bootstrap_nodes(text)
    assert [(node.host, node.port) for node in nodes] == expected
    assert all(node.id < 0 for node in nodes)
    assert len({node.id for node in nodes}) == len(nodes)


@pytest.mark.parametrize("text", ["a:0", "a:65536", "a:port", "a:", ":9092", "a:-1", "a:1 2", "ok:1,bad:x"])
def test_a_malformed_address_is_named(text: str) -> None:
    with pytest.raises(ConfigError) as error:
        bootstrap_nodes(text)
    assert repr(text.rsplit(",", maxsplit=1)[-1]) in str(error.value)
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("me:hunter2@h:1", "an address has no user and no password"),
        ("SASL_SSL://me:hunter2@h:1", "an address has no user and no password"),
        ("h:1;g:2", "separated by commas"),
        ("h:1 g:2", "separated by commas"),
        ("h h:1", "there is a blank in it"),
        ("http://h:1", "brokers do not speak HTTP"),
        ("${env:B}", "more than one|has no '\\$'"),
        ("h/x:1", "has no '/'"),
        ("x:y:z", "it has more than one colon"),
    ],
)
def test_what_is_no_address_is_told_from_one_and_a_password_is_not_repeated(text: str, why: str) -> None:
    with pytest.raises(ConfigError) as error:
        bootstrap_nodes(text)
    assert re.search(why, error.value.why)
    assert "hunter2" not in f"{error.value} {error.value.why} {error.value.do}"


@pytest.mark.parametrize("text", ["", " , ,"])
def test_no_address_says_which_option_is_missing(text: str) -> None:
    with pytest.raises(ConfigError) as error:
        bootstrap_nodes(text)
    assert "-b" in error.value.do


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("::1", "[::1]:9092"),
        ("fe80::1:9092", "[fe80::1]:9092"),
        ("2001:db8::1000", "[2001:db8::1000]:9092"),
        ("1:2:3:4:5:6:7:1000", "[1:2:3:4:5:6:7:1000]:9092"),
    ],
)
def test_an_ipv6_address_without_brackets_is_written_right(text: str, right: str) -> None:
    with pytest.raises(ConfigError) as error:
        bootstrap_nodes(text)
    assert error.value.do == f"write {right}"


@pytest.mark.parametrize("text", ["::1", "2001:db8::1:9092"])
def test_a_bare_ipv6_address_is_not_cut_at_its_last_colon(text: str) -> None:
    """Which part would be the port cannot be told: it must be refused, or taken whole."""
    try:
        [node] = bootstrap_nodes(text)
    except ConfigError:
        return
    assert node.host == text
