"""What a client must be allowed to do for a request, by the error code with which brokers refuse it. Pure."""

from collections.abc import Iterable

from kcli.core.classes import IntEnum, NamedTuple

_OPTIONS = {
    29: ("topic", "--topic"),
    30: ("group", "--group"),
    31: ("cluster", "--cluster"),
    53: ("transactional id", "--transactional-id"),
}


SOME_USER = "User:NAME"
"""The principal in a command that grants a permission: brokers do not say which one they see (``granted_to``)."""


class Permission(NamedTuple):
    """``operation`` as in an ACL, on what the error ``code`` is about: 29 a topic, 30 a group, 31 the cluster,
    53 a transactional id.
    """

    code: int
    operation: str
    name: str = ""

    @property
    def lack(self) -> str:
        """``no READ on topic orders``."""
        resource = _OPTIONS[self.code][0]
        return f"no {self.operation} permission on {f'{resource} {self.name}' if self.name else f'the {resource}'}"

    @property
    def grant(self) -> str:
        """The remedy: the command that grants it to ``SOME_USER``."""
        return f"have it granted: `{grant_command(self.operation, [self])}`{_INCLUDED.get(self[:2], '')}"

    @property
    def option(self) -> str:
        """``--topic orders``."""
        import shlex  # few runs need it

        return " ".join([_OPTIONS[self.code][1], *([shlex.quote(self.name)] if self.name else [])])


def granted_to(user: str, remedy: str) -> str:
    """A remedy whose commands grant permissions to ``user``; as it is, if the user is not known (empty)."""
    if not user:
        return remedy
    import shlex  # few runs need it

    return remedy.replace(SOME_USER, shlex.quote(f"User:{user}"))


def grant_command(operation: str, needs: Iterable[Permission], *options: str) -> str:
    """The command that grants one operation on several resources; ``options`` name the cluster and its user."""
    words = [*options, "--principal", SOME_USER, "--operation", operation.lower()]
    return " ".join(["kcli acls create", *words, *(need.option for need in needs)])


_INCLUDED = {
    (29, "DESCRIBE"): " (read, to consume, and write, to produce, include it)",
    (30, "DESCRIBE"): " (read, to consume and to commit, includes it)",
}


def on_topic(operation: str, name: str) -> Permission:
    return Permission(29, operation, name)


def on_group(operation: str, name: str) -> Permission:
    return Permission(30, operation, name)


def on_cluster(operation: str) -> Permission:
    return Permission(31, operation)


def on_transactional_id(name: str) -> Permission:
    """WRITE, the only one of use: it includes DESCRIBE, which some requests need."""
    return Permission(53, "WRITE", name)


class AclOperation(IntEnum):
    """What an ACL allows or denies, with Kafka's numbers."""

    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


def is_allowed(operations: int | None, operation: AclOperation) -> bool:
    """Whether the bits that brokers report (KIP-430) have the operation; True where they are not known."""
    return operations is None or bool(operations >> operation & 1)
