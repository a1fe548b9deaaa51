"""Shortens the durations of rules and of Alertmanager's configuration, and changes nothing else.

An hour becomes two seconds, but nothing becomes shorter than a second, the interval of scrapes and evaluations.
So a day, which layout drift looks back to, is 48 seconds. Ranges ([1h]) stay: no history here is longer.

>>> shorten("for: 6h")
'for: 12s'
>>> shorten("  keep_firing_for: 15m")
'  keep_firing_for: 1s'
>>> shorten("x / (x offset 1w > 0) and rate(y[1h])")
'x / (x offset 336s > 0) and rate(y[1h])'
>>> shorten("  group_interval: 5m  # often")
'  group_interval: 1s  # often'
>>> shorten("for: 1d12h")
'for: 72s'
>>> shorten("description: down for 15 minutes, for 2h: repeat_interval: 4h")
'description: down for 15 minutes, for 2h: repeat_interval: 4h'
"""

import re

HOUR = 2
UNITS = {"ms": 1 / 3600000, "s": 1 / 3600, "m": 1 / 60, "h": 1, "d": 24, "w": 168, "y": 8760}
PLACES = re.compile(
    r"(^\s*(?:for|keep_firing_for|group_wait|group_interval): |\boffset )((?:\d+(?:ms|[smhdwy]))+)\b",
    re.MULTILINE,
)


def seconds(duration):
    """What a duration is shortened to."""
    hours = sum(int(number) * UNITS[unit] for number, unit in re.findall(r"(\d+)(ms|[smhdwy])", duration))
    return max(1, round(hours * HOUR))


def shorten(text):
    return PLACES.sub(lambda place: f"{place[1]}{seconds(place[2])}s", text)
