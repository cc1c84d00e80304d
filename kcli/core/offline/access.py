"""Who may do what, as the metadata log has it: ACLs, users with SCRAM credentials, client quotas, delegation tokens.

No secret leaves the log directories: keys and salts of credentials are in no answer, and a token's HMAC is not stored.
"""

from kcli.core.error_codes import NONE, RESOURCE_NOT_FOUND
from kcli.core.offline.directories import Directories
from kcli.core.offline.image import Entity, MetadataImage
from kcli.core.offline.metadata_log import NotHereError
from kcli.core.protocol.messages import describe_acls as acls
from kcli.core.protocol.messages import describe_client_quotas as quotas
from kcli.core.protocol.messages import describe_delegation_token as tokens
from kcli.core.protocol.messages import describe_user_scram_credentials as scram
from kcli.core.protocol.stored.metadata_records import AccessControlEntryRecord, DelegationTokenRecord

_ANY = 1
_MATCH, _LITERAL, _PREFIXED = 2, 3, 4
_EXACT, _DEFAULT = 0, 1


def describe_acls(
    directories: Directories, request: acls.DescribeAclsRequest, _version: int
) -> acls.DescribeAclsResponse:
    """Those that the filter matches (KIP-290)."""
    try:
        known = directories.image()
    except NotHereError as error:
        code, message = error.code, error.why
        return acls.DescribeAclsResponse(
            throttle_time_ms=0, error_code=code, error_message=message, resources=[]
        )
    found: dict[tuple[int, str, int], list[acls.AclDescription]] = {}
    for one in known.acls.values():
        if _matches(request, one):
            found.setdefault((one.resource_type, one.resource_name, one.pattern_type), []).append(
                acls.AclDescription(
                    principal=one.principal,
                    host=one.host,
                    operation=one.operation,
                    permission_type=one.permission_type,
                )
            )
    return acls.DescribeAclsResponse(
        throttle_time_ms=0,
        error_code=NONE,
        error_message=None,
        resources=[
            acls.DescribeAclsResource(resource_type=kind, resource_name=name, pattern_type=pattern, acls=rows)
            for (kind, name, pattern), rows in found.items()
        ],
    )


def _matches(wanted: acls.DescribeAclsRequest, one: AccessControlEntryRecord) -> bool:
    return (
        wanted.resource_type_filter in (_ANY, one.resource_type)
        and wanted.operation in (_ANY, one.operation)
        and wanted.permission_type in (_ANY, one.permission_type)
        and wanted.principal_filter in (None, one.principal)
        and wanted.host_filter in (None, one.host)
        and _applies(wanted.pattern_type_filter, wanted.resource_name_filter, one)
    )


def _applies(pattern: int, name: str | None, one: AccessControlEntryRecord) -> bool:
    if pattern not in (_ANY, _MATCH, one.pattern_type):
        return False
    if name is None or name == one.resource_name:
        return True
    if pattern != _MATCH:
        return False
    if one.pattern_type == _PREFIXED:
        return name.startswith(one.resource_name)
    return one.pattern_type == _LITERAL and one.resource_name == "*"


def describe_user_scram_credentials(
    directories: Directories, request: scram.DescribeUserScramCredentialsRequest, _version: int
) -> scram.DescribeUserScramCredentialsResponse:
    """Mechanisms and iterations; no users, or null, means all."""
    try:
        known = directories.image()
    except NotHereError as error:
        code, message = error.code, error.why
        return scram.DescribeUserScramCredentialsResponse(
            throttle_time_ms=0, error_code=code, error_message=message, results=[]
        )
    names = [user.name for user in request.users or ()] or sorted({name for name, _mechanism in known.scram})
    return scram.DescribeUserScramCredentialsResponse(
        throttle_time_ms=0,
        error_code=NONE,
        error_message=None,
        results=[_user(known, name) for name in dict.fromkeys(names)],
    )


def _user(known: MetadataImage, user: str) -> scram.DescribeUserScramCredentialsResult:
    infos = [
        scram.CredentialInfo(mechanism=mechanism, iterations=one.iterations)
        for (name, mechanism), one in sorted(known.scram.items())
        if name == user
    ]
    return scram.DescribeUserScramCredentialsResult(
        user=user,
        error_code=NONE if infos else RESOURCE_NOT_FOUND,
        error_message=None if infos else "the metadata log has no credential of this user",
        credential_infos=infos,
    )


def describe_client_quotas(
    directories: Directories, request: quotas.DescribeClientQuotasRequest, _version: int
) -> quotas.DescribeClientQuotasResponse:
    """Those of the entities that have all components that are asked for; with ``strict``, and no others."""
    try:
        known = directories.image()
    except NotHereError as error:
        code, message = error.code, error.why
        return quotas.DescribeClientQuotasResponse(
            throttle_time_ms=0, error_code=code, error_message=message, entries=None
        )
    return quotas.DescribeClientQuotasResponse(
        throttle_time_ms=0,
        error_code=NONE,
        error_message=None,
        entries=[
            quotas.EntryData(
                entity=[quotas.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
                values=[quotas.ValueData(key=key, value=value) for key, value in sorted(values.items())],
            )
            for entity, values in known.quotas.items()
            if _has(entity, request)
        ],
    )


def _has(entity: Entity, wanted: quotas.DescribeClientQuotasRequest) -> bool:
    parts = dict(entity)
    for one in wanted.components:
        if one.entity_type not in parts:
            return False
        name = parts[one.entity_type]
        if (one.match_type == _EXACT and name != one.match) or (
            one.match_type == _DEFAULT and name is not None
        ):
            return False
    return not wanted.strict or len(parts) == len(wanted.components)


def describe_delegation_token(
    directories: Directories, request: tokens.DescribeDelegationTokenRequest, _version: int
) -> tokens.DescribeDelegationTokenResponse:
    """Those of the owners, without the HMAC; no owners, or null, means all."""
    known = directories.image()
    owners = {f"{one.principal_type}:{one.principal_name}" for one in request.owners or ()}
    return tokens.DescribeDelegationTokenResponse(
        error_code=NONE,
        tokens=[_token(one) for one in known.tokens.values() if not owners or one.owner in owners],
        throttle_time_ms=0,
    )


def _token(one: DelegationTokenRecord) -> tokens.DescribedDelegationToken:
    owner_type, _, owner = one.owner.partition(":")
    requester_type, _, requester = one.requester.partition(":")
    renewers = [renewer.partition(":") for renewer in one.renewers]
    return tokens.DescribedDelegationToken(
        principal_type=owner_type,
        principal_name=owner,
        token_requester_principal_type=requester_type,
        token_requester_principal_name=requester,
        issue_timestamp=one.issue_timestamp,
        expiry_timestamp=one.expiration_timestamp,
        max_timestamp=one.max_timestamp,
        token_id=one.token_id,
        hmac=b"",
        renewers=[
            tokens.DescribedDelegationTokenRenewer(principal_type=kind, principal_name=name)
            for kind, _, name in renewers
        ],
    )
