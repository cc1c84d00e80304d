"""UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS and their like, at each API in each state."""

import pytest

from tests.fake.codes import Code
from tests.fake.groups import asks
from tests.fake.groups.asks import G, code, commit, heartbeat, join, leave, sync
from tests.fake.groups.driver import Driver

OK, UNKNOWN, OLD, BUSY = (
    Code.NONE,
    Code.UNKNOWN_MEMBER_ID,
    Code.ILLEGAL_GENERATION,
    Code.REBALANCE_IN_PROGRESS,
)


def bring_to(driver: Driver, state: str) -> tuple[str, int]:
    """A group in ``state``; one member of it and the generation it knows."""
    if state == "Dead":
        return "m", 1
    member = asks.lone(driver)
    if state == "Empty":
        driver.ask(leave(member))
    elif state == "PreparingRebalance":
        driver.park(join(asks.member_id(driver)))
    elif state == "CompletingRebalance":
        driver.ask(join(member))
    generation = driver.groups.generation(G)
    assert driver.groups.state(G) == state
    return member, generation


def send(driver: Driver, api: str, member: str, generation: int) -> int:
    match api:
        case "heartbeat":
            return int(driver.ask(heartbeat(member, generation)).error_code)
        case "sync":
            return int(driver.ask(sync(member, generation)).error_code)
        case "commit":
            return code(driver.ask(commit({"a": {0: 1}}, member, generation), 8))
    raise AssertionError(api)


@pytest.mark.parametrize(
    ("state", "api", "member", "old_generation", "new_member"),
    [
        ("Dead", "heartbeat", UNKNOWN, UNKNOWN, UNKNOWN),
        ("Dead", "sync", UNKNOWN, UNKNOWN, UNKNOWN),
        ("Dead", "commit", OLD, OLD, OLD),
        ("Empty", "heartbeat", UNKNOWN, UNKNOWN, UNKNOWN),
        ("Empty", "sync", UNKNOWN, UNKNOWN, UNKNOWN),
        ("Empty", "commit", UNKNOWN, UNKNOWN, UNKNOWN),
        ("PreparingRebalance", "heartbeat", BUSY, OLD, UNKNOWN),
        ("PreparingRebalance", "sync", BUSY, OLD, UNKNOWN),
        ("PreparingRebalance", "commit", OK, OLD, UNKNOWN),
        ("CompletingRebalance", "heartbeat", OK, OLD, UNKNOWN),
        ("CompletingRebalance", "sync", OK, OLD, UNKNOWN),
        ("CompletingRebalance", "commit", BUSY, OLD, UNKNOWN),
        ("Stable", "heartbeat", OK, OLD, UNKNOWN),
        ("Stable", "sync", OK, OLD, UNKNOWN),
        ("Stable", "commit", OK, OLD, UNKNOWN),
    ],
)
def test_codes(driver: Driver, state, api, member, old_generation, new_member):
    known, generation = bring_to(driver, state)
    assert send(driver, api, "stranger", generation) == new_member
    assert send(driver, api, known, generation + 1) == old_generation
    assert send(driver, api, known, generation) == member


@pytest.mark.parametrize("api", ["heartbeat", "sync", "commit"])
@pytest.mark.parametrize(
    ("instance", "as_new", "answer"),
    [
        pytest.param("i1", False, Code.FENCED_INSTANCE_ID, id="former bearer"),
        pytest.param("i1", True, OK, id="bearer"),
        pytest.param("i9", True, UNKNOWN, id="unknown instance"),
        pytest.param(None, True, OK, id="bearer who does not say so"),
        pytest.param(None, False, UNKNOWN, id="former bearer who does not say so"),
    ],
)
def test_codes_of_a_static_member_that_came_back(driver: Driver, api, instance, as_new, answer):
    former = driver.ask(join(instance="i1")).member_id
    driver.ask(sync(former, 1, {former: b""}, instance="i1"))
    bearer = driver.ask(join(instance="i1")).member_id
    who = bearer if as_new else former
    match api:
        case "heartbeat":
            found = driver.ask(heartbeat(who, 1, instance=instance)).error_code
        case "sync":
            found = driver.ask(sync(who, 1, instance=instance)).error_code
        case "commit":
            found = code(driver.ask(commit({"a": {0: 1}}, who, 1, instance=instance)))
    assert found == answer


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        pytest.param(join(), Code.MEMBER_ID_REQUIRED, id="newcomer"),
        pytest.param(join("made-up"), UNKNOWN, id="made-up member id"),
        pytest.param(join("made-up", instance="i9"), UNKNOWN, id="member id of an unknown instance"),
        pytest.param(join(group=""), Code.INVALID_GROUP_ID, id="no group id"),
        pytest.param(join(session=0.001), Code.INVALID_SESSION_TIMEOUT, id="session too short"),
        pytest.param(join(session=2000), Code.INVALID_SESSION_TIMEOUT, id="session too long"),
        pytest.param(join(kind="connect"), Code.INCONSISTENT_GROUP_PROTOCOL, id="other protocol type"),
        pytest.param(join(protocols={"x": b""}), Code.INCONSISTENT_GROUP_PROTOCOL, id="no common protocol"),
        pytest.param(join(protocols={}), Code.INCONSISTENT_GROUP_PROTOCOL, id="no protocol"),
        pytest.param(join("made-up", "unknown"), UNKNOWN, id="member id in an unknown group"),
        pytest.param(
            join(group="unknown", kind=""), Code.INCONSISTENT_GROUP_PROTOCOL, id="first, without a type"
        ),
    ],
)
def test_codes_of_join(driver: Driver, request_, answer):
    asks.lone(driver)
    refused = driver.ask(request_)
    assert (refused.error_code, refused.generation_id) == (answer, -1)


@pytest.mark.parametrize("version", range(10))
def test_member_id_is_required_since_version_4(driver: Driver, version):
    answer = driver.ask(join(), version)
    assert answer.error_code == (Code.MEMBER_ID_REQUIRED if version >= 4 else OK)
    assert answer.member_id.startswith("test-")
    assert answer.protocol_name == (None if version >= 7 else "" if version >= 4 else "range")


@pytest.mark.parametrize(
    ("kind", "protocol", "version", "answer"),
    [
        ("consumer", "other", 5, Code.INCONSISTENT_GROUP_PROTOCOL),
        ("connect", "range", 5, Code.INCONSISTENT_GROUP_PROTOCOL),
        ("consumer", None, 5, Code.INCONSISTENT_GROUP_PROTOCOL),
        (None, None, 4, OK),
    ],
)
def test_sync_names_the_protocol_since_version_5(driver: Driver, kind, protocol, version, answer):
    member = asks.lone(driver)
    assert driver.ask(sync(member, 1, kind=kind, protocol=protocol), version).error_code == answer


@pytest.mark.parametrize("request_", [heartbeat("m", 1, ""), sync("m", 1, group=""), leave("m", group="")])
def test_a_group_needs_an_id(driver: Driver, request_):
    assert driver.ask(request_).error_code == Code.INVALID_GROUP_ID


def test_a_pending_member_is_no_member_yet(driver: Driver):
    pending = asks.member_id(driver)
    assert driver.ask(heartbeat(pending, 0)).error_code == UNKNOWN
    assert code(driver.ask(commit({"a": {0: 1}}, pending, 0))) == UNKNOWN
    assert code(driver.ask(commit({"a": {0: 1}}))) == OK
    assert driver.ask(leave(pending)).members[0].error_code == OK
    assert driver.ask(join(pending)).error_code == UNKNOWN


def test_a_full_group_accepts_no_member(driver: Driver):
    driver.groups.settings.max_size = 2
    leader, _ = asks.pair(driver)
    assert driver.ask(join()).error_code == Code.GROUP_MAX_SIZE_REACHED
    assert driver.ask(heartbeat(leader, 2)).error_code == OK


def test_during_a_rebalance_the_first_members_fill_the_group(driver: Driver):
    driver.groups.settings.max_size = 2
    leader, follower = asks.pair(driver)
    waiting = driver.park(join(leader))
    newcomer = driver.park(join(asks.member_id(driver)))
    assert driver.ask(join(follower)).error_code == Code.GROUP_MAX_SIZE_REACHED
    assert driver.ask(heartbeat(follower, 2)).error_code == UNKNOWN
    assert waiting.waits
    assert newcomer.waits
