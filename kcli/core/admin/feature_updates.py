"""Changes the finalized levels of features (KIP-584, KIP-1022). Brokers forward it to the active controller."""

from collections.abc import Mapping

from kcli.core.classes import IntEnum
from kcli.core.cluster.cluster import CONTROLLER, Cluster
from kcli.core.error_codes import NONE
from kcli.core.errors import BrokerError, KcliError
from kcli.core.permissions import on_cluster
from kcli.core.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)


class LevelChange(IntEnum):
    """What a change of levels may do, with Kafka's numbers. A safe downgrade loses no metadata."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


def update_features(
    cluster: Cluster,
    levels: Mapping[str, int],
    change: LevelChange,
    deadline: float,
    *,
    validate_only: bool = False,
) -> dict[str, KcliError | None]:
    """Finalizes these levels, by feature; None on success. Level 0 switches a feature off.

    Controllers since Kafka 4.0 change all of them or none. ``validate_only`` and unsafe downgrades need Kafka 3.3.
    """
    what = f"changing the levels of {', '.join(levels)}"
    request = UpdateFeaturesRequest(
        timeout_ms=max(1, int((deadline - cluster.loop.now()) * 1000)),
        feature_updates=[
            FeatureUpdateKey(
                feature=name,
                max_version_level=level,
                allow_downgrade=change is not LevelChange.UPGRADE,
                upgrade_type=int(change),
            )
            for name, level in levels.items()
        ],
        validate_only=validate_only,
    )
    if validate_only or change is LevelChange.UNSAFE_DOWNGRADE:
        request.require_version(1)  # older ones would make the change, and know downgrades of one kind only

    def check(response: UpdateFeaturesResponse) -> dict[str, KcliError | None]:
        answers = dict[str, KcliError | None](
            dict.fromkeys(levels, _error(response.error_code, what, response.error_message))
        )
        for row in response.results:
            if row.feature in answers and row.error_code != NONE:
                of_one = f"changing the level of feature {row.feature}"
                answers[row.feature] = _error(row.error_code, of_one, row.error_message)
        return answers

    return cluster.call(lambda: cluster.send(request, CONTROLLER), check, deadline, what)


def _error(code: int, what: str, message: str | None) -> KcliError | None:
    if code == NONE:
        return None
    return BrokerError(code, what, message=message or "", needs=[on_cluster("ALTER")])
