"""SCRAM credentials of users: which there are, and sets or deletes them (KIP-554). Passwords are never sent or returned.

All requests go to the controller: with ZooKeeper no other broker accepts them. Brokers of a KRaft cluster forward
changes, and describe what they have received from the controller so far.
"""

import secrets
from collections.abc import Collection, Iterator, Mapping

from kcli.core.admin.plaintext import refuse_plaintext
from kcli.core.classes import IntEnum, dataclass, field
from kcli.core.cluster.cluster import CONTROLLER, Cluster
from kcli.core.cluster.fanout import Items, Part, fan_out, portions
from kcli.core.cluster.routes import ToController
from kcli.core.connection.plan import Broker
from kcli.core.connection.sasl.scram import DIGESTS, salted_password
from kcli.core.error_codes import (
    NONE,
    RESOURCE_NOT_FOUND,
    UNACCEPTABLE_CREDENTIAL,
    UNSUPPORTED_SASL_MECHANISM,
    UNSUPPORTED_VERSION,
)
from kcli.core.errors import (
    BrokerError,
    KcliError,
    NotFoundError,
    ProtocolError,
    UnsupportedError,
)
from kcli.core.options import ClientOptions
from kcli.core.permissions import on_cluster
from kcli.core.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kcli.core.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)
from kcli.core.secret import Secret

FEWEST_ITERATIONS, MOST_ITERATIONS = 4_096, 16_384
"""What brokers accept (org.apache.kafka.controller.ScramControlManager)."""

_SALT_BYTES = 32
SEE = "`kcli users list` shows the credentials"
"""The remedy where it is not known which there are."""


class ScramMechanism(IntEnum):
    """With Kafka's numbers."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2


@dataclass(frozen=True, slots=True, order=True)
class ScramCredential:
    """A user has at most one credential of each mechanism. Numbers that this version does not know stay numbers."""

    user: str
    mechanism: ScramMechanism | int

    def __str__(self) -> str:
        return f"{mechanism_name(self.mechanism)} of user {self.user}"


@dataclass(frozen=True, slots=True)
class ScramUpsertion:
    """What is stored for a credential, made by ``upsertion``."""

    iterations: int
    salt: bytes = field(repr=False)
    salted_password: bytes = field(repr=False)


def mechanism_name(mechanism: int) -> str:
    """``SCRAM-SHA-512``, as in ``sasl.mechanism``; ``unknown (9)`` for a number that this version does not know."""
    if isinstance(mechanism, ScramMechanism):
        return mechanism.name.replace("_", "-")
    return f"unknown ({mechanism})"


def upsertion(password: Secret, mechanism: ScramMechanism, iterations: int) -> ScramUpsertion:
    """A new credential with a random salt. The password is encoded in UTF-8, without SASLprep, as by Kafka's clients."""
    salt = secrets.token_bytes(_SALT_BYTES)
    salted = salted_password(password, salt, iterations, DIGESTS[mechanism_name(mechanism)])
    return ScramUpsertion(iterations, salt, salted)


def check_encrypted(options: ClientOptions) -> None:
    """ConfigError unless what a client with ``options`` sends is encrypted, or need not be."""
    refuse_plaintext(
        options,
        "setting SCRAM credentials over {protocol} is refused",
        why="they would be sent without encryption, and are sufficient to authenticate as the user",
    )


def describe_scram_credentials(
    cluster: Cluster, users: Collection[str] | None, deadline: float
) -> dict[str, dict[ScramMechanism | int, int] | KcliError]:
    """The number of iterations by mechanism, of these users (None: of all that have credentials).

    NotFoundError for a user without credentials.
    """
    if users is not None and not users:
        return {}
    wanted = None if users is None else list(dict.fromkeys(users))
    # An empty list means all. So does null, but brokers do not respond to it without the permission (Kafka 4.3.1).
    request = DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in wanted or ()])
    what = "describing SCRAM credentials"

    def check(
        response: DescribeUserScramCredentialsResponse,
    ) -> dict[str, dict[ScramMechanism | int, int] | KcliError]:
        if response.error_code != NONE:
            raise _refused(response.error_code, what, response.error_message, "DESCRIBE")
        found: dict[str, dict[ScramMechanism | int, int] | KcliError] = {}
        for row in response.results:
            if row.error_code == NONE:
                found[row.user] = {_known(info.mechanism): info.iterations for info in row.credential_infos}
            elif row.error_code == RESOURCE_NOT_FOUND:
                found[row.user] = NotFoundError(
                    f"user {row.user} has no SCRAM credentials",
                    why="none was set, or the name is spelt differently",
                    do=SEE,
                )
            else:
                where = f"describing SCRAM credentials of user {row.user}"
                found[row.user] = _refused(row.error_code, where, row.error_message, "DESCRIBE")
        if wanted is None:
            return found
        return {name: found[name] if name in found else _left_out(name) for name in wanted}

    try:
        return cluster.call(lambda: cluster.send(request, CONTROLLER), check, deadline, what)
    except UnsupportedError as error:
        raise _too_old(error) from error


def alter_scram_credentials(
    cluster: Cluster,
    changes: Mapping[ScramCredential, ScramUpsertion | None],
    deadline: float,
    *,
    unsure: set[ScramCredential] | None = None,
) -> dict[ScramCredential, KcliError | None]:
    """Sets credentials, then deletes those whose value is None; None on success.

    Both are not in one request: Kafka, up to 4.4.0 at least, may lose the credential that is set where the last other one
    of its mechanism is deleted in the same delta of its metadata. Who wants both reads back before deleting.

    An attempt that is repeated because its response was lost has the same effect again: a credential that is missing
    then counts as deleted. ``unsure`` collects the credentials with such an attempt: an error does not mean that nothing
    was changed. NotFoundError for a credential that does not exist. ConfigError where credentials would be sent without
    encryption.
    """
    if any(change is not None for change in changes.values()):
        check_encrypted(cluster.options)
    outcome: dict[ScramCredential, KcliError | None] = {}
    for deleted in (False, True):
        some = {key: change for key, change in changes.items() if (change is None) is deleted}
        if some:
            outcome |= _alter(cluster, some, deadline, unsure=unsure)
    return {key: outcome[key] for key in changes}


def _alter(
    cluster: Cluster,
    changes: Mapping[ScramCredential, ScramUpsertion | None],
    deadline: float,
    *,
    unsure: set[ScramCredential] | None,
) -> dict[ScramCredential, KcliError | None]:
    lost: set[ScramCredential] = set() if unsure is None else unsure

    def ask(
        _broker: Broker, items: Items[ScramCredential, ScramUpsertion | None]
    ) -> list[Part[ScramCredential]]:
        """A request for each mechanism: KRaft accepts one change of a user in a request."""
        by_mechanism: dict[int, Items[ScramCredential, ScramUpsertion | None]] = {}
        for key, change in items:
            by_mechanism.setdefault(key.mechanism, []).append((key, change))
        return [
            Part(_request(some), [key for key, _ in some])
            for rows in by_mechanism.values()
            for some in portions(rows)
        ]

    def read(
        response: AlterUserScramCredentialsResponse, part: Part[ScramCredential]
    ) -> Iterator[tuple[ScramCredential, int | KcliError, None]]:
        keys = {key.user: key for key in part.keys}
        for row in response.results:
            key = keys.get(row.user)
            if key is not None:
                gone = row.error_code == RESOURCE_NOT_FOUND and key in lost and changes[key] is None
                outcome = NONE if gone else _verdict(key, changes[key], row.error_code, row.error_message)
                yield key, outcome, None

    outcome = fan_out(cluster, changes, ToController(cluster), ask, read, deadline, "changing", unsure=lost)
    return {
        key: _too_old(error) if isinstance(error, UnsupportedError) else error
        for key, error in outcome.items()
    }


def _request(rows: Items[ScramCredential, ScramUpsertion | None]) -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(
        deletions=[
            ScramCredentialDeletion(name=key.user, mechanism=int(key.mechanism))
            for key, change in rows
            if change is None
        ],
        upsertions=[
            ScramCredentialUpsertion(
                name=key.user,
                mechanism=int(key.mechanism),
                iterations=change.iterations,
                salt=change.salt,
                salted_password=change.salted_password,
            )
            for key, change in rows
            if change is not None
        ],
    )


def _known(number: int) -> ScramMechanism | int:
    try:
        return ScramMechanism(number)
    except ValueError:
        return number


def _left_out(user: str) -> KcliError:
    return ProtocolError(
        f"describing SCRAM credentials of user {user}", why="the response does not contain the user"
    )


def _verdict(
    key: ScramCredential, change: ScramUpsertion | None, code: int, message: str | None
) -> int | KcliError:
    if code == NONE:
        return NONE
    if code == RESOURCE_NOT_FOUND:
        return NotFoundError(
            f"user {key.user} has no {mechanism_name(key.mechanism)} credential",
            why="none was set, or it was deleted already",
            do=SEE,
        )
    return _refused(code, f"{'setting' if change else 'deleting'} {key}", message, "ALTER")


def _refused(code: int, what: str, message: str | None, operation: str) -> KcliError:
    do = _REMEDIES.get(code, "")
    return BrokerError(code, what, message=message or "", do=do, needs=[on_cluster(operation)])


_REMEDIES = {
    UNSUPPORTED_SASL_MECHANISM: "choose another with --mechanism",
    UNACCEPTABLE_CREDENTIAL: "choose another name, or another number with --iterations",
    UNSUPPORTED_VERSION: "raise the metadata.version of the cluster to 3.5 or later: kafka-features.sh upgrade",
}


def _too_old(error: UnsupportedError) -> UnsupportedError:
    return UnsupportedError(
        error.what,
        why="brokers manage SCRAM credentials since Kafka 2.7, those of KRaft clusters since 3.5",
        do="with older ones use kafka-configs.sh --zookeeper, or kafka-storage.sh format --add-scram",
    )
