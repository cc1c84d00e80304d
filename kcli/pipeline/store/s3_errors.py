"""Errors of botocore as kcli's. Pure: they are known by the names of their classes, and by S3's codes."""

from typing import Any

from kcli.core.errors import ConfigError, KcliError
from kcli.pipeline.store.errors import StoreDeniedError, StoreError, away, no_bucket, text_of

_DENIED = {
    "AccessDenied",
    "AccountProblem",
    "AllAccessDisabled",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidToken",
    "SignatureDoesNotMatch",
    "TokenRefreshRequired",
    "403",
    "401",
}
_CLOCK = {"RequestTimeTooSkewed"}
_OTHER_REGION = {
    "AuthorizationHeaderMalformed",
    "IllegalLocationConstraintException",
    "PermanentRedirect",
    "TemporaryRedirect",
    "301",
    "307",
}
_NO_CREDENTIALS = {
    "CredentialRetrievalError",
    "NoAuthTokenError",
    "NoCredentialsError",
    "PartialCredentialsError",
    "SSOTokenLoadError",
    "TokenRetrievalError",
    "UnauthorizedSSOTokenError",
}
_SETTINGS = {
    "ConfigNotFound",
    "ConfigParseError",
    "InvalidConfigError",
    "InvalidEndpointConfigurationError",
    "InvalidRegionError",
    "NoRegionError",
    "ParamValidationError",
    "ProfileNotFound",
}
_CHAIN = (
    "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run where a role gives credentials"
)
_ENDPOINT = "AWS_ENDPOINT_URL, if it is set"


def code_of(error: BaseException) -> str:
    """S3's code; where an answer has none, that of HTTP; empty for an error of another kind."""
    response: Any = getattr(error, "response", None)
    if not isinstance(response, dict):
        return ""
    code = str(response.get("Error", {}).get("Code", ""))
    return code or str(response.get("ResponseMetadata", {}).get("HTTPStatusCode", ""))


def s3_error(error: BaseException, url: str, bucket: str, name: str) -> KcliError:
    """``url`` is the store's, in ``bucket``; ``name`` what the request was about."""
    code, kinds = code_of(error), {each.__name__ for each in type(error).__mro__}
    if code:
        return _refused(error, code, url, bucket, name)
    if kinds & _NO_CREDENTIALS:
        return no_credentials(url, text_of(error))
    if kinds & _SETTINGS or isinstance(error, ValueError):
        return ConfigError(
            f"{url}: the settings for the store are not valid",
            why=text_of(error),
            do="correct the variables AWS_* or the files in ~/.aws",
        )
    if kinds & {"HTTPClientError", "ConnectionError", "OSError"}:
        return away(name, text_of(error), _ENDPOINT)
    return StoreError(f"{name}: the store failed", why=f"{type(error).__name__}: {text_of(error)}")


def no_credentials(url: str, why: str = "AWS's usual chain has none") -> StoreDeniedError:
    """The error for a process without credentials."""
    return StoreDeniedError(f"{url}: no credentials", why=why, do=_CHAIN)


def _refused(error: BaseException, code: str, url: str, bucket: str, name: str) -> KcliError:
    response: Any = error.response  # type: ignore[attr-defined]
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    found = response.get("Error", {})
    why = f"{code}: {found.get('Message', '')}".rstrip(": ")
    if code == "NoSuchBucket":
        return no_bucket(url, f"bucket {bucket}")
    if code in _CLOCK:
        return StoreDeniedError(f"{name}: access denied", why=why, do="set the clock of this machine")
    if code in _DENIED:
        return StoreDeniedError(
            f"{name}: access denied",
            why=why,
            do="allow s3:ListBucket, s3:ListBucketMultipartUploads, s3:GetObject, s3:PutObject, s3:DeleteObject and "
            "s3:AbortMultipartUpload there, or choose other credentials: AWS_PROFILE",
        )
    if code in _OTHER_REGION:
        headers = response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
        region = found.get("Region") or headers.get("x-amz-bucket-region") or "REGION"
        return ConfigError(
            f"{url}: bucket {bucket} is in another region", why=why, do=f"set AWS_REGION={region}"
        )
    if status >= 500 or code in ("SlowDown", "RequestTimeout", "Throttling", "429"):
        return away(name, why, _ENDPOINT)
    return StoreError(f"{name}: the store refused a request", why=why)
