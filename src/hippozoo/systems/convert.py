"""The same memory in other people's coordinates: s4 and the Legendre Memory Unit.

Three projects keep the same numbers under different names. Written from the published formulas, so that a state
or a kernel from one of them can be compared with ours, and theirs continued here.

=========  ==========================================  ========================================================
ours       s4                                          LMU
=========  ==========================================  ========================================================
``LegT``   ``legt``: same state, on a window of 2      ``m_n = (-1)^n sqrt(2n + 1) s_n``, theta = timescale
``LegS``   ``legs``: same state (time-invariant use)   -
``FouT``   ``fout``: window of 2; an idle coefficient  -
           after the first
``LagT``   other functions, not convertible            -
=========  ==========================================  ========================================================
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import positive_number, real_array
from hippozoo.systems.base import HippoSystem
from hippozoo.systems.fout import FouT
from hippozoo.systems.legs import LegS
from hippozoo.systems.legt import LegT

__all__ = ["from_lmu", "from_s4", "lmu_matrices", "s4_matrices", "s4_step", "to_lmu", "to_s4"]

Matrices = tuple[Float[np.ndarray, "size size"], Float[np.ndarray, " size"]]


def lmu_matrices(system: LegT) -> Matrices:
    """A and B of the Legendre Memory Unit: ``theta m' = A m + B u`` with theta the system's timescale.

    Examples
    --------
    >>> A, B = lmu_matrices(LegT(order=3, timescale=1.0))
    >>> A.round(12).tolist(), B.round(12).tolist()
    ([[-1.0, -1.0, -1.0], [3.0, -3.0, -3.0], [-5.0, 5.0, -5.0]], [1.0, -3.0, 5.0])

    References
    ----------
    Voelker, Kajic and Eliasmith (2019), Legendre Memory Units, equations 1 and 2.
    """
    if not isinstance(system, LegT):
        raise TypeError(f"{system!r} is no LegT; the LMU is a sliding Legendre window, pass LegT(order, theta).")
    scale = _lmu_scale(system.order)
    return scale[:, None] * system.A / scale, scale * system.b


def to_lmu(state: Float[np.ndarray, "*batch order"]) -> Float[np.ndarray, "*batch order"]:
    """The state of a :class:`LegT` as the LMU keeps it.

    Examples
    --------
    >>> to_lmu(np.array([1.0, 1.0])).round(3).tolist()
    [1.0, -1.732]
    """
    coefficients = _checked_state(state)
    return coefficients * _lmu_scale(coefficients.shape[-1])


def from_lmu(state: Float[np.ndarray, "*batch order"]) -> Float[np.ndarray, "*batch order"]:
    """The state of an LMU as :class:`LegT` keeps it (timescale = theta).

    Examples
    --------
    >>> from_lmu(to_lmu(np.array([0.5, 2.0, -1.0]))).round(12).tolist()
    [0.5, 2.0, -1.0]
    """
    coefficients = _checked_state(state)
    return coefficients / _lmu_scale(coefficients.shape[-1])


def s4_matrices(system: HippoSystem) -> Matrices:
    """A and B as s4 builds them for ``legt``, ``legs`` and ``fout`` (there B is a column).

    Examples
    --------
    >>> A, B = s4_matrices(LegT(order=2, timescale=1.0))  # a window of 2, hence half of ours
    >>> bool(np.allclose(A, LegT(order=2, timescale=1.0).A / 2))
    True

    References
    ----------
    Gu et al. (2022), S4; Gu et al. (2023), How to Train Your HiPPO.
    """
    window = _s4_window(system)
    A, B = system.A / window, system.b / window
    if isinstance(system, FouT):
        # s4 also keeps the sine of frequency zero, which stays zero.
        A = np.insert(np.insert(A, 1, 0.0, axis=0), 1, 0.0, axis=1)
        B = np.insert(B, 1, 0.0)
    return A, B


def s4_step(system: HippoSystem, dt: float) -> float:
    """The step (Delta) at which s4's matrices do in one update what `system` does in `dt`.

    Examples
    --------
    >>> s4_step(LegT(order=8, timescale=100.0), dt=1.0)
    0.02
    """
    dt = positive_number("dt", dt, why="time only runs forwards")
    return dt * _s4_window(system) / system.timescale


def to_s4(system: HippoSystem, state: Float[np.ndarray, "*batch order"]) -> Float[np.ndarray, "*batch size"]:
    """The state of `system` as s4 keeps it: the same numbers, but for the idle one of ``fout``.

    Examples
    --------
    >>> to_s4(FouT(order=3, timescale=1.0), np.array([1.0, 2.0, 3.0])).tolist()
    [1.0, 0.0, 2.0, 3.0]
    """
    _s4_window(system)
    coefficients = _checked_state(state, system.order)
    return np.insert(coefficients, 1, 0.0, axis=-1) if isinstance(system, FouT) else coefficients.copy()


def from_s4(system: HippoSystem, state: Float[np.ndarray, "*batch size"]) -> Float[np.ndarray, "*batch order"]:
    """The state of s4 as `system` keeps it.

    Examples
    --------
    >>> from_s4(FouT(order=3, timescale=1.0), np.array([1.0, 0.0, 2.0, 3.0])).tolist()
    [1.0, 2.0, 3.0]
    """
    _s4_window(system)
    idle = isinstance(system, FouT)
    coefficients = _checked_state(state, system.order + idle)
    return np.delete(coefficients, 1, axis=-1) if idle else coefficients.copy()


def _s4_window(system: HippoSystem) -> float:
    """How long s4's window (or fading time) is in the time of its own matrices."""
    if isinstance(system, (LegT, FouT)):
        return 2.0
    if isinstance(system, LegS):
        return 1.0
    raise TypeError(f"{system!r} has no counterpart in s4 (its lagt keeps other functions); pass a LegT, LegS or FouT.")


def _lmu_scale(order: int) -> Float[np.ndarray, " order"]:
    n = np.arange(order)
    return (-1.0) ** n * np.sqrt(2.0 * n + 1)


def _checked_state(state: Float[np.ndarray, "*batch size"], size: int | None = None) -> np.ndarray:
    coefficients = real_array("state", state)
    expected = "at least one coefficient" if size is None else f"{size} coefficients"
    if coefficients.ndim == 0 or (coefficients.shape[-1] != size if size else not coefficients.shape[-1]):
        raise ValueError(f"state has shape {coefficients.shape}; pass {expected} on the last axis.")
    return coefficients
