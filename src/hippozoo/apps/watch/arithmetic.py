"""Which arithmetic made a state: a state is gone on with by the same one only, and else rebuilt from the readings."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from hippozoo.monitor import Monitor, Plan

__all__ = ["ARITHMETIC", "arithmetic_of", "state_bytes"]

# Raise it with every change of the forecaster, the bands or the detector that changes their numbers; a test that
# compares some of them with `tests/fixtures/arithmetic.json` reminds of it.
ARITHMETIC = 4


def arithmetic_of(plan: Plan) -> str:
    """A name for the arithmetic of a plan: its number, what was asked for, and how its state is laid out.

    The layout is found, not declared, so that a state that has come to be laid out anew is never taken for the old one.
    Rules are no part of it: they may change at any time.
    """
    # The header of a safetensors file tells the name, type and shape of every array; it stands after mark and version.
    data = Monitor(replace(plan, every=plan.every or 1.0)).to_bytes()[17:]
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    arrays = {name: (one["dtype"], one["shape"]) for name, one in header.items() if name != "__metadata__"}
    asked = [plan.channels, plan.horizon, plan.season, plan.every, plan.timed, plan.order]
    layout = hashlib.sha256(json.dumps([asked, sorted(arrays.items())]).encode()).hexdigest()[:16]
    return f"{ARITHMETIC} {layout}"


def state_bytes(plan: Plan) -> int:
    """How large the state of a sensor is."""
    return len(Monitor(replace(plan, every=plan.every or 1.0)).to_bytes())
