"""Which sandbox a command without -b finds, from state files and this test's own pid."""

import subprocess
import sys
from pathlib import Path

import pytest

from kcli.sandbox.discovery import find_sandbox, options_of, running
from kcli.sandbox.errors import SeveralSandboxesError, UsageError
from kcli.sandbox.state import FILE_NAME, Phase
from tests.unit.sandbox.states import ENDED, make_state, remember, this_process

pytestmark = pytest.mark.usefixtures("own_state")


def test_nothing_is_found_where_nothing_is() -> None:
    assert find_sandbox() is None


def test_the_only_one_is_found_with_all_its_nodes() -> None:
    remember(make_state("dev", brokers=2, process=this_process()))
    assert find_sandbox() == ("dev", {"bootstrap.servers": "127.0.0.1:9092,127.0.0.1:9093"})


def test_default_wins_over_others() -> None:
    remember(make_state("a", process=this_process(), port=1))
    remember(make_state("default", process=this_process(), port=2))
    assert find_sandbox() == ("default", {"bootstrap.servers": "127.0.0.1:2"})


def test_several_are_an_error_that_lists_them() -> None:
    remember(make_state("a", process=this_process(), port=1))
    remember(make_state("b", process=this_process(), port=2))
    with pytest.raises(SeveralSandboxesError) as caught:
        find_sandbox()
    assert "a (127.0.0.1:1), b (127.0.0.1:2)" in caught.value.why
    assert caught.value.exit_code == 2


def test_clients_of_a_secure_one_connect_as_its_super_user_by_certificate() -> None:
    remember(make_state("dev", process=this_process(), secure=True))
    assert find_sandbox() == (
        "dev",
        {
            "bootstrap.servers": "127.0.0.1:11092",
            "security.protocol": "SSL",
            "ssl.ca.location": "/data/dev/security/ca.pem",
            "ssl.certificate.location": "/data/dev/security/admin.pem",
            "ssl.key.location": "/data/dev/security/admin.key",
        },
    )


def test_a_sandbox_of_a_newer_kcli_is_passed_over() -> None:
    home = remember(make_state("newer", process=this_process()))
    (home / FILE_NAME).write_text('{"format": 99}')
    assert find_sandbox() is None


@pytest.mark.parametrize(
    "state",
    [
        make_state("x", process=ENDED),
        make_state("x", process=None),
        make_state("x", process=this_process(), phase=Phase.STARTING),
        make_state("x", process=this_process(), phase=Phase.STOPPED),
    ],
    ids=["recycled pid", "never started", "starting", "stopped"],
)
def test_only_a_running_one_counts(state) -> None:  # type: ignore[no-untyped-def]
    remember(state)
    assert running() == []


def test_a_damaged_state_file_is_passed_over(own_state: Path) -> None:
    home = remember(make_state("broken", process=this_process()))
    (home / FILE_NAME).write_text("{")
    remember(make_state("good", process=this_process()))
    assert find_sandbox() == ("good", {"bootstrap.servers": "127.0.0.1:9092"})


def test_discovery_loads_nothing_heavy() -> None:
    code = "import sys, kcli.sandbox.discovery; print(*sys.modules)"
    loaded = set(subprocess.check_output([sys.executable, "-c", code], text=True).split())
    assert not loaded & {"jgo", "urllib3", "subprocess", "socket", "threading", "click", "ssl", "logging"}


def test_one_is_found_by_its_name() -> None:
    remember(make_state("a", process=this_process(), port=1))
    remember(make_state("default", process=this_process(), port=2))
    assert options_of("a") == {"bootstrap.servers": "127.0.0.1:1"}


@pytest.mark.parametrize(
    ("name", "what", "why", "do"),
    [
        (
            "dev",
            "sandbox dev is not running",
            "running are a",
            "start it: `kcli sandbox up dev`, or choose sandbox:a",
        ),
        (
            "new",
            "there is no sandbox new",
            "running are a",
            "start it: `kcli sandbox up new`, or choose sandbox:a",
        ),
        ("", "'' is not a valid sandbox name", "a name has letters", "as in `kcli sandbox up test`"),
    ],
)
def test_one_that_does_not_run_is_refused_with_the_line_that_starts_it(
    name: str, what: str, why: str, do: str
) -> None:
    remember(make_state("a", process=this_process()))
    remember(make_state("dev", process=ENDED))
    with pytest.raises(UsageError) as caught:
        options_of(name)
    assert (caught.value.what, caught.value.do, caught.value.exit_code) == (what, do, 2)
    assert why in caught.value.why
