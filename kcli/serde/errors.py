"""Errors of serdes: of one record, or of the schema registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcli.core.errors import ConnectError, KcliError
from kcli.core.exit_codes import ExitCode

if TYPE_CHECKING:
    from uuid import UUID


class DecodeError(KcliError):
    """The bytes of a key or value cannot be decoded by the serde. The caller keeps them, counts the error, and
    continues.

    ``schema_id`` is the schema named by the bytes or headers, even if it could not be used.
    """

    exit_code = ExitCode.DATA

    def __init__(
        self, what: str, *, why: str = "", do: str = "", schema_id: int | UUID | None = None
    ) -> None:
        super().__init__(what, why=why, do=do)
        self.schema_id = schema_id


class EncodeError(KcliError):
    """A key or value that the serde cannot write: a bad input line. ``what`` names it, ``why`` the location in it."""


class RegistryError(KcliError):
    """An error response of the schema registry. ``status`` is HTTP's, ``code`` the registry's own (40403, …; 0 without
    one).
    """

    def __init__(self, what: str, *, why: str = "", do: str = "", status: int = 0, code: int = 0) -> None:
        super().__init__(what, why=why, do=do)
        self.status = status
        self.code = code


class RegistryAuthError(RegistryError):
    """The registry denies access."""

    exit_code = ExitCode.DENIED


class SchemaNotFoundError(RegistryError):
    """The registry responds, but does not have this subject, version or schema."""


class RegistryUnreachableError(ConnectError):
    """No registry address responds, or all of them report that they are out of order."""
