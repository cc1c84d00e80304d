"""``--partition-by``: the days or hours of a zone that are folders of an export, named in Hive's style. Pure."""

import datetime
import zoneinfo

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.core.near_names import near_names

NO_TIME = "__HIVE_DEFAULT_PARTITION__"
"""Hive's name for null: of records without a time, and with one after the year 9998."""
UNITS = ("date", "hour")


class PartitionBy(NamedTuple):
    """``unit``: ``date`` or ``hour``; ``zone``: a name of IANA. Keys are days or hours since the epoch on clocks of the
    zone: an hour that a clock shows twice is one folder, and one that it skips is none.
    """

    unit: str
    zone: str

    def __str__(self) -> str:
        return f"{self.unit}={self.zone}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that readers see."""
        return UNITS[: UNITS.index(self.unit) + 1]

    def folder(self, key: int | None) -> str:
        """The folders of a key, such as ``date=2026-11-29/hour=05``; None: of records without a time."""
        if key is None:
            return "/".join(f"{name}={NO_TIME}" for name in self.columns)
        days, hour = divmod(key, 24) if self.unit == "hour" else (key, 0)
        date = datetime.date(1970, 1, 1) + datetime.timedelta(days=days)
        return f"date={date}/hour={hour:02}" if self.unit == "hour" else f"date={date}"


def parse_partition_by(text: str) -> PartitionBy:
    """``date``, ``hour``, ``date=ZONE`` or ``hour=ZONE``; ConfigError for anything else."""
    unit, equals, zone = text.partition("=")
    if unit not in UNITS or (equals and not zone):
        near = near_names(unit, UNITS)
        raise ConfigError(
            f"--partition-by {text}: there are no such folders",
            why="folders are of date or hour, of UTC or of a zone: hour=Europe/Berlin",
            do=f"did you mean {near[0]}?" if near else "",
        )
    zone = zone or "UTC"
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        near = near_names(zone, sorted(zoneinfo.available_timezones()))
        raise ConfigError(
            f"--partition-by {text}: there is no such time zone",
            why="it is a name of IANA's, such as Europe/Berlin",
            do=f"did you mean {unit}={near[0]}?" if near else "",
        ) from None
    return PartitionBy(unit, zone)
