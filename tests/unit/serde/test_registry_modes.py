"""Whether a registry has modes to set is found out by requests that change nothing."""

import pytest

from kcli.core.exit_codes import ExitCode
from kcli.core.net.http_address import HttpAddress
from kcli.core.net.http_messages import Answer
from kcli.serde.errors import RegistryAuthError, RegistryError, RegistryUnreachableError, SchemaNotFoundError
from kcli.serde.registry.admin import RegistryAdmin
from kcli.serde.registry.options import RegistryOptions
from kcli.serde.registry.transport import Transport

ADDRESS = HttpAddress(False, "registry", 8081)
MODE = {"mode": "READWRITE"}
NONE_OF_ITS_OWN = RegistryError("no", status=404, code=40409)
UNKNOWN_SUBJECT = SchemaNotFoundError("no", status=404, code=40401)
DENIED = RegistryAuthError("no", status=403, code=40301)


class _Scripted(Transport):
    """Answers GET and OPTIONS; a list of methods is that of OPTIONS, an error is raised."""

    def __init__(self, get: object, options: object) -> None:
        super().__init__((ADDRESS,), RegistryOptions())
        self._answers = {"GET": get, "OPTIONS": options}
        self.methods: list[str] = []

    def ask(self, method: str, path: str, body: object = None) -> object:
        return self._given(method)

    def answer(self, method: str, path: str, body: object = None) -> Answer:
        allowed = self._given(method)
        headers = {"allow": allowed} if isinstance(allowed, str) else {}
        return Answer(ADDRESS, 200, headers, b"")

    def _given(self, method: str) -> object:
        self.methods.append(method)
        given = self._answers[method]
        if isinstance(given, Exception):
            raise given
        return given


@pytest.mark.parametrize(
    ("get", "options", "has"),
    [
        (NONE_OF_ITS_OWN, AssertionError(), True),  # Confluent's, Redpanda
        (UNKNOWN_SUBJECT, "HEAD,DELETE,GET,OPTIONS,PUT", True),  # Confluent's before 6.0
        (UNKNOWN_SUBJECT, "GET, HEAD", False),
        (UNKNOWN_SUBJECT, RegistryError("no", status=405), False),  # Karapace
        (UNKNOWN_SUBJECT, None, False),
        (RegistryError("no", status=404), AssertionError(), False),  # Apicurio: no such path
        (RegistryError("no", status=501), AssertionError(), False),
        (MODE, AssertionError(), False),  # the mode of all is what it gives for each
        (DENIED, AssertionError(), True),  # the change itself tells
        (UNKNOWN_SUBJECT, DENIED, True),
    ],
)
def test_what_a_registry_says_of_a_name_tells_whether_it_has_modes(
    get: object, options: object, has: bool
) -> None:
    transport = _Scripted(get, options)
    assert RegistryAdmin((ADDRESS,), RegistryOptions(), transport=transport).has_modes() is has
    assert set(transport.methods) <= {"GET", "OPTIONS"}


def test_a_silent_registry_says_nothing_of_its_modes() -> None:
    transport = _Scripted(RegistryUnreachableError("silent"), None)
    with pytest.raises(RegistryUnreachableError) as raised:
        RegistryAdmin((ADDRESS,), RegistryOptions(), transport=transport).has_modes()
    assert raised.value.exit_code == ExitCode.UNREACHABLE
