"""Files with private keys and tokens that options name: refused if other users can change them, like a password file, and
used with a warning if other users can read them.
"""

import os
import shlex
import stat
from collections.abc import Iterator

from kcli.files.reading import FileState, file_state
from kcli.profiles.file_safety import refusal
from kcli.profiles.pairs import Report, raise_error
from kcli.profiles.resolve import Resolved

_KEY, _TOKEN = "a private key", "a token"
_CONTENT = {
    "ssl_key_location": _KEY,
    "ssl_keystore_location": _KEY,
    "sasl_kerberos_keytab": _KEY,
    "sasl_oauthbearer_token_file": _TOKEN,
    "schema_registry_ssl_key_location": _KEY,
}
_BOTH = {
    "ssl_certificate_location": ("ssl_key_location", "ssl_key_pem"),
    "schema_registry_ssl_certificate_location": ("schema_registry_ssl_key_location",),
}
"""Certificates with their key in the same file, as OpenSSL's tools write them, unless one of these options names it."""


def check_private_files(resolved: Resolved, report: Report = raise_error) -> Iterator[str]:
    """A warning for each file that is used and that others can read; a file that they can change is reported as an error,
    as a password file is. The group counts where the file is the user's own: groups such as Debian's ssl-cert are there
    to read keys of root.
    """
    values = {**resolved.values, **resolved.registry}
    both = {name: _KEY for name, keys in _BOTH.items() if not any(map(values.get, keys))}
    content = {**_CONTENT, **both}
    for name, held in content.items():
        path = os.path.expanduser(str(values.get(name, "")))
        if not path or not (name in resolved.registry or resolved.uses(name)):
            continue
        try:
            state = file_state(path)
        except OSError:
            continue  # its use is an error that says why
        if (error := refusal(path, state, os.getuid(), held)) is not None:
            report(error)
        elif _others_can_read(state):
            what = f"{path} ({resolved.spelled(name)}) holds {held}"
            yield f"{what}, and other users can read it: chmod 600 {shlex.quote(path)}"


def _others_can_read(state: FileState) -> bool:
    own = state.owner == os.getuid()
    return state.is_file and bool(state.mode & (stat.S_IRWXO | (stat.S_IRWXG if own else 0)))
