"""Strange readings for river: forecasts of every feature, and how often a quiet stream looks as strange."""

from __future__ import annotations

import math
from typing import Any

from river.base import AnomalyDetector

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo.ensemble import Alarm, ForecastStream, forecaster_for
from hippozoo.estimators._settings import one_number
from hippozoo.tables.numbers import LARGEST

__all__ = ["RiverHippoDetector"]


class RiverHippoDetector(AnomalyDetector):
    """Tells strange readings by their forecasts: spikes, and changes of level, of spread and of rhythm.

    The score of a reading is 1 - p of its strangest feature; p is how often, per reading, a quiet stream begins to look
    at least so strange. It has a meaning without labels: a threshold of 0.999 gives about one alarm in 1,000 quiet
    readings. Since one event is one alarm, p is 1/150 at most once a stream is known, and usual readings score about
    0.993. The order of readings matters, since each is compared with what the ones before let expect.

    Features may come and go: a new one begins a stream of its own, and one that is missing lets its time pass.

    Parameters
    ----------
    horizon
        How many steps ahead are learnt; it sets how far back a forecast looks.
    season
        A period that the readings may have, in steps.
    forgetting
        Steps in which what was learnt fades to 1/e, for streams that drift.
    rate
        Alarms wanted per 1,000 quiet readings of a feature; see `alarms`.

    Examples
    --------
    >>> import math, random
    >>> from hippozoo.estimators import RiverHippoDetector
    >>> rng, model = random.Random(0), RiverHippoDetector()
    >>> for t in range(500):
    ...     model.learn_one({"flow": math.sin(t / 4) + rng.gauss(0, 0.1)})
    >>> model.score_one({"flow": math.sin(125)}) < 0.999 < model.score_one({"flow": 5.0})
    True
    >>> model.learn_one({"flow": 5.0})
    >>> model.alarms["flow"].kind
    'spike'
    """

    def __init__(
        self,
        horizon: int = 8,
        season: float | int | None = None,
        forgetting: float | int | None = None,
        rate: float | int = 1.0,
    ) -> None:
        steps = whole_number("horizon", horizon, why="how many steps ahead are learnt")
        self.horizon = horizon
        self.season = season
        self.forgetting = forgetting
        self.rate = rate
        self._forecaster = forecaster_for(steps, season=season, forgetting=forgetting)
        self._begun()  # complains about a rate now, not at the first reading
        self._streams: dict[Any, ForecastStream] = {}
        self._alarms: dict[Any, Alarm] = {}

    def learn_one(self, x: dict[Any, Any]) -> None:
        """Take in one reading of every feature."""
        values = {name: _number(name, value) for name, value in x.items()}
        alarms: dict[Any, Alarm] = {}
        for name in (*self._streams, *(name for name in values if name not in self._streams)):
            stream = self._streams.setdefault(name, self._begun())
            pushed = stream.push(values.get(name, math.nan))
            if pushed is not None and pushed.alarm is not None:
                alarms[name] = pushed.alarm
        self._alarms = alarms

    def score_one(self, x: dict[Any, Any]) -> float:
        """1 - p of the strangest feature, if this reading came now; nothing is learnt."""
        values = {name: _number(name, value) for name, value in x.items()}
        known = [self._streams[name].judge(value).p for name, value in values.items() if name in self._streams]
        return 1.0 - min(known, default=1.0)

    @property
    def alarms(self) -> dict[Any, Alarm]:
        """Of the last reading that was learnt, by feature; empty for most. One event gives one alarm."""
        return dict(self._alarms)

    @property
    def streams(self) -> dict[Any, ForecastStream]:
        """The stream of every feature: its forecast, and what it has learnt."""
        return dict(self._streams)

    def state_dict(self) -> dict[str, Any]:
        """All that was learnt, for `hippozoo.checkpoint`; the last alarms are not kept."""
        return {"streams": [(name, stream.state_dict()) for name, stream in self._streams.items()]}

    def load_state_dict(self, known: dict[str, Any]) -> None:
        """Go on where another detector of the same settings stood."""
        streams = {}
        for name, state in known["streams"]:
            streams[name] = self._begun()
            streams[name].load_state_dict(state)
        self._streams, self._alarms = streams, {}

    def _begun(self) -> ForecastStream:
        return ForecastStream(self._forecaster, rate=self.rate)

    @classmethod
    def _unit_test_params(cls) -> Any:
        yield {"horizon": 4}


def _number(name: Any, value: Any) -> float:
    """A reading as one number; NaN where it is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return math.nan
    number = one_number(f"x[{name!r}]", value, "encode it, or pass None if it is missing")
    if abs(number) > LARGEST:
        raise ValueError(f"x[{name!r}]={shorten(value)} is too large; pass a number below {LARGEST:g}.")
    return number
