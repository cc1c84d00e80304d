"""Errors of object stores, by what the user has to do. A bucket that does not exist is a NotFoundError."""

import re

from kcli.core.errors import AuthError, ConnectError, KcliError, NotFoundError


class StoreError(KcliError):
    """The store refused something, and none of the others says why."""


class StoreAwayError(ConnectError):
    """The store cannot be reached, or does not answer in time: another attempt may succeed."""


class StoreDeniedError(AuthError):
    """There are no credentials, or they do not allow it."""


def text_of(error: BaseException) -> str:
    """The text of a library's error, in one line, without what a URL in it may have of credentials."""
    line = " ".join(str(error).split()).partition(" error_info={")[0]  # Google's details
    return re.sub(r"(?<=//)[^/@\s]*@|(?<=sig=)[^&\s'\"]+", "…", line)


def no_bucket(url: str, bucket: str) -> NotFoundError:
    """The error for a bucket, container or file system that does not exist."""
    return NotFoundError(
        f"{bucket} does not exist",
        why=f"{url} is in it, and kcli makes files, but no buckets or containers",
        do="create it, or correct its name",
    )


def away(name: str, why: str, endpoint: str) -> StoreAwayError:
    """The error for a store that does not answer; ``endpoint`` says which setting leads there."""
    return StoreAwayError(
        f"{name}: the store does not answer",
        why=why,
        do=f"check the network and {endpoint}, then run the command again: it continues",
    )
