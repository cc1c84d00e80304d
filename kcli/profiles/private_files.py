"""Files with private keys and tokens that options name, and that other users can read: they are used, with a warning."""

import os
import shlex
import stat
from collections.abc import Iterator

from kcli.profiles.resolve import Resolved

_KEY, _TOKEN = "a private key", "a token"
_CONTENT = {
    "ssl_key_location": _KEY,
    "ssl_keystore_location": _KEY,
    "sasl_kerberos_keytab": _KEY,
    "sasl_oauthbearer_token_file": _TOKEN,
    "schema_registry_ssl_key_location": _KEY,
}
_CERTIFICATE = "ssl_certificate_location"


def warnings_of_private_files(resolved: Resolved) -> Iterator[str]:
    """One for each file that is used and that others can read. The group counts where the file is the user's own:
    groups such as Debian's ssl-cert are there to read keys of root.
    """
    values = {**resolved.values, **resolved.registry}
    content = dict(_CONTENT)
    if not (values.get("ssl_key_location") or values.get("ssl_key_pem")):
        content[_CERTIFICATE] = _KEY  # both in one file, as OpenSSL's tools write them
    for name, held in content.items():
        path = os.path.expanduser(str(values.get(name, "")))
        used = name in resolved.registry or resolved.uses(name)
        if path and used and _others_can_read(path):
            what = f"{path} ({resolved.spelled(name)}) holds {held}"
            yield f"{what}, and other users can read it: chmod 600 {shlex.quote(path)}"


def _others_can_read(path: str) -> bool:
    try:
        state = os.stat(path)
    except OSError:
        return False  # its use is an error that says why
    own = state.st_uid == os.getuid()
    return stat.S_ISREG(state.st_mode) and bool(state.st_mode & (stat.S_IRWXO | (stat.S_IRWXG if own else 0)))
