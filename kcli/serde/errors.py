"""What can go wrong between bytes and values: of one record, or of the registry that has the schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcli.core.errors import ConnectError, KcliError

if TYPE_CHECKING:
    from uuid import UUID


class DecodeError(KcliError):
    """The bytes of one key or value are not what the serde reads. The caller keeps them, counts this, and goes on.

    ``schema_id`` is what the bytes or headers name as their schema, even if nothing could be done with it.
    """

    exit_code = 5

    def __init__(
        self, what: str, *, why: str = "", do: str = "", schema_id: int | UUID | None = None
    ) -> None:
        super().__init__(what, why=why, do=do)
        self.schema_id = schema_id


class EncodeError(KcliError):
    """A key or value that the serde cannot write: a bad input line. ``what`` names it, ``why`` the place in it."""


class RegistryError(KcliError):
    """The schema registry said no. ``status`` is HTTP's, ``code`` the registry's own (40403, …; 0 without one)."""

    def __init__(self, what: str, *, why: str = "", do: str = "", status: int = 0, code: int = 0) -> None:
        super().__init__(what, why=why, do=do)
        self.status = status
        self.code = code


class RegistryAuthError(RegistryError):
    """The registry does not let us in."""

    exit_code = 4


class SchemaNotFoundError(RegistryError):
    """The registry answers, and does not have this subject, version or schema."""


class RegistryUnreachableError(ConnectError):
    """No registry address answers, or all of them answer that they are out of order."""
