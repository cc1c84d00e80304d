"""A stop that is requested ends a decompression in its thread, and in no other."""

from threading import Thread

import pytest

from kcli.core.codecs.compression import compress, decompress
from kcli.core.codecs.decompress import stop_requested
from kcli.core.errors import StoppedError
from kcli.flows.stop import Stop

pytestmark = pytest.mark.case("X6")
LARGE = bytes(9 << 20)


@pytest.mark.parametrize("codec", [1, 3, 4])
def test_a_stop_ends_a_decompression(codec: int) -> None:
    packed = compress(codec, LARGE)
    with Stop() as stop:
        assert decompress(codec, packed) == LARGE
        stop.request()
        with pytest.raises(StoppedError):
            decompress(codec, packed)
    assert decompress(codec, packed) == LARGE


def test_a_small_batch_is_decompressed_in_one_step_all_the_same() -> None:
    """The markers of transactions, which a poll opens, are among them."""
    with Stop() as stop:
        stop.request()
        assert decompress(4, compress(4, bytes(1000))) == bytes(1000)


def test_other_threads_are_not_stopped() -> None:
    done: list[int] = []
    packed = compress(4, LARGE)
    with Stop() as stop:
        stop.request()
        thread = Thread(target=lambda: done.append(len(decompress(4, packed))))
        thread.start()
        thread.join()
    assert done == [len(LARGE)]


def test_the_outer_of_two_stops_is_in_force_again_after_the_inner_one() -> None:
    with Stop() as outer:
        with Stop() as inner:
            inner.request()
        assert not stop_requested.get()()
        outer.request()
        assert stop_requested.get()()
    assert not stop_requested.get()()
