"""An error of a performance test as a value, which crosses processes, and the kinds by which errors are counted. Pure."""

from __future__ import annotations

from kcli.core.classes import NamedTuple
from kcli.core.error_codes import error_code
from kcli.core.errors import BrokerError, KcliError


class Failure(NamedTuple):
    """What a KcliError says."""

    exit_code: int
    what: str
    why: str = ""
    do: str = ""

    def error(self) -> KcliError:
        """As an exception."""
        found = KcliError(self.what, why=self.why, do=self.do)
        found.exit_code = self.exit_code
        return found


def failure_of(error: KcliError) -> Failure:
    """The error as a value."""
    return Failure(error.exit_code, error.what, error.why, error.do)


def kind_of(error: KcliError) -> str:
    """Kafka's name of the error of a broker, or the kind of another one: ``TimedOut``."""
    if isinstance(error, BrokerError):
        return error_code(error.code).name
    return type(error).__name__.removesuffix("Error")
