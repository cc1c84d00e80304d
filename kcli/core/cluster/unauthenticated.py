"""The error of a client without SASL at a listener that requires it. Pure."""

from kcli.core.errors import AuthError, UnansweredError


def sasl_required(error: UnansweredError, *, encrypted: bool) -> AuthError:
    """The cause of a connection that closes at the first request after ApiVersions: most often a listener with SASL."""
    protocols = "SASL_SSL" if encrypted else "SASL_SSL or SASL_PLAINTEXT"
    return AuthError(
        f"{error.what}, its first request, of a client that does not authenticate",
        why="it responds to ApiVersions only; a listener with SASL does that to clients that do not authenticate",
        do=f"set security.protocol={protocols}, sasl.mechanism and the credentials; or use another port",
    )
