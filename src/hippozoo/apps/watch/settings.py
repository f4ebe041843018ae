"""What a watch is asked to do, and what it does: as it was begun, changed where something else is asked for."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

from hippozoo.apps.watch.problem import WatchError
from hippozoo.monitor import NEVER, Monitor, Plan, Rules, Silence
from hippozoo.monitor.monitor import ORDER
from hippozoo.monitor.rules import parse_duration

__all__ = [
    "ARITHMETIC",
    "MOST_BYTES",
    "Settings",
    "adapt_size",
    "arithmetic_of",
    "asked_rules",
    "check_size",
    "rules_from",
    "rules_to",
    "say_too_many",
    "held_bytes",
]

# Raise it with every change of the forecaster, the bands or the detector that changes their numbers; a test that
# compares some of them with `tests/fixtures/arithmetic.json` reminds of it.
ARITHMETIC = 4

# Steps ahead, and coefficients of a history, where nobody says how many, and what they are cut to for many sensors.
_SIZES = ((24, ORDER), (12, ORDER), (6, ORDER), (6, 12), (3, 8), (1, 8))
# States of all sensors together, or of each, that make nothing smaller necessary.
_FREE_BYTES, _FREE_EACH = 50_000_000, 100_000
# States of all sensors that are held in memory; others wait in the database. With the program (205 MB), the objects
# around each state (10 kB) and a batch, 10,000 sensors take 1 GB.
MOST_BYTES = 650_000_000
# SQLite holds no more than a gigabyte in one piece.
_LARGEST_STATE = 500_000_000
# Steps of a season times columns: some 1.7 kB each while it works, measured at a season of 1,000,000, so 170 MB.
_MOST_SEASON, _SEASON_BYTES = 100_000, 1700


@dataclass(frozen=True)
class Settings:
    """What a watch is asked to do, by the names of the options; what is None is as the database says, or as usual."""

    source: str
    columns: tuple[str, ...] = ()
    time: str | None = None
    horizon: int | None = None
    season: int | None = None
    every: float | None = None
    rate: float | None = None
    follow: bool = False
    strict: bool = False
    keep: int | None = None
    batch: int | None = None
    panel: tuple[str, ...] = ()
    silence: str | None = None
    no_data: str | None = None

    @property
    def period(self) -> int | None:
        """The season; None for none."""
        return None if self.season is None or self.season < 2 else self.season


def _first_state(plan: Plan) -> bytes:
    return Monitor(replace(plan, every=plan.every or 1.0)).to_bytes()


def state_bytes(plan: Plan) -> int:
    """How large the state of a sensor is where it is saved."""
    return len(_first_state(plan))


def held_bytes(plan: Plan) -> int:
    """How much memory a sensor takes: its state, and the maps that follow from it."""
    stream = plan.stream(plan.every or 1.0)
    return state_bytes(plan) + stream.forecaster.mixer.maps(stream.state.mixture).nbytes


def arithmetic_of(plan: Plan) -> str:
    """A name for the arithmetic of a plan, without its rules: its number, what was asked for, and the state's layout.

    A state is gone on with by the same arithmetic only, and else rebuilt from the readings. The layout is found, not
    declared, so that a state that has come to be laid out anew is never taken for the old one.
    """
    # The header of a safetensors file tells the name, type and shape of every array; it stands after mark and version.
    data = _first_state(plan)[17:]
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    arrays = {name: (one["dtype"], one["shape"]) for name, one in header.items() if name != "__metadata__"}
    asked = [plan.channels, plan.horizon, plan.season, plan.every, plan.timed, plan.order]
    layout = hashlib.sha256(json.dumps([asked, sorted(arrays.items())]).encode()).hexdigest()[:16]
    return f"{ARITHMETIC} {layout}"


def rules_to(rules: Rules) -> dict[str, Any]:
    """Rules as a database keeps them."""
    no_data = "never" if rules.no_data == NEVER else rules.no_data
    return {"rate": rules.rate, "silence": str(rules.silence), "no_data": no_data}


def rules_from(kept: dict[str, Any]) -> Rules:
    """Rules that a database kept; those before format 7 kept a rate only."""
    no_data = kept.get("no_data", Rules().no_data)
    silence = Silence.parse(str(kept.get("silence", Silence())))
    return Rules(float(kept["rate"]), silence, NEVER if no_data == "never" else float(no_data))


def asked_rules(asked: Settings, known: Rules, every: float | None) -> Rules:
    """The rules that are asked for, and as before where nothing is asked."""
    try:
        rules = known if asked.rate is None else replace(known, rate=float(asked.rate))
        if asked.silence is not None:
            rules = replace(rules, silence=Silence.parse(asked.silence))
        if asked.no_data is not None:
            if asked.no_data == "never":
                return replace(rules, no_data=NEVER)
            length, seconds = parse_duration(asked.no_data)
            if seconds and every is None:
                raise ValueError(f"--no-data {asked.no_data}: the usual step is not known; pass --every, or steps.")
            rules = replace(rules, no_data=length / (every or 1.0) if seconds else length)
    except ValueError as error:
        raise WatchError(str(error)) from None
    return rules


def say_too_many(rules: Rules, every: float) -> str:
    """What to say of a rate that silences make impossible; else empty."""
    silence = rules.silence
    readings = silence.readings if silence.seconds is None else silence.seconds / every
    most = 1000 / max(readings, 1.0)
    if rules.rate <= most:
        return ""
    return (
        f"--rate {rules.rate:g}: after each alarm {readings:g} readings are mostly silent, so that so many alarms "
        f"cannot come in 1,000; pass at most {most:.3g}, or a shorter --silence."
    )


def check_size(asked: Settings, channels: int) -> None:
    """Refuse a season or a horizon whose state would not fit, before a file is made."""
    longest = _MOST_SEASON // channels
    if asked.season is not None and asked.season > longest:
        size = asked.season * channels * _SEASON_BYTES / 1e6
        raise WatchError(
            f"--season {asked.season} would take some {size:,.0f} MB of memory; pass at most {longest} for {channels} "
            f"columns ({_MOST_SEASON * _SEASON_BYTES / 1e6:,.0f} MB), or thin out the rows."
        )
    # Larger states would be measured by building them; a small one tells how they grow.
    most = int(_LARGEST_STATE / (state_bytes(Plan(1, 8)) / 8) / channels)
    if asked.horizon is not None and asked.horizon > most:
        raise WatchError(
            f"--horizon {asked.horizon} is too long: the state of a sensor, which is kept again and again, would be "
            f"larger than {_LARGEST_STATE / 1e6:,.0f} MB; pass at most {most} for {channels} columns."
        )


def adapt_size(asked: Settings, channels: int, sensors: int) -> tuple[int, int]:
    """Horizon and order: as asked for, or the largest with which the states of all sensors fit into memory.

    Examples
    --------
    >>> asked = Settings("long.csv")
    >>> adapt_size(asked, 1, 1), adapt_size(asked, 1, 500), adapt_size(asked, 1, 10_000)
    ((24, 48), (6, 12), (3, 8))
    >>> adapt_size(Settings("long.csv", horizon=24), 1, 10_000)
    (24, 48)
    """
    if asked.horizon is not None:
        return asked.horizon, ORDER
    for horizon, order in _SIZES:
        size = held_bytes(Plan(channels, horizon, asked.period, order=order))
        free = max(_FREE_BYTES, min(_FREE_EACH * sensors, MOST_BYTES))
        if size * sensors <= free and size <= _LARGEST_STATE:
            return horizon, order
    return _SIZES[-1]
