"""Lines of other tools, word by word."""

import pytest

from kcli.commands.shared.foreign_lines import of_cluster, of_kcat, of_script, of_words


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "kafka-topics.sh --describe --topic orders --under-replicated-partitions",
            "kcli topics describe orders --under-replicated",
        ),
        ("kafka-topics.bat --bootstrap-server=h:1 --list", "kcli topics list -b h:1"),
        (
            "kafka-configs --alter --entity-type topics --entity-name t --add-config a=1,b=[x,y]",
            "kcli configs alter topics t --set a=1 --set 'b=[x,y]'",
        ),
        (
            "kafka-configs --alter --entity-type users --entity-name al --add-config SCRAM-SHA-512=[password=x]",
            "kcli users set al",
        ),
        (
            "kafka-console-consumer.sh --include o.* --timeout-ms 500",
            "kcli consume '^o.*' --idle-timeout 500ms",
        ),
        (
            "kafka-acls --add --deny-principal User:a --topic t",
            "kcli acls create --deny --principal User:a --topic t",
        ),
        ("kafka-storage.sh format", ""),
    ],
)
def test_scripts(line: str, said: str) -> None:
    name, *words = line.split()
    found = of_script(name, words)
    assert found is not None
    assert found.line == said


def test_what_has_no_counterpart_is_named_once() -> None:
    found = of_script(
        "kafka-topics.sh", ["--create", "--topic", "a", "--if-exists", "--frob", "x", "--if-exists"]
    )
    assert found is not None
    assert found.lacking == ("--if-exists", "--frob")
    assert of_script("kafka-frob.sh", []) is None


@pytest.mark.parametrize(
    ("mode", "line", "said"),
    [
        ("-L", "-L -t orders", "kcli topics describe orders"),
        ("-L", "-L -J", "kcli cluster describe -o json"),
        ("-C", "-b h -t orders -eC -c5", "kcli consume orders -b h -e -n 5"),
        ("-C", "-C -t t -o s@17 -o e@18", "kcli consume t --since 17 --until 18"),
        ("-C", "-C -t t -o -5", "kcli consume t --offset -5"),
        ("-G", "-G billing a", "kcli consume a -g billing"),
        ("-P", "-P -t t -p -1 -Z", "kcli produce t --partitioner random -Z"),
        ("-Q", "-Q -t t:0:-1", "kcli topics offsets t"),
    ],
)
def test_kcat(mode: str, line: str, said: str) -> None:
    assert of_kcat(mode, line.split()).line == said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ping", "kcli doctor"),
        ("describe topic orders", "kcli topics describe orders"),
        (
            "clone topic a b",
            "kcli mirror --from HOST:PORT --to HOST:PORT -t a --map-topic a=b --until-caught-up",
        ),
        ("clone consumer-group a b", "kcli groups copy a b"),
        ("cp a b", "kcli mirror --from HOST:PORT --to HOST:PORT -t a --map-topic a=b --until-caught-up"),
        (
            "security acl create --allow-principal User:a --topic t",
            "kcli acls create --principal User:a --topic t",
        ),
        ("ctx use prod", "kcli profile use prod"),
        ("count orders", "kcli consume orders --count"),
    ],
)
def test_words(line: str, said: str) -> None:
    name, *words = line.split()
    found = of_words(name, words)
    assert found is not None
    assert found.line == said


def test_what_is_a_name_of_no_tool_is_not_translated() -> None:
    assert of_words("frobnicate", ["topics"]) is None
    assert of_cluster("frobnicate", []) is None
    found = of_cluster("quotas", ["alter", "--name", "user=a", "--add", "x=1"])
    assert found is not None
    assert found.line == "kcli quotas alter --user a --set x=1"
