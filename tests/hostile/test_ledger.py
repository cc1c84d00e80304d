"""A campaign goes on where it was stopped, and says what is left: each input is judged once under the same code."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.hostile import __main__ as fuzz
from tests.hostile.ledger import Ledger, Piece

pytestmark = pytest.mark.case("R12")
COMMAND = ["--inputs", "120000", "--seed", "3", "--clients", "--remember"]
PLACES = [("parsers", 0, 50_000), ("clients", 0, 500), ("parsers", 50_000, 100_000), ("clients", 500, 1_000),
          ("parsers", 100_000, 120_000), ("clients", 1_000, 1_200)]  # fmt: skip


class Campaign:
    """In place of judging: the pieces that came, and what is wrong with one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.came: list[tuple[str, int, int]] = []
        self.stop_at, self.finding = -1, ""
        monkeypatch.setattr(fuzz, "FOUND", folder)
        monkeypatch.setattr(fuzz, "_judged", self.judge)

    def judge(self, piece: Piece, _given: object) -> Piece:
        if len(self.came) == self.stop_at:
            raise KeyboardInterrupt
        self.came.append((piece.what.partition(":")[0], piece.first, piece.last))
        return replace(piece, refused=1, findings=[self.finding] if self.finding else [])


@pytest.fixture
def campaign(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Campaign:
    return Campaign(monkeypatch, tmp_path)


def test_it_goes_on_where_it_was_stopped(campaign: Campaign, capsys: pytest.CaptureFixture[str]) -> None:
    campaign.stop_at = 3
    assert fuzz.main(COMMAND) == fuzz.LEFT
    assert "100,500 inputs (seed 3), 3 refused, 0 findings\n20,700 inputs are left" in capsys.readouterr().out
    campaign.stop_at = -1
    assert fuzz.main(COMMAND) == 0
    assert campaign.came == PLACES
    assert fuzz.main(COMMAND) == 0
    assert campaign.came == PLACES


def test_it_begins_nothing_after_its_time(campaign: Campaign) -> None:
    assert fuzz.main([*COMMAND, "--minutes", "-1"]) == fuzz.LEFT
    assert not campaign.came


def test_findings_are_told_again_and_keep_it_red(
    campaign: Campaign, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign.finding = "a hang"
    assert fuzz.main(COMMAND) == 1
    campaign.finding = ""
    assert fuzz.main(COMMAND) == 1
    assert capsys.readouterr().out.count("a hang") == 12


def test_under_other_code_everything_is_judged_again(
    campaign: Campaign, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fuzz.main(COMMAND) == 0
    monkeypatch.setattr(fuzz, "state_of", lambda _: "other")
    assert fuzz.main(COMMAND) == 0
    assert campaign.came == PLACES + PLACES
    assert "under earlier code: 121,200 inputs, 0 findings" in capsys.readouterr().out


def test_what_follows_decides_too(campaign: Campaign) -> None:
    for code, expected in ((0, 0), (fuzz.LEFT, fuzz.LEFT), (2, 1)):
        assert fuzz.main([*COMMAND, "--", "sh", "-c", f"exit {code}"]) == expected


def test_a_line_that_a_stop_cut_off_is_no_piece(tmp_path: Path) -> None:
    file = tmp_path / "ledger"
    Ledger(file, "code").add(Piece("clients", 0, 10, "code"))
    file.write_text(file.read_text() + '{"what": "clients", "first": 10')
    assert [piece.place for piece in Ledger(file, "code").pieces] == [("clients", 0, 10)]


def test_pieces_have_the_inputs_of_one_run_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the shares of the two implementations round to."""
    ranges: list[tuple[str, int, int]] = []
    monkeypatch.setattr(
        fuzz,
        "_tend",
        lambda workers, _jobs: ranges.extend((w.implementation, w.first, w.stop) for w in workers),
    )
    for after in range(0, 1_001, 77):
        fuzz.campaign(min(77, 1_001 - after), 1, ("pure", "native"), after=after)
    for implementation in ("pure", "native"):
        own = [
            index for name, first, stop in ranges if name == implementation for index in range(first, stop)
        ]
        assert own == list(range(len(own)))
        assert len(own) > 100
