"""DescribeUserScramCredentials and AlterUserScramCredentials, as brokers of a KRaft cluster answer them."""

from typing import TYPE_CHECKING

from kcli.core.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kcli.core.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from tests.fake.codes import Code, RefusedError
from tests.fake.scram_store import DIGESTS, Credential, Key, ScramStore

if TYPE_CHECKING:
    from tests.fake.state import Context

_FEWEST, _MOST = 4_096, 16_384


async def describe_user_scram_credentials(
    ctx: "Context", request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    """Mechanisms and iterations; without names those of all users."""
    by_user: dict[str, list[CredentialInfo]] = {}
    for (user, mechanism), iterations in sorted(ctx.state.scram.all().items()):
        row = CredentialInfo(mechanism=mechanism, iterations=iterations)
        by_user.setdefault(user, []).append(row)
    names = [user.name for user in request.users or ()] or list(by_user)
    rows = []
    for name in dict.fromkeys(names):
        code = 0 if name in by_user else Code.RESOURCE_NOT_FOUND
        if names.count(name) > 1:
            code = Code.DUPLICATE_RESOURCE
        message = f"Attempt to describe a user credential that does not exist: {name}" if code else None
        rows.append(
            DescribeUserScramCredentialsResult(
                user=name,
                error_code=code,
                error_message=message,
                credential_infos=[] if code else by_user[name],
            )
        )
    return DescribeUserScramCredentialsResponse(error_message=None, results=rows)


async def alter_user_scram_credentials(
    ctx: "Context", request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    """Each user on its own, once in a request.

    As Kafka does (seen in 4.4.0), one that deletes the last credential of a mechanism loses those that it sets of it.
    """
    lost = _lost(ctx.state.scram, request)
    changes = [*request.deletions, *request.upsertions]
    names = [change.name for change in changes]
    rows = []
    for change in {change.name: change for change in changes}.values():
        code, message = 0, None
        try:
            if names.count(change.name) > 1:
                text = "A user credential cannot be altered twice in the same request"
                raise RefusedError(Code.DUPLICATE_RESOURCE, text)
            _alter(ctx.state.scram, change)
        except RefusedError as refused:
            code, message = refused.code, refused.message
        rows.append(AlterUserScramCredentialsResult(user=change.name, error_code=code, error_message=message))
    for key in lost | (ctx.state.scram.losses & {(one.name, one.mechanism) for one in request.upsertions}):
        ctx.state.scram.changed[key] = None
    ctx.state.changed()
    return AlterUserScramCredentialsResponse(results=rows)


def _lost(store: ScramStore, request: AlterUserScramCredentialsRequest) -> set[Key]:
    deleted = {(one.name, one.mechanism) for one in request.deletions}
    emptied = {mechanism for _, mechanism in deleted} - {
        mechanism for _, mechanism in store.all().keys() - deleted
    }
    return {(one.name, one.mechanism) for one in request.upsertions if one.mechanism in emptied}


def _alter(store: ScramStore, change: ScramCredentialDeletion | ScramCredentialUpsertion) -> None:
    key = change.name, change.mechanism
    if not change.name:
        raise RefusedError(Code.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if change.mechanism not in DIGESTS:
        raise RefusedError(Code.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(change, ScramCredentialDeletion):
        if key not in store.all():
            text = "Attempt to delete a user credential that does not exist"
            raise RefusedError(Code.RESOURCE_NOT_FOUND, text)
        store.changed[key] = None
        return
    if not _FEWEST <= change.iterations <= _MOST:
        few = "few" if change.iterations < _FEWEST else "many"
        raise RefusedError(Code.UNACCEPTABLE_CREDENTIAL, f"Too {few} iterations")
    digest, salt, salted = DIGESTS[change.mechanism], bytes(change.salt), bytes(change.salted_password)
    store.changed[key] = Credential.of_salted(digest, salt, change.iterations, salted)


def refused_users(request: AlterUserScramCredentialsRequest, code: int) -> AlterUserScramCredentialsResponse:
    """The answer in which every user is refused."""
    names = dict.fromkeys(change.name for change in (*request.deletions, *request.upsertions))
    rows = [AlterUserScramCredentialsResult(user=name, error_code=code, error_message=None) for name in names]
    return AlterUserScramCredentialsResponse(results=rows)
