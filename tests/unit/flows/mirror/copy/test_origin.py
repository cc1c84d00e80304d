"""Headers with the origin of a record."""

import pytest

from kcli.core.kernels.active import decode_headers, encode_headers
from kcli.core.types import Header, TopicPartition
from kcli.flows.mirror.copy.origin import was_on, with_origin

TP = TopicPartition("orders", 3)


@pytest.mark.parametrize("headers", [(), (("a", b"1"), ("a", None)), (("kcli-origin", b"old/t/0/5"),)])
def test_the_origin_is_added_behind_the_other_headers(headers: tuple[Header, ...]) -> None:
    row = with_origin((b"k", None, encode_headers(headers), 7), "cluster", TP, 42)
    assert row[:2] == (b"k", None)
    assert row[3] == 7
    assert decode_headers(row[2], 0, len(row[2])) == (*headers, ("kcli-origin", b"cluster/orders/3/42"))


@pytest.mark.parametrize(
    ("headers", "was"),
    [
        ((), False),
        ((("kcli-origin", b"a/t/0/1"),), True),
        ((("kcli-origin", b"ab/t/0/1"),), False),
        ((("kcli-origin", b"b/t/0/1"), ("kcli-origin", b"a/u/0/1")), True),
        ((("other", b"kcli-origin"), ("x", b"a/t/0/1")), False),
        ((("kcli-origin", None),), False),
    ],
)
def test_a_record_that_was_on_a_cluster_is_recognised(headers: tuple[Header, ...], was: bool) -> None:
    assert was_on((None, None, encode_headers(headers), 0), "a") is was
