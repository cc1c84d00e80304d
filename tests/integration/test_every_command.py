"""Every command on a real broker of this run's version: it is served, or refused with what the version lacks.

A line acts where no more than this broker is needed for it; the others are those of ``tests/lines.py``. What a version
lacks is in ``tests/kafka_versions.py``.
"""

import random
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kcli.commands.registry import LOCAL, ROWS
from kcli.sandbox.config import uses_zookeeper
from kcli.sandbox.ports import ANY, choose_ports, is_port_free
from kcli.sandbox.state import HOST
from tests import lines
from tests.kafka import QUICK_JVM, TEST_PROPERTIES, sandboxed, version_of
from tests.kafka_versions import FURTHER, REFUSED_WITH, lacking
from tests.packages import every_command
from tests.run import Done, environment, kcli_process
from tests.terminal import Terminal

pytestmark = [pytest.mark.integration, pytest.mark.long]

WALKED = [path for path in lines.PATHS if ROWS[path][1] != LOCAL and path not in lines.NO_CLUSTER]
"""What contacts a cluster: the others know of no version."""

FILES = {
    **every_command.FILES,
    "password": "of-this-broker-only",
    "dead.ndjson": '{"key":"k1","value":"dead"}\n',
    "secure.properties": "bootstrap.servers={address}\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
    "sasl.username=admin\nsasl.password=secret\nallow.plaintext.secrets=true\n",
}
SEEDS = (*every_command.SEEDS, "topics create dead", "produce dead {dir}/dead.ndjson -i ndjson")
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

ACTS = {
    "acls create": "--principal User:a --operation read --topic orders --yes",
    "acls list": "--topic orders",
    "acls check": "--principal User:a --operation read --topic orders",
    "acls delete": "--principal User:a --topic orders --yes",
    "brokers unregister": "1 --dry-run",
    "configs alter": "topics orders --set retention.ms=-1 --yes",
    "exporter": "--textfile {dir}/page.prom --collect all",
    "groups create": "new -t orders --from earliest --yes",
    "groups copy": "billing copied --yes",
    "groups delete": "copied --yes",
    "groups delete-offsets": "new -t orders --yes",
    "groups import": "{dir}/offsets.csv --yes",
    "groups rewind": "billing --to earliest --yes",
    "mirror run": "--from {broker} --to {broker} -t orders --map-topic orders=mirrored --until-caught-up",
    "mirror status": "--to {broker}",
    "mirror check": "--from {broker} --to {broker}",
    "mirror verify": "--from {broker} --to {broker}",
    "mirror accept-gap": "--all --to {broker} --yes",
    "mirror reset": "orders --from {broker} --to {broker} --offset earliest --dry-run",
    "mirror promote": "--from {broker} --to {broker} --source-lost --yes",
    "mirror reverse": "--from {broker} --to {broker} --dry-run",
    "perf consume": "-t e2e --num-records 10 -g measuring",
    "pipeline mirror": "--from {broker} --to {broker} -t orders --map-topic orders=piped --runner inline --yes",
    "pipeline verify": "--from {broker} --to {broker} -t orders --map-topic orders=piped --runner inline",
    "pipeline replay": "dead --to orders --force --runner inline --yes",
    "produce": "orders {dir}/lines.txt -K : -z zstd",
    "quotas alter": "--user a --set request_percentage=5 --yes",
    "quotas list": "--user a",
    "reassign run": "{dir}/moves.json --yes",
    "tokens create": "--hmac-file {dir}/token --renewer User:admin --yes",
    "tokens renew": "{token} --for 1h --yes",
    "tokens list": "",
    "tokens expire": "{token} --yes",
    "top": "billing",
    "topics alter": "orders --partitions 4 --yes",
    "topics copy": "orders doubled --yes",
    "topics create": "made --config retention.ms=-1",
    "topics delete": "made --yes",
    "topics trim": "doubled --before latest --yes",
    "users set": "a --password-file {dir}/password --allow-plaintext-secrets --yes",
    "users list": "a",
    "users delete": "a --yes",
}
"""In this order, after the commands that are not here."""

STATUS = {
    **{path: code for path, code in every_command.STATUS.items() if path not in ACTS},
    "brokers unregister": 7,  # it is online
    "mirror check": 8,  # the job has ended
    "mirror promote": 6,  # what the source has since is not known
    "mirror reverse": 7,  # it goes back to the same topics
}
"""Of commands that are served, where it is not 0."""


class Broker(NamedTuple):
    """``secure``: a file of client options for the listener on which clients have a name."""

    version: str
    address: str
    folder: Path
    secure: Path

    def run(self, path: str, line: str) -> Done:
        """Types a line to its end; ``top`` on a terminal."""
        words = shlex.split(line.format(dir=self.folder, broker=self.address, token=self._token(line)))
        if path == "top":
            return self._watched(words)
        if path not in every_command.NAME_CLUSTERS:
            words += ["-F", str(self.secure)] if path.startswith("tokens ") else ["-b", self.address]
        return kcli_process(*path.split(), *words, XDG_STATE_HOME=str(self.folder / "state"))

    def _token(self, line: str) -> str:
        """The id of the token that was created; a name that none has where there is none."""
        if "{token}" not in line:
            return ""
        found = kcli_process("tokens", "list", "-F", str(self.secure), "-o", "json")
        return str(found.items[0]["token_id"]) if found.code == 0 and found.items else "none"

    def _watched(self, words: list[str]) -> Done:
        """``top`` until it has shown the group, then its other screens."""
        argv = [sys.executable, "-m", "kcli", "top", *words]
        with Terminal(argv, columns=159, rows=40, environ=environment(self.address)) as terminal:
            terminal.wait(words[0])
            for key, name in enumerate(("Topics", "Brokers", "Quorum", "Transactions", "Mirrors"), 2):
                terminal.press(str(key))
                terminal.wait(name)
                terminal.watch(0.5)
            terminal.press("q")
            code = terminal.ended()
            return Done(argv, code, bytes(terminal.written), b"")


def _properties(version: str, sasl: int, plaintext: int, controller: int) -> dict[str, str]:
    """A listener for clients with a name, an authorizer that lets everybody do everything, and a secret for tokens."""
    listeners = [f"PLAINTEXT://{HOST}:{plaintext}", f"SASL_PLAINTEXT://{HOST}:{sasl}"]
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_admin="secret";'
    properties = {
        **TEST_PROPERTIES,
        "advertised.listeners": ",".join(listeners),
        "listeners": ",".join(listeners),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "listener.name.sasl_plaintext.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": login,
        "super.users": "User:ANONYMOUS;User:admin",
        "allow.everyone.if.no.acl.found": "true",
    }
    if uses_zookeeper(version):
        properties["authorizer.class.name"] = "kafka.security.authorizer.AclAuthorizer"
    else:
        properties["authorizer.class.name"] = AUTHORIZER
        properties["controller.quorum.voters"] = f"1@{HOST}:{controller}"
        properties["listeners"] += f",CONTROLLER://{HOST}:{controller}"
    if not lacking(
        "tokens create", version
    ):  # a broker that gives none does not start with a secret for them
        properties["delegation.token.secret.key"] = "of-this-broker-only"
    return properties


@pytest.fixture(scope="module")
def broker(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    version, folder = version_of(pytestconfig), tmp_path_factory.mktemp("walk")
    plaintext, sasl, controller = choose_ports(3, ANY, is_port_free, rng=random.Random())
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch(0o600)
        (folder / name).write_text(text.replace("{address}", f"{HOST}:{sasl}"))
    extra = _properties(version, sasl, plaintext, controller)
    with sandboxed(version=version, port=plaintext, extra=extra, jvm_options=QUICK_JVM) as kafka:
        found = Broker(version, kafka.bootstrap, folder, folder / "secure.properties")
        for line in SEEDS:
            done = found.run("", line)
            assert done.code == 0, (line, done)
        yield found


def test_every_command_is_served_or_says_what_the_broker_lacks(broker: Broker) -> None:
    """All of them, before any fault is reported."""
    named = {path: (path, line) for path, line in {**every_command.LINES, **ACTS}.items() if path in WALKED}
    in_order = sorted(named, key=lambda path: [*ACTS].index(path) + 1 if path in ACTS else 0)
    typed = {path: named[path] for path in in_order} | FURTHER
    done = {what: broker.run(*line) for what, line in typed.items()}
    faults = [fault for what, one in done.items() if (fault := wrong(one, what, broker.version))]
    assert not faults, "\n".join(faults)


def wrong(done: Done, what: str, version: str) -> str:
    """What is wrong with what a line did; empty if nothing is."""
    said = lacking(what, version)
    code = REFUSED_WITH.get(what, 7) if said else STATUS.get(what, 0)
    lines = done.err.splitlines()
    refused = all(any(line.startswith(start) for line in lines) for start in ("kcli: ", "  why: ", "  do: "))
    if done.code != code or said not in done.err or (said and not refused) or "Traceback" in done.err:
        return f"{what}: {done.code}, not {code} {said}: {' '.join(done.args)}\n{done.out[-2000:]}{done.err[-2000:]}"
    return ""
