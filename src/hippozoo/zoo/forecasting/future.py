"""The future as a function: leads in the coordinates of System 1, and how much each of them counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from hippozoo._arguments import real_array
from hippozoo.systems import LegT

__all__ = ["checked_leads", "future_metric", "lead_basis"]


def lead_basis(future: LegT, lead: Float[np.ndarray, "*leads"] | float) -> Float[np.ndarray, "*leads order"]:
    """The basis of System 1 at each lead: lead l of the future stands where lag ``horizon - l`` of the past does.

    Examples
    --------
    The present, lead 0, is the far end of the window that System 1 will remember.

    >>> future = LegT(order=3, timescale=8.0)
    >>> bool(np.allclose(lead_basis(future, 0.0), future.basis(8.0)))
    True
    """
    leads = checked_leads(future.timescale, lead)
    return future.basis(np.clip(future.timescale - leads, 0.0, future.timescale))


def checked_leads(horizon: float, lead: Float[np.ndarray, "*leads"] | float) -> Float[np.ndarray, "*leads"]:
    """Leads within the horizon, as an array."""
    leads = real_array("lead", lead)
    if leads.size and (leads.min() < 0 or leads.max() > horizon * (1 + 1e-12)):
        worst = leads.min() if leads.min() < 0 else leads.max()
        raise ValueError(f"lead={worst} is outside the horizon 0 to {horizon}; ask within it, or learn a longer one.")
    return leads


def future_metric(
    future: LegT, weight: Callable[[np.ndarray], np.ndarray], panels: int = 64
) -> Float[np.ndarray, "order order"]:
    r"""W: the weighted squared error over the horizon as a quadratic form of coefficients.

    :math:`W_{ij} = \int_0^H w(\ell)\, \phi_i(\ell)\, \phi_j(\ell)\, d\ell`. For w = 1 this is H times the identity,
    since the basis is orthonormal under the weight 1/H (erratum 15).

    Parameters
    ----------
    future
        System 1: its timescale is the horizon.
    weight
        w(lead): takes an array of leads, gives as many numbers >= 0.
    panels
        The integral is taken over this many pieces of the horizon, so that a weight may jump.

    Examples
    --------
    >>> W = future_metric(LegT(order=3, timescale=8.0), lambda lead: np.ones_like(lead))
    >>> bool(np.allclose(W, 8.0 * np.eye(3)))
    True
    """
    node, mass = np.polynomial.legendre.leggauss(16 + future.order // 8)
    width = future.timescale / panels
    leads = (width * (np.arange(panels)[:, None] + (node + 1) / 2)).ravel()
    values = real_array("weight(lead)", weight(leads))
    if values.shape != leads.shape:
        raise ValueError(
            f"weight(lead) has shape {values.shape} for leads of shape {leads.shape}; return one number each."
        )
    if values.min() < 0 or not values.any():
        raise ValueError("weight(lead) must be >= 0 everywhere and > 0 somewhere: it says how much an error counts.")
    basis = lead_basis(future, leads)
    return (basis * (values * np.tile(mass * width / 2, panels))[:, None]).T @ basis
