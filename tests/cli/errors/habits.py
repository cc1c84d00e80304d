"""A row for each text about habits of other tools that names a command, made from those texts, and rows for lines of
other tools that are translated. Not a test.
"""

from collections.abc import Iterator, Mapping

from kcli.commands.shared.habits import _EVERYWHERE, _OPTIONS, _OTHER_TOOLS
from tests.cli.errors.row import Row, member

THEN = {
    "kcli sandbox down": "1 sandbox down: there is no sandbox",
    "kcli sandbox logs": "1: there is no sandbox",
    "kcli profile import": "2 profile import: there is no file",
    "kcli groups create": "7: the group exists",
    "kcli pipeline import": "2: nothing was exported",
}
"""Where the command of a text cannot succeed in the world of the tables."""
PROFILES = (("XDG_CONFIG_HOME", "{dir}/home"),)


def _rows() -> Iterator[Row]:
    for path, words in _OTHER_TOOLS.items():
        for word, text in _first_of_each(words):
            do = text.format(path=path)
            env = PROFILES if "kcli profile" in do or "kcli config" in do else ()
            then = next((why for begin, why in THEN.items() if begin in do), "")
            line = f"{path} {word}".removeprefix("kcli ")
            script = member if "MEMBER" in do else None
            yield Row(line, 2, f"no command '{word}'", "other tools", do, script, env=env, then=then)
    for command, options in (*_OPTIONS.items(), ("topics describe", _EVERYWHERE)):
        for option, text in _first_of_each(options):
            path = f"kcli {command}" + " describe" * (" " not in command)
            do = text.format(path=path)
            then = next((why for begin, why in THEN.items() if begin in do), "")
            yield Row(f"{command} {option}", 2, f"no option {option}", "nothing was run", do, then=then)


def _first_of_each(texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The first word of each text that names a command."""
    seen = set()
    for word, text in texts.items():
        if "`" in text and text not in seen:
            seen.add(text)
            yield word, text


TRANSLATED = {
    "kafka-topics.sh --list": "kcli topics list",
    "kafka-topics --create --topic new --partitions 3 --if-exists": "kcli topics create new --partitions 3",
    "kafka-consumer-groups.sh --describe --group billing --members": "kcli groups describe billing --members",
    "kafka-consumer-groups.sh --reset-offsets --group billing --topic orders --to-earliest --execute": (
        "kcli groups rewind billing --topic orders --to earliest --yes"
    ),
    "kafka-console-consumer.sh --topic orders --from-beginning --max-messages 2 --property print.key=true": (
        r"kcli consume orders --from-beginning -n 2 -f '%k\t%v\n'"
    ),
    "kafka-configs.sh --describe --entity-type brokers --entity-name 1 --all": "kcli configs describe brokers 1 --all",
    "kafka-configs.sh --alter --entity-type clients --entity-name c --add-config producer_byte_rate=1000": (
        "kcli quotas alter --client-id c --set producer_byte_rate=1000"
    ),
    "kafka-acls.sh --list --topic orders": "kcli acls list --topic orders",
    "kafka-get-offsets.sh --topic orders --time -2": "kcli topics offsets orders --time earliest",
    "get topics -o json": "kcli topics list -o json",
    "security user list": "kcli users list",
    "head orders": "kcli consume orders -n 10",
    "tail orders": "kcli consume orders --tail 10",
    "count orders": "kcli consume orders --count",
    "log-dirs": "kcli cluster describe --log-dirs",
    "status": "kcli cluster describe",
    "cluster logdirs describe": "kcli cluster describe --log-dirs",
    "misc list-offsets orders": "kcli topics offsets orders",
}


def _translated() -> Iterator[Row]:
    for line, do in TRANSLATED.items():
        name = line.split()[1 if line.startswith("cluster ") else 0]
        yield Row(line, 2, f"no command '{name}'", "nothing was run", f"`{do}`")
    yield Row(
        "-C -t orders -o beginning -e",
        2,
        "no option -C",
        "nothing was run",
        "`kcli consume orders --from-beginning -e`",
    )
    yield Row(
        "kafka-storage.sh format",
        2,
        "no command 'kafka-storage.sh'",
        "kcli has no such thing",
        "use kafka-storage.sh itself; `kcli help tasks` shows what kcli does",
    )
    yield Row(
        "configs describe users bob",
        2,
        "'users' is not topics",
        "quotas and passwords",
        "`kcli quotas list --user NAME`",
    )
    yield Row(
        "consume orders -o oldest", 2, "-o oldest is not an output format", "kcat's -o", "--offset beginning"
    )
    yield Row(
        "consume orders --offset 0=5", 2, "--offset is not valid", "is not an offset", "-p 0 --offset 5"
    )
    yield Row(
        "configs alter clients c --set a=1",
        2,
        "'clients' is not",
        "quotas",
        "`kcli quotas list --client-id ID`",
    )
    yield Row(
        "configs describe ips x", 2, "'ips' is not topics", "quotas", "`kcli quotas list --ip 192.0.2.1`"
    )
    yield Row("help --search frobnicate", 2, "nothing has 'frobnicate'", "in no task", "`kcli help tasks`")


ROWS = [*_rows(), *_translated()]
