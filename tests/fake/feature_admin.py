"""The levels of features as a controller of Kafka 4 keeps them: all of a request are changed, or none."""

from typing import TYPE_CHECKING

from kcli.core.admin.feature_levels import METADATA_VERSION, lowest_return
from kcli.core.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from tests.fake.codes import Code

if TYPE_CHECKING:
    from tests.fake.state import Context, State

UPGRADE, SAFE, _UNSAFE = 1, 2, 3
_BY_FEATURE = 1


def supported(state: "State") -> dict[str, tuple[int, int]]:
    """The levels that all nodes support."""
    return {
        METADATA_VERSION: (7, state.settings.newest_metadata_version),
        "transaction.version": (0, 2),
        **state.settings.further_features,
    }


def finalized(state: "State") -> dict[str, int]:
    """Those that are in effect; a feature at level 0 is left out."""
    found = {
        METADATA_VERSION: state.settings.metadata_version,
        "transaction.version": state.settings.transaction_version,
        "kraft.version": state.quorum.kraft_version,
        **state.further_levels,
    }
    return {name: level for name, level in found.items() if level}


def _refusal(state: "State", update: FeatureUpdateKey, version: int) -> str:
    name, level = update.feature, update.max_version_level
    known, now = supported(state), finalized(state).get(update.feature, 0)
    if name not in known:
        return f"Invalid update version {level} for feature {name}. Local controller 1 does not support this feature."
    low, high = known[name]
    if level and not low <= level <= high:
        only = f"Local controller 1 only supports versions {low}-{high}"
        return f"Invalid update version {level} for feature {name}. {only}"
    kind = update.upgrade_type if version else SAFE if update.allow_downgrade else UPGRADE
    if level < now and kind == UPGRADE:
        return (
            f"Invalid update version {level} for feature {name}. Can't downgrade the version of this feature without "
            "setting the upgrade type to either safe or unsafe downgrade."
        )
    if name == METADATA_VERSION and level < lowest_return(now):
        return (
            f"Unsupported metadata.version downgrade from {now} to {level}. "
            + ("Unsafe metadata downgrade is not supported in this version." if kind == _UNSAFE else "")
            + (
                "Refusing to perform the requested downgrade because it might delete metadata information."
                if kind == SAFE
                else ""
            )
        )
    return ""


async def update_features(ctx: "Context", request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    """Validates, and changes unless that is all."""
    state = ctx.state
    reasons = [_refusal(state, update, ctx.version) for update in request.feature_updates]
    code, message = 0, None
    if reason := next(filter(None, reasons), ""):
        code = Code.INVALID_UPDATE_VERSION
        message = f"The update failed for all features since the following feature had an error: {reason}"
    elif not request.validate_only:
        for update in request.feature_updates:
            _finalize(state, update.feature, update.max_version_level)
        state.changed()
    if ctx.version > _BY_FEATURE:
        return UpdateFeaturesResponse(throttle_time_ms=0, error_code=code, error_message=message)
    rows = [
        UpdatableFeatureResult(feature=update.feature, error_code=code, error_message=message)
        for update in request.feature_updates
    ]
    return UpdateFeaturesResponse(throttle_time_ms=0, error_code=0, error_message=None, results=rows)


def _finalize(state: "State", name: str, level: int) -> None:
    if name == METADATA_VERSION:
        state.settings.metadata_version = level
    elif name == "transaction.version":
        state.settings.transaction_version = level
    elif name == "kraft.version":
        state.quorum.kraft_version = level
    else:
        state.further_levels[name] = level
