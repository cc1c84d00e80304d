"""Which names are offered."""

from kcli.flows.completion.names_file import LONGEST, MOST, offered


def test_names_that_begin_so_sorted_and_once() -> None:
    assert offered(["b2", "a", "b1", "b2"], "b") == ["b1", "b2"]


def test_the_clusters_own_names_only_when_their_first_character_was_typed() -> None:
    names = ["orders", "_mine", "__consumer_offsets"]
    assert offered(names, "", hide="__") == ["_mine", "orders"]
    assert offered(names, "_", hide="__") == ["__consumer_offsets", "_mine"]
    assert offered(names, "__c", hide="__") == ["__consumer_offsets"]
    assert offered(names, "", hide="") == ["__consumer_offsets", "_mine", "orders"]


def test_names_like_options_only_when_the_dash_was_typed() -> None:
    assert offered(["-x", "x"], "") == ["x"]
    assert offered(["-x", "x"], "-") == ["-x"]


def test_names_that_would_act_on_the_terminal_are_left_out() -> None:
    bad = [
        "a\nb",
        "a\tb",
        "a\x1b[31m",
        "a\x9b",
        "a\u202eb",
        "a\u200bb",
        "a\0b",
        "",
        "a" * (LONGEST + 1),
        "a\udc80",
    ]
    assert offered([*bad, "a b", "aé", "a" * LONGEST], "") == ["a b", "a" * LONGEST, "aé"]


def test_of_very_many_some_are_offered_that_begin_with_no_more_than_all() -> None:
    names = [f"{letter}-{number}" for letter in "abz" for number in range(20_000)]
    found = offered(names, "")
    assert len(found) == MOST
    assert found == sorted(found)
    assert found[-1] == "z-9999"
    assert offered(names, "b")[-1] == "b-9999"
    assert len(offered([f"a{n}" for n in range(MOST)], "")) == MOST
