"""Judges what a client may do with a topic or group, from the bits that brokers report (KIP-430). Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from kcli.core.exit_codes import ExitCode
from kcli.core.permissions import SOME_USER, AclOperation
from kcli.flows.doctor.findings import Finding, failed, skipped, warning, well

CHECK = "permissions"
TOPIC_RIGHTS = {
    AclOperation.DESCRIBE: "see it",
    AclOperation.READ: "consume it",
    AclOperation.WRITE: "produce to it",
}
GROUP_RIGHTS = {AclOperation.DESCRIBE: "see it", AclOperation.READ: "join it and commit"}
Rights = Mapping[AclOperation, str]


def judge(target: str, name: str, kind: str, bits: int | None, rights: Rights) -> Iterator[Finding]:
    """``bits`` None: the broker does not report them. ``kind``: ``topic`` or ``group``."""
    if bits is None:
        yield skipped(target, CHECK, "the brokers do not report permissions (before Kafka 2.3)")
        return
    allowed = [one for one in rights if bits & (1 << one)]
    missing = [one for one in rights if one not in allowed]
    if not missing:
        yield well(target, CHECK, ", ".join(one.name for one in allowed))
        return
    operations = " ".join(f"--operation {one.name.lower()}" for one in missing)
    grant = f"kcli acls create --principal {SOME_USER} {operations} --{kind} {shlex.quote(name)}"
    why = f"this client may not {' or '.join(rights[one] for one in missing)}"
    do = f"if it should: `{grant}`"
    detail = f"without {', '.join(one.name for one in missing)}"
    # Many clients only produce, or only consume; DESCRIBE alone serves none of them.
    if any(one in allowed for one in (AclOperation.READ, AclOperation.WRITE)):
        yield warning(target, CHECK, detail, why=why, do=do)
    else:
        yield failed(target, CHECK, detail, why=why, do=do, code=ExitCode.DENIED)
