"""Leads: where they stand in a window that reaches over the horizon, and how many samples fit into it."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import real_array
from hippozoo.systems import LegT

__all__ = ["cell_count", "checked_leads", "lead_basis", "usual_order"]


def lead_basis(future: LegT, lead: Float[np.ndarray, "*leads"] | float) -> Float[np.ndarray, "*leads order"]:
    """The basis of System 1 at each lead: lead l of the future stands where lag ``horizon - l`` of the past does.

    The present, lead 0, is the far end of the window that System 1 will remember.

    >>> future = LegT(order=3, timescale=8.0)
    >>> bool(np.allclose(lead_basis(future, 0.0), future.basis(8.0)))
    True
    """
    leads = checked_leads(future.timescale, lead)
    return future.basis(np.clip(future.timescale - leads, 0.0, future.timescale))


def usual_order(horizon: float, dt: float) -> int:
    """Coefficients of System 1 where nobody says: eight per sample of the horizon, 16 at least and 64 at most."""
    return min(64, max(16, 8 * math.ceil(horizon / dt)))


def checked_leads(horizon: float, lead: Float[np.ndarray, "*leads"] | float) -> Float[np.ndarray, "*leads"]:
    """Leads within the horizon, as an array."""
    leads = real_array("lead", lead)
    if leads.size and (leads.min() < 0 or leads.max() > horizon * (1 + 1e-12)):
        worst = leads.min() if leads.min() < 0 else leads.max()
        raise ValueError(f"lead={worst} is outside the horizon 0 to {horizon}; ask within it, or learn a longer one.")
    return leads


def cell_count(horizon: float, dt: float) -> int:
    """How many samples fit into the horizon; one at least."""
    return max(1, int(horizon / dt * (1 + 1e-9)))
