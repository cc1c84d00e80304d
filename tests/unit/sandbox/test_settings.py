"""What was asked for against what is there."""

import pytest

from kcli.sandbox.config import DEFAULT_VERSION
from kcli.sandbox.errors import RefusedError, UsageError
from kcli.sandbox.settings import Settings, differences, refuse_mismatched_data, resolve
from tests.unit.sandbox.states import make_state


def test_a_new_sandbox_gets_the_defaults() -> None:
    found = resolve(Settings(), None, default_data="/d")
    assert (found.version, found.brokers, found.data, found.ephemeral) == (DEFAULT_VERSION, 1, "/d", False)
    assert found.heap_mb == 512
    assert not found.secure


def test_three_nodes_get_smaller_heaps() -> None:
    assert resolve(Settings(brokers=3), None, default_data="/d").heap_mb == 384


def test_fields_that_are_not_given_stay_as_they_were() -> None:
    kept = make_state(brokers=3, version="3.9.2")
    found = resolve(Settings(), kept, default_data="/other")
    assert (found.version, found.brokers, found.data) == ("3.9.2", 3, "/data/default")


def test_no_broker_is_refused() -> None:
    with pytest.raises(UsageError):
        resolve(Settings(brokers=0), None, default_data="/d")


def test_without_settings_anything_matches() -> None:
    assert differences(Settings(), make_state(brokers=3)) == []


def test_the_same_settings_match() -> None:
    said = Settings(version="4.4.0", brokers=1, port=9092, data="/data/default", ephemeral=False)
    assert differences(said, make_state()) == []
    assert differences(Settings(port=0), make_state()) == []


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (Settings(brokers=3), "--brokers 3 (it has 1)"),
        (Settings(version="3.9.2"), "--kafka-version 3.9.2 (it has 4.4.0)"),
        (Settings(port=9999), "--port 9999 (it has 9092)"),
        (Settings(ephemeral=True), "--ephemeral True (it has False)"),
        (Settings(secure=True), "--secure True (it has False)"),
        (Settings(log_dirs=2), "--log-dirs 2 (it has 1)"),
    ],
)
def test_a_difference_is_named(said: Settings, text: str) -> None:
    assert differences(said, make_state()) == [text]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (Settings(brokers=1), "written with --brokers 3, not"),
        (Settings(version="4.2.0"), "4.2.0 is older"),
        (Settings(version="2.8.2"), "ZooKeeper"),
        (Settings(brokers=3, secure=True), "written without --secure"),
        (Settings(brokers=3, log_dirs=2), "written with --log-dirs 1, not 2"),
    ],
)
def test_data_of_other_settings_is_refused(said: Settings, text: str) -> None:
    kept = make_state(brokers=3)
    with pytest.raises(RefusedError) as caught:
        refuse_mismatched_data(resolve(said, kept, default_data=""), kept)
    assert text in caught.value.why
    assert caught.value.exit_code == 7


@pytest.mark.parametrize("version", ["2.8.2", "3.3.2", "3.4.1"])
def test_a_version_whose_format_step_sets_no_credentials_cannot_be_secure(version: str) -> None:
    with pytest.raises(RefusedError, match="cannot be started with --secure") as caught:
        resolve(Settings(version=version, secure=True), None, default_data="")
    assert caught.value.exit_code == 7


def test_a_secure_sandbox_stays_secure() -> None:
    kept = make_state(secure=True)
    assert resolve(Settings(), kept, default_data="").secure
    assert differences(Settings(), kept) == []


def test_a_newer_version_may_take_over_the_data() -> None:
    kept = make_state(version="3.9.2")
    refuse_mismatched_data(resolve(Settings(version="4.4.0"), kept, default_data=""), kept)
