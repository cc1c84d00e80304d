"""Options of the commands that serve pages over HTTP, and the server that they ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.options import option
from kcli.commands.shared.usage import usage
from kcli.core.classes import dataclass

if TYPE_CHECKING:  # loaded where anything is served
    from kcli.exporter.server import Server, Site


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Where to serve, and for whom; in the words of the command line."""

    listen: str
    tls_certificate: str | None = None
    tls_key: str | None = None
    tls_client_ca: str | None = None
    web_config: str | None = None

    @property
    def given(self) -> str:
        """The first option that is given; empty without one."""
        values = {
            "--listen": self.listen,
            "--tls-certificate": self.tls_certificate,
            "--tls-key": self.tls_key,
            "--tls-client-ca": self.tls_client_ca,
            "--web-config": self.web_config,
        }
        return next((flag for flag, value in values.items() if value), "")

    def check(self, command: str) -> None:
        """Usage errors."""
        of_tls = {
            "--tls-certificate": self.tls_certificate,
            "--tls-key": self.tls_key,
            "--tls-client-ca": self.tls_client_ca,
        }
        for name, file in of_tls.items():
            if file is not None and self.web_config is not None:
                raise usage(
                    f"{command}: {name} with --web-config",
                    why="the web configuration says whether the pages are served over TLS",
                    do="give cert_file, key_file and client_ca_file in its tls_server_config",
                )
            if file is not None and self.tls_certificate is None:
                raise usage(
                    f"{command}: {name} without --tls-certificate",
                    why="a server needs a certificate of its own for TLS",
                    do="add --tls-certificate FILE",
                )

    def server(self, site: Site, warn: Callable[[str], object]) -> Server:
        """The server, which listens and does not accept yet. Raises ConfigError, or PortTakenError."""
        # ssl and http are loaded where anything is served.
        from kcli.exporter.address import parse_address
        from kcli.exporter.certificate import TlsFiles
        from kcli.exporter.server import Server
        from kcli.exporter.tls import ServerTls
        from kcli.exporter.users import Users
        from kcli.exporter.web_config import WebConfigFile

        address = parse_address(self.listen)
        if self.web_config is None:
            if self.tls_certificate is None:
                return Server(address, site)
            files = TlsFiles(self.tls_certificate, self.tls_key, self.tls_client_ca)
            return Server(address, site, tls=ServerTls(lambda: files, warn))
        web = WebConfigFile(self.web_config, warn)
        has = web.current()
        return Server(
            address,
            site,
            tls=ServerTls(lambda: cast(TlsFiles, web.current().tls), warn) if has.tls is not None else None,
            users=Users(lambda: web.current().users or {}) if has.users is not None else None,
            headers=lambda: web.current().headers,
        )


def warn_of_strangers(server: Server, warn: Callable[[str], object]) -> None:
    """What is not safe about an address that others can reach."""
    if server.address.is_loopback:
        return
    if server.users is not None and server.tls is None:
        warn("passwords cross the network readable: tls_server_config of --web-config encrypts them")
    elif server.users is None and not (server.tls is not None and server.tls.asks_clients):
        warn(
            "any client that reaches this address can read the figures, unless --web-config or --tls-client-ca is given"
        )


def access_options() -> list[Callable[[Any], Any]]:
    """Who may read the pages: those of ``Serving`` but for ``--listen``."""
    return [
        option("--tls-certificate", metavar="FILE", help="serve over TLS with this certificate (PEM)"),
        option(
            "--tls-key", metavar="FILE", help="the certificate's key (default: the file of --tls-certificate)"
        ),
        option(
            "--tls-client-ca",
            metavar="FILE",
            help="accept only clients with a certificate of this authority (PEM)",
        ),
        option(
            "--web-config",
            "--web.config.file",
            "web_config",
            metavar="FILE",
            help="users, TLS and headers in the format of Prometheus's exporters (YAML)",
        ),
    ]


@contextmanager
def served(inv: Invocation, serving: Serving, site: Site) -> Iterator[None]:
    """Serves the site beside the block; a dry run only looks whether that is possible."""
    server = serving.server(site, inv.talk.warn)
    try:
        warn_of_strangers(server, inv.talk.warn)
        if not inv.dry_run:
            server.start()
            inv.talk.note(f"metrics: {server.url}")
        yield
    finally:
        server.close()
