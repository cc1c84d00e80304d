"""What once provoked something it should not have, again. A file is named TARGET.WHAT-IT-PROVOKED."""

from pathlib import Path

import pytest

from tests.hostile.families import target_named
from tests.hostile.harness import Memory, Watch, alarm

pytestmark = pytest.mark.case("R12", "X8")

CORPUS = Path(__file__).parent / "corpus"


@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_the_corpus_provokes_nothing_any_more(path: Path) -> None:
    family, target = target_named(path.name.partition(".")[0])
    data = path.read_bytes()
    memory = Memory()
    with alarm() as arm:
        assert Watch(arm, memory).judge(target, data, family.spare, path.name) is None
    memory.close()
