"""The login in ``proxy.url``: it becomes options of its own, and stays with the proxy that it is for."""

import pytest

from kcli.profiles.profile import Pair
from kcli.profiles.proxy_login import left_out, split_login, without_logins


def pairs(*texts: str, origin: str = "f") -> list[Pair]:
    return [Pair(*text.split("=", 1), origin) for text in texts]


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("http://h:1", ["proxy.url=http://h:1"]),
        ("", ["proxy.url="]),
        ("http://me@h:1", ["proxy.url=http://h:1", "proxy.username=me"]),
        ("http://me:pw@h:1", ["proxy.url=http://h:1", "proxy.username=me", "proxy.password=pw"]),
        ("http://m%40e:p%3A%2Fw@h", ["proxy.url=http://h", "proxy.username=m@e", "proxy.password=p:/w"]),
        ("http://me:p@w@h", ["proxy.url=http://h", "proxy.username=me", "proxy.password=p@w"]),
        ("http://me:p://w@h", ["proxy.url=http://h", "proxy.username=me", "proxy.password=p://w"]),
        ("me:p://w@h", ["proxy.url=h", "proxy.username=me", "proxy.password=p://w"]),
        ("me:pw@h:1", ["proxy.url=h:1", "proxy.username=me", "proxy.password=pw"]),
    ],
)
def test_a_login_in_the_url_is_taken_out_of_it(url: str, found: list[str]) -> None:
    assert split_login([*pairs("client.id=a@b"), Pair("proxy.url", url, "f")]) == pairs(
        "client.id=a@b", *found
    )


@pytest.mark.case("X10")
def test_a_stronger_proxy_gets_no_login_of_a_weaker_one() -> None:
    """The pairs of all sources, weakest first: a file, a profile, the command line."""
    file = pairs("proxy.username=old", "proxy.password_file=/old", "request.timeout.ms=1")
    profile = pairs("proxy.url=http://me:pw@a:1")
    line = pairs("proxy.url=http://b:1")
    assert without_logins([file, profile, line]) == [
        pairs("request.timeout.ms=1"),
        pairs("proxy.url=http://a:1"),
        pairs("proxy.url=http://b:1"),
    ]
    assert left_out([file, profile, line]) == [
        f"{key} (f) is not used: it is for another proxy than proxy.url of f"
        for key in ("proxy.username", "proxy.password_file")
    ]
    assert without_logins([file, profile, []]) == [
        pairs("request.timeout.ms=1"),
        pairs("proxy.url=http://a:1", "proxy.username=me", "proxy.password=pw"),
        [],
    ]


def test_of_two_urls_of_one_source_the_last_has_its_login() -> None:
    line = pairs("proxy.url=http://me:pw@a:1", "proxy.url=http://b:1")
    assert without_logins([line]) == [pairs("proxy.url=http://a:1", "proxy.url=http://b:1")]
    assert without_logins([line[::-1]]) == [
        pairs("proxy.url=http://b:1", "proxy.url=http://a:1", "proxy.username=me", "proxy.password=pw")
    ]


def test_a_stronger_login_is_for_the_proxy_of_a_weaker_source() -> None:
    profile, line = pairs("proxy.url=http://a:1"), pairs("proxy.username=me", "proxy.password_command=pass")
    assert without_logins([profile, line]) == [profile, line]
    assert left_out([profile, line]) == []
