"""Whether what was saved of a stream fits the stream that is to go on with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from hippozoo.ensemble.detector import DetectorState
from hippozoo.ensemble.state import EnsembleState

__all__ = ["check_saved"]


def check_saved(known: dict[str, Any], present: dict[str, Any]) -> None:
    """Refuse a ``state_dict()`` that is not one of a stream configured like the `present` one."""
    if set(known) != set(present):
        raise ValueError(f"a stream knows {sorted(present)}, given {sorted(known)}; pass what state_dict() returned.")
    if not isinstance(known["learnt"], EnsembleState) or not isinstance(known["watched"], DetectorState):
        raise TypeError("learnt and watched are not states of a forecaster and a detector; pass a state_dict().")
    channels = present["learnt"].channels
    if known["learnt"].channels != channels or known["watched"].channels != channels:
        raise ValueError(
            f"the state has {known['learnt'].channels} channels, and this stream {channels}; "
            f"load into a stream of the same configuration."
        )
    shapes = {name: np.shape(array) for name, array in vars(known["watched"]).items()}
    if shapes != {name: np.shape(array) for name, array in vars(present["watched"]).items()}:
        raise ValueError(
            "what the detector knew has another shape: it looked at other features, or another version of hippozoo "
            "wrote it; begin a new stream."
        )
