"""The judge itself: finds every seeded defect, accuses no clean history (goal R25)."""

import io
import random

import pytest

from tests.chaos.checker import VERDICTS, Read, check
from tests.chaos.defects import DEFECTS, prove_the_judge
from tests.chaos.ledger import Ledger, LedgerWriter, read_ledger
from tests.chaos.payload import Payload, RecordId, decode

RUN = b"run-0001"


def history(seed: int, records: int = 200) -> tuple[Ledger, list[Read]]:
    """Two senders, two topics, three partitions, everything acked where it stands."""
    rng = random.Random(seed)
    ledger, reads = Ledger(), list[Read]()
    offsets: dict[tuple[str, int], int] = {}
    numbers: dict[tuple[int, str, int], int] = {}
    for _ in range(records):
        producer, topic, partition = rng.randrange(2), rng.choice(("a", "b")), rng.randrange(3)
        number = numbers.get((producer, topic, partition), 0)
        numbers[producer, topic, partition] = number + 1
        offset = offsets.get((topic, partition), 0)
        offsets[topic, partition] = offset + rng.choice((1, 1, 2))  # markers leave gaps
        one = RecordId(producer, topic, partition, number)
        ledger.sent[one] = None
        ledger.acked[one] = offset
        value = Payload(RUN, one, 0).encode(rng.randrange(200), rng)
        reads.append(Read(topic, partition, offset, value))
    return ledger, reads


@pytest.mark.case("R25")
@pytest.mark.parametrize("seed", range(50))
def test_a_clean_history_is_not_accused(seed: int) -> None:
    ledger, reads = history(seed)
    assert check(ledger, RUN, reads) == {}


@pytest.mark.case("R25")
@pytest.mark.parametrize("seed", range(50))
def test_each_of_the_six_defects_is_found(seed: int) -> None:
    ledger, reads = history(seed)
    prove_the_judge(ledger, RUN, reads, seed)


def test_the_defects_are_the_six_of_the_plan() -> None:
    assert len(DEFECTS) == 6
    assert set(DEFECTS) <= set(VERDICTS)


def test_a_record_of_another_run_is_a_phantom() -> None:
    ledger, reads = history(1)
    one = next(iter(ledger.sent))
    stranger = Payload(b"run-0002", one, 0).encode()
    assert check(ledger, RUN, [*reads, Read("a", 0, 10_000, stranger)]) == {"phantom": 1}


def test_an_acked_offset_that_holds_another_record() -> None:
    ledger, reads = history(2)
    one = next(iter(ledger.acked))
    ledger.acked[one] += 100_000
    assert check(ledger, RUN, reads) == {"ack_mismatch": 1}


def test_unconfirmed_records_are_unknown_and_may_be_stored() -> None:
    ledger, reads = history(3)
    del ledger.acked[next(iter(ledger.acked))]
    assert check(ledger, RUN, reads) == {"unknown": 1}


def test_a_failed_record_may_be_there_or_not() -> None:
    ledger, reads = history(4)
    one = next(iter(ledger.acked))
    del ledger.acked[one]
    ledger.failed[one] = "not confirmed in time"
    assert check(ledger, RUN, reads) == {}
    gone = [read for read in reads if (p := decode(read.value)) is None or p.id != one]
    assert check(ledger, RUN, gone) == {}


def test_the_ledger_survives_a_pipe_and_a_cut() -> None:
    stream = io.StringIO()
    writer = LedgerWriter(stream)
    first, second = RecordId(1, "t", 0, 0), RecordId(1, "t", 0, 1)
    writer.sent(first)
    writer.acked(first, 7)
    writer.sent(second)
    writer.failed(second, "too\nlarge")
    lines = stream.getvalue().splitlines(keepends=True)
    ledger = read_ledger([*lines, "A\t1\tt"])
    assert (ledger.acked, ledger.failed, ledger.unknown) == ({first: 7}, {second: "too large"}, [])
