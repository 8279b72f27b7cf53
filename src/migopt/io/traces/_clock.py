"""Clocks of traces: wall-clock text and seconds since 1970, with or without a time zone.

Arrivals sit on the wall clock, so that arrival modulo a day is the time of day. Run times are true
elapsed seconds wherever the zone is known: across a change of summer time the two differ by an hour.
"""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, available_timezones

from pydantic import Field

from migopt.errors import UnknownNameError
from migopt.io.traces._import_options import ImportOptions
from migopt.units import MAX_TIME_MS

_EPOCH = datetime(1970, 1, 1)
#: Offsets of zones change at whole multiples of this many seconds only.
_BLOCK_S = 900
_LIMIT_S = MAX_TIME_MS / 1000
DAY_S = 86_400


class ZonedOptions(ImportOptions):
    """Options of formats whose clock can be put into a time zone."""

    tz: str = Field(
        "",
        description="IANA time zone of the trace's clock, e.g. America/Los_Angeles "
        "(default: what the format states, else days of 24 h and no summer time)",
    )


def zone(name: str, option: str = "tz") -> ZoneInfo | None:
    """Return a time zone, None for the empty name; raises UnknownNameError with the nearest."""
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise UnknownNameError("time zone", name, available_timezones(), where=option) from None


class Zone:
    """Shifts between seconds since 1970 (UTC) and a zone's wall clock; without a zone, none."""

    def __init__(self, place: tzinfo | None) -> None:
        self.place = place
        self.from_utc: dict[float, int] = {}
        self.from_wall: dict[float, int] = {}

    def wall(self, utc_s: float) -> float:
        """Return what the wall clock shows, in seconds since 1970 on that clock."""
        if self.place is None:
            return utc_s
        block = utc_s // _BLOCK_S
        shift = self.from_utc.get(block)
        if shift is None:
            moment = datetime.fromtimestamp(block * _BLOCK_S, self.place)
            shift = self.from_utc[block] = _seconds(moment.utcoffset())
        return utc_s + shift

    def utc(self, wall_s: float) -> float:
        """Return seconds since 1970; of an hour that the clock shows twice, the first."""
        if self.place is None:
            return wall_s
        block = wall_s // _BLOCK_S
        shift = self.from_wall.get(block)
        if shift is None:
            moment = _EPOCH + timedelta(seconds=block * _BLOCK_S)
            shift = self.from_wall[block] = _seconds(moment.replace(tzinfo=self.place).utcoffset())
        return wall_s - shift


def _seconds(offset: timedelta | None) -> int:
    return 0 if offset is None else round(offset.total_seconds())


def wall_seconds(text: str) -> float:
    """Read ``YYYY-MM-DD HH:MM:SS`` (or with T, or with a fraction) as seconds since 1970.

    Raises ValueError for anything else.
    """
    try:
        return _DAYS[text[:10]] + _CLOCKS[text[10:]]
    except KeyError:
        return _parsed(text)


#: Seconds by date and by time of day as written; a log of years has few of either.
_DAYS: dict[str, int] = {}
_CLOCKS: dict[str, int] = {}


def _parsed(text: str) -> float:
    if len(text) < 19 or text[4] != "-" or text[13] != ":":
        raise ValueError(text)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None or not 1902 <= moment.year < 2400:
        raise ValueError(text)
    since = moment - _EPOCH
    # Fractions are not kept, there may be as many as rows; nor is 24:00:00, which is the next day.
    if len(text) == 19 and text[11:13] != "24" and not since.microseconds:
        _DAYS[text[:10]] = since.days * DAY_S
        _CLOCKS[text[10:]] = since.seconds
    seconds = since.days * DAY_S + since.seconds
    return seconds + since.microseconds / 1e6 if since.microseconds else seconds


def number(text: str) -> float:
    """Read a number of at least 0 and below the greatest time in seconds; raises ValueError."""
    if text.isdecimal() and len(text) < 10:
        return int(text)
    value = float(text)
    if not 0 <= value < _LIMIT_S:
        raise ValueError(text)
    # Whole seconds stay integers: exact, and faster to turn into milliseconds.
    return int(value) if value.is_integer() else value
