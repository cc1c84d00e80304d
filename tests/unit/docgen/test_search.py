"""What `kcli help WORDS` and `kcli help --search` find."""

import pytest

from kcli.cli import cli
from kcli.docgen.describe import walk
from kcli.docgen.search import search, tasks_with
from kcli.docgen.tasks import TASKS, all_tasks
from kcli.docgen.topics import CONCEPTS

DOCS = list(walk(cli, "kcli"))


def titles(*words: str) -> list[str]:
    return [task.title for task in tasks_with(words)]


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("skip a poison message", "skip a poison message"),
        ("who reads this topic", "see who reads and who writes this topic"),
        ("who writes", "see who reads and who writes this topic"),
        ("why is it slow", "find out why a group is behind, slow or stuck"),
        ("why is a group behind", "find out why a group is behind, slow or stuck"),
        ("may alice read", "see whether a user may read a topic"),
        ("a producer app", "let an application write to a topic"),
        ("copy a topic", "copy a topic to a new name"),
        ("logger", "change the log level of a broker"),
        ("log level", "change the log level of a broker"),
        ("tokens", "give a job a delegation token instead of a password"),
        ("csv file", "send a csv file as JSON objects"),
        ("count the records", "count records"),
        ("How do I delete a topic?", "delete a topic"),
        ("replay yesterday", "let a group read the last hour again"),
        ("BENCHMARK", "measure how fast a cluster is"),
        ("back up", "keep the records of a topic in a file"),
    ],
)
def test_a_task_is_found_by_the_words_of_a_question(asked: str, title: str) -> None:
    assert title in titles(*asked.split())
    assert titles(asked) == titles(*asked.split())


@pytest.mark.parametrize("title", [task.title for task in all_tasks()])
def test_a_title_finds_its_task_alone(title: str) -> None:
    assert titles(title) == [title]


def test_all_words_have_to_be_there_and_begin_a_word() -> None:
    assert titles("poison", "retention") == []
    assert titles("oison") == []
    assert titles("pois") == ["skip a poison message"]


def test_words_that_say_nothing_are_searched_where_there_are_no_others() -> None:
    assert len(titles("the", "poison")) == 1
    assert 0 < len(titles("why")) < 10


def test_no_question_with_letters_finds_everything() -> None:
    assert len(titles("orders")) < len(list(all_tasks()))
    assert titles("?!") == [task.title for task in all_tasks()]


def test_a_search_finds_each_kind() -> None:
    found = search(["rebalance"], DOCS)
    assert [task.title for task in found.tasks] == ["find out why a group is behind, slow or stuck"]
    found = search(["murmur2"], DOCS)
    assert [term for term, _ in found.options] == ["kcli produce --partitioner"]
    found = search(["jmespath"], DOCS)
    assert ("kcli help filters", CONCEPTS["filters"]) in found.concepts
    found = search(["unclean"], DOCS)
    assert "kcli elect-leaders --unclean" in [term for term, _ in found.options]


def test_an_option_of_all_commands_is_found_once() -> None:
    terms = [term for term, _ in search(["--dry-run"], DOCS).options]
    assert terms.count("kcli --dry-run") == 1
    assert "kcli topics trim --dry-run" not in terms


def test_there_are_tasks_for_every_part() -> None:
    assert len(list(all_tasks())) >= 40
    assert all(1 <= len(task.lines) <= 4 for task in all_tasks())
    assert all(len(tasks) > 2 for tasks in TASKS.values())
    every = [task.title for task in all_tasks()]
    assert len(set(every)) == len(every)
