"""Origins: which rows of a call a batch's records are, also when the batch is cut."""

from hypothesis import given
from hypothesis import strategies as st

from kcli.core.producer.origins import OriginRows, listed_rows, packed_rows, part_of, shifted
from tests.unit.core.producer.rows import each_row


def origins_of(groups: list[list[int]]) -> list[OriginRows]:
    found, first = [], 0
    for number, rows in enumerate(groups):
        found.append(OriginRows(first, number, listed_rows(rows)))
        first += len(rows)
    return found


def test_dense_rows_are_a_range_and_others_are_packed() -> None:
    assert listed_rows([3, 4, 5]) == range(3, 6)
    assert list(listed_rows([1, 4, 9])) == [1, 4, 9]
    assert list(packed_rows((7).to_bytes(4, "little") + (9).to_bytes(4, "little"))) == [7, 9]


def test_rows_are_counted_from_another_beginning() -> None:
    assert shifted(range(2), 5) == range(5, 7)
    assert list(shifted(listed_rows([0, 2]), 5)) == [5, 7]
    assert shifted(range(2), 0) == range(2)


@given(
    st.lists(st.lists(st.integers(0, 1000), min_size=1, max_size=6, unique=True).map(sorted), max_size=6),
    st.data(),
)
def test_the_parts_of_a_batch_have_the_rows_that_the_whole_had(
    groups: list[list[int]], data: st.DataObject
) -> None:
    origins = origins_of(groups)
    whole = list(each_row(origins))
    assert whole == [(number, row) for number, rows in enumerate(groups) for row in rows]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=3)))
    found = []
    for start, stop in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        part = part_of(origins, start, stop - start)
        at = 0
        for origin in part:
            assert origin.first == at
            at += len(origin.rows)
        found += list(each_row(part))
    assert found == whole


def test_records_without_an_origin_leave_gaps() -> None:
    origins = [OriginRows(2, "a", range(2)), OriginRows(10, "b", range(5))]
    assert part_of(origins, 0, 2) == []
    assert part_of(origins, 3, 8) == [OriginRows(0, "a", range(1, 2)), OriginRows(7, "b", range(1))]
