"""Users and passwords: the hashes of the specification and of openssl, and files that are refused."""

import base64
import os
from pathlib import Path

import pytest

from kcli.core.errors import ConfigError
from kcli.exporter.sha_crypt import LONGEST, is_hash, matches
from kcli.exporter.users import Users, read_users

KNOWN = [
    # From the specification of SHA-crypt.
    ("$5$rounds=10000$saltstringsaltst$3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA", "Hello world!"),
    (
        "$6$rounds=1400$anotherlongsalts$POfYwTEok97VWcjxIiSOjiykti.o/pQs.wPvMxQ6Fm7I6IoYN3CmLs66x9t0oSwbtEW7o7UmJEiDwGqd8p4ur1",
        "a very much longer text to encrypt.  This one even stretches over morethan one line.",
    ),
    # From `openssl passwd`.
    ("$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5", "Hello world!"),
    (
        "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
        "Hello world!",
    ),
    ("$5$x$Efe51W4zp1fQKfot4sjEOriL0mA5SzLeQNQ0llFIcE0", "ü" * 60),
]
HASH, PASSWORD = KNOWN[1]
OTHER, OTHER_PASSWORD = KNOWN[2]


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


@pytest.mark.parametrize(("known", "password"), KNOWN)
def test_passwords_match_the_hashes_of_the_specification_and_of_openssl(known: str, password: str) -> None:
    assert is_hash(known)
    assert matches(password.encode(), known)
    assert not matches(password.encode() + b".", known)
    assert not matches(b"", known)


def test_a_password_is_bounded_since_the_work_grows_with_it() -> None:
    assert not matches(b"x" * (LONGEST + 1), HASH)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "secret",
        "$1$salt$abc",
        "$2y$05$abcdefghijklmnopqrstuv",
        HASH[:-1],
        HASH + "x",
        "$6$rounds=999999999$s$" + "." * 86,
    ],
)
def test_what_is_no_hash_or_would_take_minutes_is_none(text: str) -> None:
    assert not is_hash(text)


def users(tmp_path: Path, text: str) -> str:
    path = tmp_path / "users"
    path.write_text(text)
    return str(path)


def test_users_are_admitted_by_name_and_password(tmp_path: Path) -> None:
    known = Users(users(tmp_path, f"# scrapers\n\nprom:{HASH}\nother:{OTHER}\n"), print)
    for _ in range(2):  # the second time without the hash
        assert known.admit(basic("prom", PASSWORD))
        assert known.admit(basic("other", OTHER_PASSWORD))
        assert not known.admit(basic("prom", OTHER_PASSWORD))
        assert not known.admit(basic("nobody", PASSWORD))


@pytest.mark.parametrize(
    "header",
    ["", "Basic", "Basic ", "Basic !!!", "Bearer x", "Basic cHJvbQ==", "Basic /w==", "basic\x00", "Basic ü"],
)
def test_headers_without_a_name_and_a_password_are_refused(tmp_path: Path, header: str) -> None:
    assert not Users(users(tmp_path, f"prom:{HASH}\n"), print).admit(header)


def test_a_changed_file_counts_at_once_and_a_broken_one_changes_nothing(tmp_path: Path) -> None:
    path, said = users(tmp_path, f"prom:{HASH}\n"), list[str]()
    known = Users(path, said.append)
    assert known.admit(basic("prom", PASSWORD))
    Path(path).write_text(f"other:{OTHER}\n")
    assert not known.admit(basic("prom", PASSWORD)), "a password that was right is forgotten too"
    assert known.admit(basic("other", OTHER_PASSWORD))
    assert not said
    Path(path).write_text("nonsense\n")
    for _ in range(2):
        assert known.admit(basic("other", OTHER_PASSWORD))
    os.unlink(path)
    for _ in range(2):
        assert known.admit(basic("other", OTHER_PASSWORD))
    assert [one.partition(":")[0] for one in said] == ["the users in use remain"] * 2, "each once"


@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        ("", "there is no user", "nobody could read"),
        ("prom:secret\n", "line 1", "no hash of SHA-crypt"),
        (f"prom:{HASH}\nprom:{OTHER}\n", "line 2", "given once"),
        ("prom:$2y$10$abcdefghijklmnopqrstuv\n", "line 1", "bcrypt"),
        ("prom:$6$salt$abc\n", "line 1", "not complete"),
        (HASH, "line 1", "no hash"),
    ],
)
def test_files_that_cannot_be_used_are_refused_without_their_text(
    tmp_path: Path, text: str, what: str, why: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read_users(users(tmp_path, text))
    assert what in caught.value.what
    assert why in caught.value.why
    assert "openssl passwd -6" in caught.value.do
    assert "secret" not in str(caught.value)
    assert "abcdefgh" not in str(caught.value)


def test_a_file_that_everyone_may_change_is_refused(tmp_path: Path) -> None:
    path = users(tmp_path, f"prom:{HASH}\n")
    os.chmod(path, 0o646)
    with pytest.raises(ConfigError, match="every user can change it"):
        Users(path, print)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        Users(str(tmp_path / "none"), print)
