"""``config.toml``: what it may contain, the line of each value, and that it is bounded and runs nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.errors import ConfigError
from kcli.profiles.config_file import ConfigFile, key_lines
from kcli.profiles.profile import Pair, raise_error
from kcli.profiles.secret_keys import absolute

TEXT = """\
# mine
current = "prod"

[defaults]
client.id = "me"

[profiles.prod]
bootstrap.servers = [
    "a:1",
    "b:2",  # second
]
"security.protocol" = "SASL_SSL"
request.timeout.ms = 5000
color = "red"
protected = true
cluster_id = "Qx3"

[profiles."eu-1"]
read_only = true
sasl.password_command = ["pass", "show", "two words"]
[profiles.empty]
"""


def config(text: str = TEXT) -> ConfigFile:
    return ConfigFile("c", text, raise_error)


def test_values_have_the_line_of_their_key() -> None:
    found = config()
    assert (found.current, found.names) == ("prod", ("prod", "eu-1", "empty"))
    assert found.defaults(raise_error) == [Pair("client.id", "me", "c:5")]
    prod = found.profile("prod", raise_error)
    assert prod.origin == "c:7"
    assert prod.pairs == (
        Pair("bootstrap.servers", "a:1,b:2", "c:8"),
        Pair("security.protocol", "SASL_SSL", "c:12"),
        Pair("request.timeout.ms", "5000", "c:13"),
        Pair("cluster.id", "Qx3", "c:16"),
    )
    assert (prod.color, prod.protected, prod.read_only) == ("red", True, False)


def test_a_command_may_be_a_list_of_words() -> None:
    found = config().profile("eu-1", raise_error)
    assert found.read_only
    assert found.text("sasl.password_command") == "pass show 'two words'"


@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        ("current = 3", "current is not what it should be in c:1", "a number"),
        ("defaults = 1", "defaults is not what it should be", "a number"),
        ('\ncurent = "x"', "unknown key 'curent' in c:2", "current, [defaults]"),
        ("[profiles]\nprod = 1", "profiles.prod is no profile in c:2", "a number"),
        ("[profiles.p\n", "c is not valid TOML", "line 1"),
        ("a = " + "[" * 9999, "c is not valid TOML", ""),
    ],
)
def test_wrong_structures_are_named_with_their_line(text: str, what: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(text)
    assert what in caught.value.what
    assert why in caught.value.why


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('color = "pink"', "color='pink' is not a valid value (from c:2)"),
        ('read_only = "yes"', "read_only='yes' is not a valid value (from c:2)"),
        ("linger.ms = 1979-05-27", "linger.ms has no usable value (c:2)"),
        ("linger.ms = [1, 2]", "linger.ms has no usable value (c:2)"),
    ],
)
def test_wrong_values_of_a_profile_are_reported_when_it_is_chosen(text: str, what: str) -> None:
    found = config(f"[profiles.p]\n{text}")
    with pytest.raises(ConfigError) as caught:
        found.profile("p", raise_error)
    assert caught.value.what == what
    kept: list[ConfigError] = []
    assert found.profile("p", kept.append).read_only == ("read_only" in text)  # the careful meaning
    assert len(kept) == 1


def test_marks_do_not_belong_to_the_defaults() -> None:
    with pytest.raises(ConfigError, match=r"read_only is in \[defaults\]"):
        config("[defaults]\nread_only = true").defaults(raise_error)


def test_multi_line_texts_do_not_hide_what_follows() -> None:
    text = '[defaults]\na = """\n[profiles.x]\nb = 1\n"""\nc.d = 1\n[[e]]\nf = { g = 1,\n h = 2 }\n'.replace(
        ",\n h", ", h"
    )
    lines = key_lines(text)
    assert lines["defaults", "a"] == 2
    assert lines["defaults", "c", "d"] == 6
    assert ("profiles", "x") not in lines


@pytest.mark.case("S10")
def test_variables_and_home_folders_are_not_expanded() -> None:
    found = config('[profiles.p]\nsasl.username = "${HOME} ~ $(id) {{7*7}}"').profile("p", raise_error)
    assert found.text("sasl.username") == "${HOME} ~ $(id) {{7*7}}"


@pytest.mark.case("S10")
def test_a_huge_value_costs_little() -> None:
    found = config("[defaults]\na = [\n" + '"x",\n' * 50_000 + ']\nclient.id = "me"')
    pairs = found.defaults(raise_error)
    assert pairs[1].text == "me"


@pytest.mark.case("S10")
@given(st.text(alphabet="[]{}\"=.#\n ab1\\'", max_size=60))
def test_any_text_is_read_or_is_an_error(text: str) -> None:
    errors: list[ConfigError] = []
    found = ConfigFile("c", text, errors.append)
    found.defaults(errors.append)
    for name in found.names:
        found.profile(name, errors.append)


def test_relative_paths_are_relative_to_the_folder_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    text = (
        '[profiles.p]\nssl.ca.location = "d/ca.pem"\nsasl.password_file = "~/pw"\nssl.key.location = "/k"\n'
    )
    found = ConfigFile("/c/kcli/config.toml", text, raise_error).profile("p", raise_error)
    assert {pair.text for pair in found.pairs} == {"/c/kcli/d/ca.pem", "/home/me/pw", "/k"}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("./bin/pw 'a b'", "/c/bin/pw 'a b'"),
        ("bin/pw", "/c/bin/pw"),
        ("pass show 'x y'", "pass show 'x y'"),
        ("/bin/pw  x", "/bin/pw  x"),
        ("'open", "'open"),
        ("", ""),
    ],
)
def test_a_relative_program_is_relative_to_the_folder_of_the_file(command: str, expected: str) -> None:
    assert absolute("sasl.password_command", command, "/c") == expected
    assert absolute("sasl.oauthbearer.token.command", command, "/c") == expected
