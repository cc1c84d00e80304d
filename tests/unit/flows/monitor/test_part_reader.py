"""Parts of a reading: each has its errors, is kept for a while, and waits for none that is late."""

from collections.abc import Sequence

from kcli.core.errors import KcliError, TimedOutError, UnsupportedError
from kcli.flows.monitor.part_reader import PartReader


class World:
    """A clock by hand, and something to be read."""

    def __init__(self) -> None:
        self.now = 100.0
        self.asked = 0
        self.errors: Sequence[KcliError] = ()
        self.raised: KcliError | None = None
        self.reader = PartReader(lambda: self.now)

    def ask(self) -> tuple[object, Sequence[KcliError]]:
        self.asked += 1
        if self.raised is not None:
            raise self.raised
        return self.asked, self.errors

    def read(self, kept: float = 0.0, until: float = 1e9, of: object = None) -> object:
        self.last = self.reader.read("it", self.ask, until, kept=kept, of=of)
        return self.last.value


def test_it_is_kept_for_as_long_as_it_may_be_and_asked_again_about_something_else() -> None:
    world = World()
    found = [world.read(300)]
    world.now += 299
    found.append(world.read(300))
    found.append(world.read(300, of="other"))
    world.now += 300
    found.append(world.read(300, of="other"))
    assert found == [1, 1, 2, 3]
    assert [world.read(), world.read()] == [4, 5]


def test_what_was_not_whole_is_asked_again_sooner() -> None:
    world = World()
    world.errors = [KcliError("a part is away")]
    assert world.read(300) == 1
    world.now += 59
    assert world.read(300) == 1
    assert list(world.last.errors) == list(world.errors)
    world.now += 1
    assert world.read(300) == 2


def test_an_error_is_its_own_and_what_brokers_do_not_have_is_none() -> None:
    world = World()
    world.raised = KcliError("no")
    assert world.read() is None
    assert list(world.last.errors) == [world.raised]
    assert world.last.absent is None
    world.raised = UnsupportedError("quorum", why="this cluster has none")
    assert world.read() is None
    assert (list(world.last.errors), world.last.absent) == ([], world.raised)


def test_nothing_is_asked_when_the_time_is_up() -> None:
    world = World()
    assert world.read(until=100.0) is None
    assert world.asked == 0
    assert isinstance(world.last.errors[0], TimedOutError)
