"""Every command on a real broker of this run's version: it is served, or refused with what the version lacks.

A line acts where no more than this broker is needed for it; the others are those of ``tests/lines.py``. What a version
lacks is in ``tests/kafka_versions.py``.
"""

import json
import os
import random
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from kcli.commands.registry import LOCAL, ROWS
from kcli.sandbox.config import parse_version, uses_zookeeper
from kcli.sandbox.ports import ANY, choose_ports, is_port_free
from tests import lines
from tests.kafka import QUICK_JVM, TEST_PROPERTIES, sandboxed, version_of
from tests.kafka_versions import LACKS, MORE
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
}

ACTS = {
    "acls create": "--principal User:a --operation read --topic orders --yes",
    "acls list": "--topic orders",
    "acls check": "--principal User:a --operation read --topic orders",
    "acls delete": "--principal User:a --topic orders --yes",
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
    "groups remove-members": 1,  # nobody has that name
    "mirror accept-gap": 1,  # there is none
    "mirror check": 8,  # the job has ended
    "mirror reverse": 7,  # it was not promoted
}
"""Of commands that are served, where it is not 0."""

PORTS = ("plaintext", "sasl", "controller")


class Broker(NamedTuple):
    version: str
    address: str
    folder: Path
    secure: Path
    """Options for the listener on which clients have a name."""

    def run(self, path: str, line: str) -> Done:
        """Types a line. A terminal shows the screen of ``top``."""
        words = shlex.split(line.format(dir=self.folder, broker=self.address, token=self._token))
        if path == "top":
            return self._watched(words)
        if path not in every_command.NAME_CLUSTERS:
            words += ["-F", str(self.secure)] if path.startswith("tokens ") else ["-b", self.address]
        return kcli_process(*path.split(), *words, XDG_STATE_HOME=str(self.folder / "state"))

    @property
    def _token(self) -> str:
        """The id of the token that was created."""
        found = kcli_process("tokens", "list", "-F", str(self.secure), "-o", "json")
        return str(found.items[0]["token_id"]) if found.code == 0 and found.items else "none"

    def _watched(self, words: list[str]) -> Done:
        """``top`` until it has shown the group, then all of its other screens."""
        argv = [sys.executable, "-m", "kcli", "top", *words]
        with Terminal(argv, columns=159, rows=40, environ=environment(self.address)) as terminal:
            terminal.wait(words[0])
            for key in "tbqxm":
                terminal.press(key)
                terminal.watch(1)
            terminal.press("\x03")
            code = terminal.ended()
            return Done(argv, code, bytes(terminal.written), b"")


def gives_tokens(version: str) -> bool:
    """A broker of the others does not start with a secret for them."""
    return uses_zookeeper(version) or parse_version(version) >= (3, 6)


def _properties(version: str, ports: dict[str, int]) -> dict[str, str]:
    """A listener for clients with a name, an authorizer that lets all do everything, and a secret for tokens."""
    listeners = {"PLAINTEXT": ports["plaintext"], "SASL_PLAINTEXT": ports["sasl"]}
    texts = [f"{name}://127.0.0.1:{port}" for name, port in listeners.items()]
    of_kraft = (
        {}
        if uses_zookeeper(version)
        else {"controller.quorum.voters": f"1@127.0.0.1:{ports['controller']}"}
    )
    controller = [] if uses_zookeeper(version) else [f"CONTROLLER://127.0.0.1:{ports['controller']}"]
    maps = "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"
    authorizer = "kafka.security.authorizer.AclAuthorizer" if uses_zookeeper(version) else (
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    )
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required user_admin=\"secret\";"
    return {
        **TEST_PROPERTIES,
        **of_kraft,
        "listeners": ",".join([*texts, *controller]),
        "advertised.listeners": ",".join(texts),
        "listener.security.protocol.map": maps,
        "listener.name.sasl_plaintext.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": login,
        "authorizer.class.name": authorizer,
        "super.users": "User:ANONYMOUS;User:admin",
        "allow.everyone.if.no.acl.found": "true",
        **({"delegation.token.secret.key": "of-this-broker-only"} if gives_tokens(version) else {}),
    }


@pytest.fixture(scope="module")
def broker(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    version, folder = version_of(pytestconfig), tmp_path_factory.mktemp("walk")
    first, *others = choose_ports(3, ANY, is_port_free, rng=random.Random())
    ports = dict(zip(PORTS, (first, *others), strict=True))
    secure = folder / "secure.properties"
    secure.write_text(
        f"bootstrap.servers=127.0.0.1:{ports['sasl']}\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        "sasl.username=admin\nsasl.password=secret\nallow.plaintext.secrets=true\n"
    )
    extra = _properties(version, ports)
    with sandboxed(version=version, port=first, extra=extra, jvm_options=QUICK_JVM) as kafka:
        found = Broker(version, kafka.bootstrap, folder, secure)
        for name, text in FILES.items():
            (folder / name).write_text(text)
        for line in (*every_command.SEEDS, "topics create dead", "produce dead {dir}/dead.ndjson -i ndjson"):
            done = found.run("", line)
            assert done.code == 0, (line, done)
        yield found


def test_every_command_is_served_or_says_what_the_broker_lacks(broker: Broker) -> None:
    ordered = [*(path for path in every_command.LINES if path not in ACTS), *ACTS]
    log = open(f"/tmp/v44-walk-{broker.version}.log", "w")
    import time
    for path in (one for one in ordered if one in WALKED):
        began = time.monotonic()
        try:
            done = broker.run(path, ACTS.get(path, every_command.LINES[path]).replace("{group}", "billing"))
        except Exception as e:
            print("=====", path, "EXC", repr(e)[:3000], file=log, flush=True)
            continue
        print("=====", path, done.code, f"{time.monotonic() - began:.1f}", file=log, flush=True)
        if done.code != STATUS.get(path, 0):
            print(done.args, done.out[-1500:], done.err[-1500:], file=log, flush=True)
