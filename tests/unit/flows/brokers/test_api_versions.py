"""Ranges of versions as rows, and in the words of Kafka's script."""

from kcli.core.admin.brokers import BrokerDescription
from kcli.core.protocol.all_apis import all_requests
from kcli.core.types import Node
from kcli.flows.brokers.api_versions import api_rows, script_lines, usable

FETCH, UNKNOWN = 1, 30_000


def test_brokers_that_offer_the_same_share_a_row() -> None:
    rows = api_rows({1: {0: (0, 13), FETCH: (4, 18)}, 2: {0: (0, 13), FETCH: (4, 16)}})
    assert [(row["api"], row["min_version"], row["max_version"], row["brokers"]) for row in rows] == [
        ("Produce", 0, 13, [1, 2]), ("Fetch", 4, 18, [1]), ("Fetch", 4, 16, [2]),
    ]  # fmt: skip


def test_differences_name_brokers_that_lack_an_api() -> None:
    rows = api_rows({1: {0: (0, 13), FETCH: (4, 18)}, 2: {0: (0, 13)}}, differing=True)
    assert [(row["api"], row["max_version"], row["usable"], row["brokers"]) for row in rows] == [
        ("Fetch", 18, 18, [1]), ("Fetch", None, None, [2]),
    ]  # fmt: skip
    assert api_rows({1: {0: (0, 13)}, 2: {0: (0, 13)}}, differing=True) == []


def test_usable_is_what_both_sides_know() -> None:
    assert (usable(FETCH, 4, 99), usable(FETCH, 4, 12), usable(FETCH, 90, 99), usable(UNKNOWN, 0, 1)) == (
        all_requests()[FETCH].versions[1], 12, None, None,
    )  # fmt: skip


def test_the_lines_are_those_of_kafka_s_script() -> None:
    broker = BrokerDescription(Node(1, "a", 9092, "r"), is_fenced=False)
    offer = {key: api.versions for key, api in all_requests().items()}
    offer |= {FETCH: (90, 99), UNKNOWN: (0, 1), 2: (0, 0), 47: (0, 0)}
    del offer[3]
    lines = list(script_lines(broker, offer))
    assert (lines[0], lines[-1]) == ("a:9092 (id: 1 rack: r isFenced: false) -> (", ")")
    assert "\tFetch(1): 90 to 99 [unusable: node too new]," in lines
    assert "\tListOffsets(2): 0 [unusable: node too old]," in lines
    assert "\tMetadata(3): UNSUPPORTED," in lines
    assert "\tOffsetDelete(47): 0 [usable: 0]," in lines
    assert lines[-2] == "\tUNKNOWN(30000): 0 to 1"
