"""What a shell asks ``kcli __complete``: kind, prefix, and which cluster the line means."""

import pytest

from kcli.cli import cli
from kcli.commands.complete import request_of
from kcli.commands.shared.global_values import ClusterWords, cluster_words
from kcli.docgen.describe import walk

BREAKS = " \t\n\"'@><=;|&(:"
NOTHING = ClusterWords(None, (), (), None)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("kcli groups lag", NOTHING),
        ("kcli -b h:1 groups lag", ClusterWords("h:1", (), (), None)),
        ("kcli groups lag -b h:1 -b h:2", ClusterWords("h:2", (), (), None)),
        ("kcli --bootstrap-server=h:1", ClusterWords("h:1", (), (), None)),
        ("kcli --brokers h:1 --bootstrap-servers h:2", ClusterWords("h:2", (), (), None)),
        ("kcli -bh:1 -Fx -F y", ClusterWords("h:1", ("x", "y"), (), None)),
        ("kcli -qvX a=b --command-property c=d", ClusterWords(None, (), ("a=b", "c=d"), None)),
        ("kcli --client-id me --command-config=f", ClusterWords(None, ("f",), (), "me")),
        ("kcli consume -- -b h:1", NOTHING),
        ("kcli --bootstrap-serve h:1 -n 5 -", NOTHING),
        ("kcli -b", None),
    ],
)
def test_words_that_name_the_cluster(line: str, said: ClusterWords | None) -> None:
    assert cluster_words(line.split()) == said


def test_a_value_that_only_the_shell_knows_is_not_guessed() -> None:
    assert cluster_words(["kcli", "-b", None]) is None
    assert cluster_words(["kcli", None, "-b", "h:1"]) == ClusterWords("h:1", (), (), None)


def test_bash_hands_over_the_line() -> None:
    request = request_of(["groups", "bash", "kcli -b 'h:1' groups lag --topic=x ns:o", BREAKS], {})
    assert request is not None
    assert (request.kind, request.prefix, request.cluster.bootstrap_server) == ("groups", "ns:o", "h:1")
    assert request.render("ns:o'ne") == "o\\'ne"


def test_zsh_hands_over_words_as_they_were_typed() -> None:
    request = request_of(["topics", "zsh", "my 'pre", "kcli", "-b", '"$B"', "consume"], {"B": "h:1"})
    assert request is not None
    assert (request.prefix, request.cluster.bootstrap_server) == ("my 'pre", "h:1")
    assert request.render("any $name") == "any $name"
    assert request_of(["topics", "zsh", "", "kcli", "-b", "$(cat b)"], {}) is None


def test_fish_hands_over_words_without_quotes() -> None:
    request = request_of(["topics", "fish", "--topic='my or", "kcli", "-X", "a=$b"], {"b": "x"})
    assert request is not None
    assert (request.prefix, request.cluster.command_property) == ("my or", ("a=$b",))


def test_other_things_have_no_names() -> None:
    assert request_of(["brokers", "zsh", "", "kcli"], {}) is None
    assert request_of(["groups", "bash", "kcli groups lag $(x", BREAKS], {}) is None


def test_every_name_of_a_group_or_a_topic_is_completed() -> None:
    """But for new names, and those in files."""
    missing = {
        f"{' '.join(doc.path[1:])} {metavar}"
        for doc in walk(cli, "kcli")
        for one, metavar in (
            *((option, option.metavar) for option in doc.own_options),
            *((argument, argument.shown) for argument in doc.arguments),
        )
        if metavar.strip("[]…").split("|")[0] in ("GROUP", "TOPIC") and not one.completes
    }
    assert missing == {"topics create TOPIC…"}
