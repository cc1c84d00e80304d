"""Permissions on a real Kafka: what is missing is named with a command, and once that has run, the rest works (S7).

For each kind of resource and operation: alice's command fails with 4, the admin runs the command that the error prints
(with alice's name in place of NAME), and the same command of alice's is repeated until it succeeds.
"""

import json
import re
import shlex
from pathlib import Path

import pytest

from kcli.profiles.properties import parse_properties
from tests.integration.kafka_script import secure_acls
from tests.run import kcli
from tests.secure_kafka import SecureKafka, unused_name

pytestmark = [pytest.mark.integration, pytest.mark.case("S7")]

GRANT = re.compile(r"have it granted: `(kcli acls create --principal User:NAME [^`\n]*)`")

LINES: dict[str, tuple[str, list[str]]] = {
    "describe a topic": ("topics offsets T", ["describe --topic T"]),
    "read a topic": ("consume T -e", ["describe --topic T", "read --topic T"]),
    "write to a topic": ("produce T FILE", ["describe --topic T", "write --topic T"]),
    "write without a producer id": (
        "produce T FILE --no-idempotent",
        ["describe --topic T", "write --topic T"],
    ),
    "create a topic": ("topics create NEW", ["create --topic NEW"]),
    "delete a topic": ("topics delete T --yes", ["describe --topic T", "delete --topic T"]),
    "delete records": ("topics trim T --before 1 --yes", ["describe --topic T", "delete --topic T"]),
    "add partitions": (
        "topics alter T --partitions 2 --yes",
        ["describe --topic T", "alter --topic T"],
    ),
    "configuration of a topic": ("configs describe topics T", ["describe_configs --topic T"]),
    "configure a topic": (
        "topics alter T --set retention.ms=-1 --yes",
        ["describe --topic T", "describe_configs --topic T", "alter_configs --topic T"],
    ),
    "describe a group": ("groups describe G", ["describe --group G"]),
    "read in a group": ("consume OPEN -e -g G", ["describe --group G", "read --group G"]),
    "rewind a group": (
        "groups rewind G --topic OPEN --to earliest --yes",
        ["describe --group G", "read --group G"],
    ),
    "read in a group of the new protocol": (
        "consume OPEN -e -g NEW -X group.protocol=consumer",
        ["describe --group NEW", "read --group NEW"],
    ),
    "delete offsets": (
        "groups delete-offsets G --topic OPEN --yes",
        ["describe --group G", "delete --group G"],
    ),
    "delete a group": ("groups delete G --yes", ["describe --group G", "delete --group G"]),
    "a transactional id": ("produce OPEN FILE --transactional-id X", ["write --transactional-id X"]),
    "describe the cluster": ("cluster describe", ["describe --cluster"]),
    "configuration of a broker": ("configs describe brokers 1", ["describe_configs --cluster"]),
    "configure a broker": (
        "configs alter brokers 1 --set log.cleaner.threads=1 --yes",
        ["describe_configs --cluster", "alter_configs --cluster"],
    ),
    "quotas": (
        "quotas alter --user QUOTA --set consumer_byte_rate=1MB --yes",
        ["describe_configs --cluster", "alter_configs --cluster"],
    ),
    "describe ACLs": ("acls list", ["describe --cluster"]),
    "reassignments": ("reassign status", ["describe --cluster"]),
    "users": ("users list", ["describe --cluster"]),
}


@pytest.mark.parametrize("name", LINES)
def test_the_command_that_an_error_prints_grants_what_was_missing(
    secure_kafka: SecureKafka, name: str, tmp_path: Path
) -> None:
    line, expected = LINES[name]
    user, file = secure_kafka.new_user(tmp_path)
    if "OPEN" in line:
        open_topic = secure_kafka.open_topic
        secure_kafka.grant(user, ("TOPIC", open_topic, "READ"), ("TOPIC", open_topic, "WRITE"))
    words = {"T": secure_kafka.topic(), "OPEN": secure_kafka.open_topic, "QUOTA": unused_name("quota")}
    words |= {word: unused_name(word.lower()) for word in ("NEW", "G", "X")}
    secure_kafka.fill(words["T"], [b"1", b"2"])
    if name == "create a topic":  # which is confirmed by what brokers show
        secure_kafka.grant(user, ("TOPIC", words["NEW"], "DESCRIBE"))
    if "groups" in line:
        made = kcli(
            "consume", words["OPEN"], "-e", "-g", words["G"], "-F", secure_kafka.file("admin-certificate")
        )
        assert made.code == 0, made
    (tmp_path / "records").write_text("1\n")
    words["FILE"] = str(tmp_path / "records")

    def named(text: str) -> list[str]:
        return [words.get(word, word) for word in text.split()]

    granted = []
    while (done := kcli(*named(line), "-F", file)).code and len(granted) < len(expected):
        assert done.code == (6 if line == "cluster describe" else 4), done  # the rest of it is shown
        found = GRANT.search(done.err)
        assert found, done.err
        granted.append(found[1].strip().partition(" --operation ")[2])
        command = shlex.split(found[1].replace("User:NAME", f"User:{user}"))[1:]
        admin = kcli(*command, "--yes", "-F", secure_kafka.file("admin-certificate"))
        assert admin.code == 0, admin
    assert done.code == 0, done
    assert granted == [" ".join(named(each)) for each in expected]


@pytest.mark.case("M18")
def test_a_mirror_lists_what_is_missing_for_all_its_topics_at_once(
    secure_kafka: SecureKafka, tmp_path: Path
) -> None:
    """To topics that do not exist yet: what may be done with their names is known before."""
    user, file = secure_kafka.new_user(tmp_path)
    names = sorted(secure_kafka.topic() for _ in range(3))
    hidden, closed, open_ = names
    prefix = unused_name("copy")
    secure_kafka.grant(user, ("TOPIC", closed, "DESCRIBE"), ("TOPIC", open_, "READ"))
    admin = ("--principal", f"User:{user}", "--yes", "-F", secure_kafka.file("admin-certificate"))
    written = ("--operation", "create", "--operation", "write", "--topic", prefix, "--pattern", "prefixed")
    assert kcli("acls", "create", *written, *admin).code == 0
    (tmp_path / "kcli").mkdir()
    values = parse_properties(Path(file).read_text(), file).pairs
    profile = "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value, _origin in values)
    (tmp_path / "kcli" / "config.toml").write_text(f"[profiles.user]\n{profile}")
    line = ["mirror", "--from", "user", "--to", "user", "--until-caught-up", "-o", "json"]
    for name in names:
        line += ["-t", name, "--map-topic", f"{name}={prefix}-{name}"]
    done = kcli(*line, XDG_CONFIG_HOME=str(tmp_path))
    assert done.code == 4, done
    error = json.loads(done.err.splitlines()[-1])
    missing = [f"READ on topic {name} of the source" for name in (hidden, closed)]
    missing += [f"{one} on topic __kcli_mirror of the target" for one in ("READ", "WRITE")]
    why = error["why"].split("; ")
    assert (error["what"], why[:4]) == ("6 permissions missing", missing)
    assert why[4].startswith("READ on group __kcli.lease.default.")
    assert why[5].startswith("WRITE on transactional id kcli-mirror-default.")


def test_presets_create_what_kafka_acls_creates(secure_kafka: SecureKafka) -> None:
    admin = ("-F", secure_kafka.file("admin-certificate"))
    for words in (
        ("--producer", "--topic", "t", "--transactional-id", "x"),
        ("--consumer", "--topic", "t", "--group", "g", "PATTERN", "prefixed"),
        ("--producer", "--consumer", "--topic", "t", "--group", "g"),
    ):
        theirs, ours = unused_name("user"), unused_name("user")
        pattern = {"PATTERN": "--resource-pattern-type"}
        named = (pattern.get(word, word) for word in words)
        done = secure_acls(secure_kafka, "--add", "--allow-principal", f"User:{theirs}", *named)
        assert done.returncode == 0, done
        pattern = {"PATTERN": "--pattern"}
        mine = (pattern.get(word, word) for word in words)
        made = kcli("acls", "create", "--principal", f"User:{ours}", *mine, "--yes", *admin)
        assert made.code == 0, made
        found = {}
        for user in (theirs, ours):
            done = kcli("acls", "list", "--principal", f"User:{user}", "-o", "json", *admin)
            rows = json.loads(done.out)["items"]
            found[user] = sorted(str(row).replace(user, "") for row in rows)
        assert found[theirs] == found[ours]
        assert found[ours]


@pytest.mark.case("M18")
@pytest.mark.parametrize("way", [(), ("--exactly-once",)], ids=["at least once", "exactly once"])
def test_presets_are_all_that_a_mirror_needs(
    secure_kafka: SecureKafka, tmp_path: Path, way: tuple[str, ...]
) -> None:
    """One cluster that is source and target, with topics of different names: each has its own preset."""
    user, file = secure_kafka.new_user(tmp_path)
    source, group = secure_kafka.topic("src", partitions=2), unused_name("group")
    target = unused_name("copy")
    secure_kafka.fill(source, [b"1", b"2"])
    reader = ("-g", group, "-F", secure_kafka.file("admin-certificate"))
    assert kcli("consume", source, "-e", *reader).code == 0
    admin = ("--principal", f"User:{user}", "--yes", "-F", secure_kafka.file("admin-certificate"))
    for words in (("--mirror", "source", "--topic", source), ("--mirror", "target", "--topic", target)):
        assert kcli("acls", "create", *words, "--group", group, *admin).code == 0
    (tmp_path / "kcli").mkdir()
    values = parse_properties(Path(file).read_text(), file).pairs
    profile = "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value, _origin in values)
    (tmp_path / "kcli" / "config.toml").write_text(f"[profiles.user]\n{profile}")
    line = ("mirror", "--from", "user", "--to", "user", "-t", source, "--map-topic", f"{source}={target}")
    more = ("--until-caught-up", "--sync-groups", group, "--sync-configs", "topic", "--verify", *way)
    job = ("--job", unused_name("job"))
    for _ in range(2):
        done = kcli(*line, *more, *job, XDG_CONFIG_HOME=str(tmp_path))
        assert done.code == 0, done
    assert sorted(secure_kafka.values(target)) == [b"1", b"2"]
    done = kcli("topics", "alter", source, "--partitions", "3", "--set", "retention.ms=-1", *admin[2:])
    assert done.code == 0, done
    done = kcli(*line, *more, *job, XDG_CONFIG_HOME=str(tmp_path))
    assert done.code == 0, done
    done = kcli("mirror", "status", "--to", "user", XDG_CONFIG_HOME=str(tmp_path))
    assert done.code == 0, done
