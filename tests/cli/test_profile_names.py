"""``kcli profile rename`` and ``copy``: what goes along, what stays, what is refused; nothing secret is printed."""

import re
import tomllib
from pathlib import Path

import pytest

from kcli.profiles.secret_keys import source_key
from tests.cli.test_profile import CANARY, CONFIG, Kcli, home, kcli, write  # noqa: F401 - fixtures


def tables(path: Path) -> dict[str, object]:
    return tomllib.loads(path.read_text())


def test_a_renamed_profile_keeps_all_and_stays_the_current_one(kcli: Kcli, home: Path) -> None:  # noqa: F811
    path = write(home)
    done = kcli("profile", "rename", "prod", "prod.eu")
    assert (done.code, done.out) == (0, "")
    assert done.err == "profile prod renamed to prod.eu, which is the current profile\n"
    expected = CONFIG.replace('current = "prod"', 'current = "prod.eu"').replace(
        "[profiles.prod]", '[profiles."prod.eu"]'
    )
    assert path.read_text() == expected
    assert kcli("profile", "list", "-o", "name").out == "prod.eu\ntest\n"


def test_another_profile_that_is_renamed_does_not_become_the_current_one(kcli: Kcli, home: Path) -> None:  # noqa: F811
    path = write(home)
    assert kcli("profile", "rename", "test", "stage").err == "profile test renamed to stage\n"
    assert path.read_text() == CONFIG.replace("[profiles.test]", "[profiles.stage]")


FORMS = {
    "quoted": '[profiles."a b"]\nbootstrap.servers = "x:1"\n',
    "blanks": "[ profiles . 'a b' ]  # mine\nbootstrap.servers = \"x:1\"\n",
    "nested": '[profiles."a b"]\nclient.id = "c"\n[profiles."a b".bootstrap]\nservers = "x:1"\n',
    "inline": 'profiles = {"a b" = {bootstrap = {servers = "x:1"}}, z = {}}\n',
    "dotted": 'profiles."a b".bootstrap.servers = "x:1"\n',
    "named in a text": '[profiles."a b"]\ndescription = """\n[profiles."a b"]\n"""\n',
}


@pytest.mark.parametrize("form", FORMS)
def test_a_profile_in_any_form_is_renamed_and_nothing_else(kcli: Kcli, home: Path, form: str) -> None:  # noqa: F811
    path = write(home, FORMS[form])
    expected = tables(path)
    profiles = expected["profiles"]
    assert isinstance(profiles, dict)
    profiles["c"] = profiles.pop("a b")
    done = kcli("profile", "rename", "a b", "c")
    assert done.code == 0, done
    assert tables(path) == expected


def test_a_copy_has_the_options_and_the_marks_and_the_first_stays(kcli: Kcli, home: Path) -> None:  # noqa: F811
    path = write(home)
    done = kcli("profile", "copy", "prod", "admin")
    assert done.code == 0
    assert "profile prod copied to admin" in done.err
    assert "sasl.password is in " in done.err
    assert CANARY not in done.err + done.out
    found = tables(path)
    profiles = found["profiles"]
    assert isinstance(profiles, dict)
    assert profiles["admin"] == profiles["prod"]
    assert found["current"] == "prod"
    assert path.read_text().startswith(CONFIG)


def test_the_password_of_a_copy_is_read_from_the_same_file(kcli: Kcli, home: Path) -> None:  # noqa: F811
    path = write(home, '[profiles.a]\nbootstrap.servers = "x:1"\nsasl.password_file = "secret"\n')
    assert kcli("profile", "copy", "a", "b").code == 0
    assert f'sasl.password_file = "{path.parent / "secret"}"' in path.read_text()


@pytest.mark.parametrize(
    "option",
    [
        'sasl.password = "{}"',
        'proxy.url = "http://me:{}@127.0.0.1:1"',
        """sasl.jaas.config = 'PlainLoginModule required username="me" password="{}";'""",
    ],
)
def test_options_that_keep_a_secret_elsewhere_exist(kcli: Kcli, home: Path, option: str) -> None:  # noqa: F811
    write(home, f'[profiles.a]\nbootstrap.servers = "x:1"\n{option.format(CANARY)}\n')
    done = kcli("profile", "copy", "a", "b")
    named = re.search(r"; (\S+)_command, (\S+)_file and keyring:", done.err)
    assert named is not None, done
    assert {source_key(f"{named[1]}_command"), source_key(f"{named[2]}_file")} == {
        (named[1], "command"),
        (named[1], "file"),
    }
    assert CANARY not in done.err + done.out


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("rename prod test", 7, "or remove that profile first"),
        ("rename pord x", 2, "did you mean 'prod'?"),
        ("rename prod prod", 2, "both names are the same"),
        ("rename prod sandbox:x", 2, ""),
        ("rename sandbox:default x", 2, "it is a sandbox"),
        ("rename prod ''", 2, ""),
        ("copy prod test", 7, "or --replace it"),
        ("copy pord x", 2, "did you mean 'prod'?"),
        ("copy prod prod", 2, "both names are the same"),
        ("copy sandbox:default x", 2, "it is a sandbox"),
        ("copy test prod --replace", 2, "protected"),
    ],
)
def test_what_is_refused_changes_nothing(kcli: Kcli, home: Path, line: str, code: int, said: str) -> None:  # noqa: F811
    path = write(home)
    done = kcli("profile", *("" if word == "''" else word for word in line.split()))
    assert done.code == code, done
    assert said in done.err
    assert path.read_text() == CONFIG


def test_a_copy_replaces_a_profile_where_that_is_asked_for(kcli: Kcli, home: Path) -> None:  # noqa: F811
    path = write(home)
    assert kcli("profile", "copy", "prod", "test", "--replace").code == 0
    profiles = tables(path)["profiles"]
    assert isinstance(profiles, dict)
    assert profiles["test"] == profiles["prod"]


@pytest.mark.parametrize("verb", ["rename", "copy"])
def test_a_dry_run_writes_nothing(kcli: Kcli, home: Path, verb: str) -> None:  # noqa: F811
    path = write(home)
    done = kcli("profile", verb, "prod", "new", "--dry-run")
    assert (done.code, "would be done: profile prod" in done.err) == (0, True)
    assert path.read_text() == CONFIG


def test_a_variable_with_the_old_name_is_warned_of(kcli: Kcli, home: Path) -> None:  # noqa: F811
    write(home)
    assert "KCLI_PROFILE=test is set" in kcli("profile", "rename", "test", "x", KCLI_PROFILE="test").err
