"""The old name of `early_uncertainty`; it goes with version 0.2."""

from __future__ import annotations

from typing import Any

from hippozoo.zoo.forecasting._renamed import renamed

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    return renamed(__name__, name, {"Caution": "early_uncertainty.EarlyUncertainty"})
