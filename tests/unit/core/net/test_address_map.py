"""``map.address``: which entry is for a broker, where it leads, and what is no entry."""

import pytest

from kcli.core.errors import ConfigError
from kcli.core.net.address_map import AddressMap

LONG = "b-1:9092=localhost:19092, b-2:9092=[::1]:19093,*.internal=10.0.0.1,[fe80::1]:9092=localhost:1,*:9093=:19093"


@pytest.mark.parametrize(
    ("text", "host", "port", "target"),
    [
        (LONG, "b-1", 9092, ("localhost", 19092)),
        (LONG, "B-1", 9092, ("localhost", 19092)),
        (LONG, "b-1", 9094, None),
        (LONG, "b-2", 9092, ("::1", 19093)),
        (LONG, "x.internal", 9092, ("10.0.0.1", 9092)),
        (LONG, "internal", 9092, None),
        (LONG, "fe80::1", 9092, ("localhost", 1)),
        (LONG, "any", 9093, ("any", 19093)),
        ("b:1=first,b:1=second", "b", 1, ("first", 1)),
        ("*:*=gateway:9000", "b", 1, ("gateway", 9000)),
        ("*=gateway", "b", 1, ("gateway", 1)),
        ("b-?:9092=localhost:1", "b-7", 9092, ("localhost", 1)),
        ("", "b", 1, None),
    ],
)
def test_the_first_entry_for_a_broker_counts(text: str, host: str, port: int, target: object) -> None:
    assert AddressMap(text).target(host, port) == target


@pytest.mark.parametrize(
    "text",
    ["b:9092", "b=", "=", "b:0=c:1", "b:70000=c:1", "b:x=c:1", "b=c:*", "b=*:1", "b=c=d", "b c=d", "a@b=c",
        "::1:9092=c:1", "http://b=c"],
)  # fmt: skip
def test_what_maps_no_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="maps no address") as raised:
        AddressMap(f"good:1=better:2,{text}")
    assert "b-1:9092=localhost:19092" in raised.value.do
