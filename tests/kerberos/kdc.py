"""A key distribution center of MIT Kerberos on loopback, with its own realm, files and ports. Not a test.

with Kdc(folder, port) as kdc:
    keytab = kdc.principal("alice")
    kdc.ticket("alice", keytab, cache, life="2s")
"""

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Self

from kcli.sandbox.ports import is_port_free

REALM = "KCLI.TEST"
PROGRAMS = ("krb5kdc", "kadmin.local", "kdb5_util", "kinit")
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"


def why_not() -> str:
    """Why there can be no KDC here; empty if there can."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=_PATH) is None]
    return f"{', '.join(missing)} is not installed" if missing else ""


class Kdc:
    """Use as a context manager. ``environ`` is what clients need."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self.config = folder / "krb5.conf"
        self.config.write_text(
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_lookup_realm = false\n"
            " dns_canonicalize_hostname = false\n rdns = false\n udp_preference_limit = 1\n"
            f"[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n"
            f"[domain_realm]\n localhost = {REALM}\n"
        )
        settings = folder / "kdc.conf"
        settings.write_text(
            f"[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n"
            f"[realms]\n {REALM} = {{\n  database_name = {folder}/principal\n"
            f"  key_stash_file = {folder}/stash\n  max_life = 1h\n }}\n"
        )
        self.environ = {"KRB5_CONFIG": str(self.config)}
        self._environ = {
            **os.environ,
            **self.environ,
            "KRB5_KDC_PROFILE": str(settings),
            "PATH": _PATH,
        }
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._run("kdb5_util", "-r", REALM, "create", "-s", "-P", "of no importance")
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    def start(self) -> None:
        log = (self.folder / "kdc.log").open("ab")
        with log:
            self._process = subprocess.Popen(
                ["krb5kdc", "-n"], env=self._environ, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        end = time.monotonic() + 10
        while is_port_free(self.port):
            assert self._process.poll() is None, (self.folder / "kdc.log").read_text()
            assert time.monotonic() < end
            time.sleep(0.02)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def principal(self, name: str) -> Path:
        """Makes a principal with a random key; the keytab that has it."""
        keytab = self.folder / f"{name.replace('/', '-')}.keytab"
        self._run("kadmin.local", "-r", REALM, "-q", f"addprinc -randkey {name}")
        self._run("kadmin.local", "-r", REALM, "-q", f"ktadd -k {keytab} {name}")
        return keytab

    def ticket(self, name: str, keytab: Path, cache: Path, *, life: str = "10m") -> None:
        """A ticket in ``cache``, as kinit gets it."""
        self._run("kinit", "-l", life, "-c", str(cache), "-k", "-t", str(keytab), name)

    def _run(self, *command: str) -> None:
        done = subprocess.run(
            command, env=self._environ, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, (command[0], done.stdout, done.stderr)
