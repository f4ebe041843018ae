"""A bank of functions of an address, kept as polynomial coefficients: written and read at any point of [0, 1]."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo.layers.arguments import demand, finite_values, on_device, real_tensor
from hippozoo.layers.delta_rule import delta_rule, read_at, written
from hippozoo.layers.tables import WithTables
from hippozoo.polynomials import Legendre, OrthonormalFamily

__all__ = ["PolynomialBank"]

Bank = Float[Tensor, "batch channels coefficients"]
_KEPT = "the bank keeps what it is given."


class PolynomialBank(WithTables):
    r"""Stores values at addresses between 0 and 1: one function per channel, read anywhere, written with least change.

    Channel j holds the function :math:`m_j(x) = \langle C_j, \varphi(x)\rangle` in an orthonormal polynomial basis.
    A write at x moves it towards a value there,

    .. math:: C_j \leftarrow C_j + g\,\frac{y_j - m_j(x)}{|\varphi(x)|^2 + \varepsilon}\,\varphi(x),

    the smallest change of coefficients that does so: a bump in the shape of the reproducing kernel. With gate g = 1 the
    value is read back; with g = 0 nothing happens. Where the kernel between two addresses is zero, neither notices
    what is written at the other. This is the delta rule of linear attention, so `forward` takes the writes of a whole
    sequence by one triangular solve per stretch of time.

    The bank is explicit: it goes in and comes out, (batch, channels, coefficients), and is never changed in place.

    Parameters
    ----------
    channels
        How many functions.
    family
        The basis on [0, 1]; its order is the number of coefficients, n_assoc in the paper.
    epsilon
        Added to the squared length of the key, as in the paper. Legendre keys are never shorter than 1.
    dimensions
        Numbers in an address: 1 as in the paper, and an address is that number itself; with more, addresses have one
        more axis, the basis is made of all products over the coordinates, and there are ``family.order ** dimensions``
        coefficients.
    device, dtype
        As in any torch layer; float32 or float64.

    Examples
    --------
    What is written is read back, and at the other nodes of the Gauss rule nothing has changed.

    >>> bank = PolynomialBank(channels=1, family=Legendre(8), dtype=torch.float64)
    >>> nodes = torch.from_numpy(bank.family.gauss_rule()[0])
    >>> state = bank.write(bank.initial_state(1), nodes[2:3], torch.tensor([[5.0]], dtype=torch.float64))
    >>> (bank.read(state, nodes[None]).squeeze().round(decimals=4) + 0.0).tolist()
    [0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0]

    References
    ----------
    Paper, section "Associative Memory HiPPO" and its appendix. Schlag, Irie and Schmidhuber (2021), Linear
    transformers are secretly fast weight programmers; Yang et al. (2024), DeltaNet in parallel.
    """

    _cosines: Tensor

    def __init__(
        self,
        channels: int,
        family: OrthonormalFamily | None = None,
        epsilon: float = 1e-6,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
        *,
        dimensions: int = 1,
    ) -> None:
        super().__init__()
        self.channels = whole_number("channels", channels)
        self.family = checked_family(Legendre(32) if family is None else family)
        if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float)) or not 0 <= epsilon < math.inf:
            raise ValueError(f"epsilon={shorten(epsilon)}; pass a small number epsilon >= 0, such as 1e-6.")
        self.epsilon = float(epsilon)
        self.dimensions = whole_number("dimensions", dimensions)
        place = torch.empty((), device=device, dtype=dtype)
        if place.dtype not in (torch.float32, torch.float64):
            raise TypeError(f"dtype={place.dtype}: a bank needs float32 or float64.")
        self._make_tables(place, "_cosines")

    # -- what it is ------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> torch.dtype:
        """What the bank computes in, and what values and states are given in."""
        return self._cosines.dtype

    @property
    def coefficients(self) -> int:
        """Numbers per channel."""
        return self.family.order**self.dimensions

    def configuration(self) -> dict[str, Any]:
        """The constructor's arguments."""
        arguments = {"channels": self.channels, "family": self.family, "epsilon": self.epsilon}
        return arguments if self.dimensions == 1 else arguments | {"dimensions": self.dimensions}

    def extra_repr(self) -> str:
        """What stands in the parentheses when the bank is printed."""
        more = "" if self.dimensions == 1 else f", dimensions={self.dimensions}"
        return f"channels={self.channels}, family={self.family!r}{more}"

    def initial_state(self, batch: int) -> Bank:
        """The empty bank: zeros of shape (batch, channels, coefficients)."""
        batch = whole_number("batch", batch)
        return self._cosines.new_zeros(batch, self.channels, self.coefficients)

    def features(self, address: Float[Tensor, "*address"]) -> Float[Tensor, "*points coefficients"]:
        """The basis at every address: what the paper calls key or query."""
        self.refresh_tables(self._home(address))
        self._check_address("address", address)
        return self._features(address)

    # -- one write, one read ---------------------------------------------------------------------------------

    def write(
        self,
        state: Bank,
        address: Float[Tensor, "batch *dimensions"],
        value: Float[Tensor, "batch channels"],
        gate: Float[Tensor, " batch"] | None = None,
    ) -> Bank:
        """The bank after a write to each item: towards `value` at `address`, all the way where the gate is 1."""
        self.refresh_tables(self._home(address))
        self._check_state(state)
        batch = len(state)
        self._check_address("address", address, (batch,))
        self._check("value", value, (batch, self.channels))
        return self._write(state, address, value, self._checked_gate("gate", gate, value))

    def read(self, state: Bank, address: Float[Tensor, "batch *address"]) -> Float[Tensor, "batch *points channels"]:
        """What the bank holds at one address per item, (batch,), or at several, (batch, points); coordinates last."""
        self.refresh_tables(self._home(address))
        self._check_state(state)
        self._check_address("address", address)
        if address.ndim - len(self._point) not in (1, 2) or len(address) != len(state):
            more = "" if self.dimensions == 1 else f" and {self.dimensions} numbers for each address"
            raise ValueError(
                f"address has shape {tuple(address.shape)}; pass (batch,) or (batch, points) with "
                f"batch={len(state)}{more}."
            )
        return self._read(state, address)

    # -- a sequence of them ----------------------------------------------------------------------------------

    def forward(
        self,
        write_address: Float[Tensor, "batch time *dimensions"],
        value: Float[Tensor, "batch time channels"],
        read_address: Float[Tensor, "batch time *dimensions"],
        write_gate: Float[Tensor, "batch time"] | None = None,
        state: Bank | None = None,
    ) -> tuple[Float[Tensor, "batch time channels"], Bank]:
        """At every time a write and then a read; gives all reads, and the bank after the last write.

        Parameters
        ----------
        write_address, value, write_gate
            Where, what and how far; without gates, every write is in full.
        read_address
            Where to read, after the write of the same time.
        state
            The bank to go on from; without it, the empty one.
        """
        self.refresh_tables(self._home(write_address))
        self._check_tensor("value", value)
        if value.ndim != 3 or value.shape[-1] != self.channels or 0 in value.shape:
            raise ValueError(
                f"value has shape {tuple(value.shape)}, expected (batch, time, channels) with "
                f"channels={self.channels} and at least one time."
            )
        finite_values("value", value, what_to_do=_KEPT)
        self._check_address("write_address", write_address, tuple(value.shape[:2]))
        self._check_address("read_address", read_address, tuple(value.shape[:2]))
        write_gate = self._checked_gate("write_gate", write_gate, value)
        state = self.initial_state(len(value)) if state is None else state
        self._check_state(state, len(value))
        return self._write_and_read(write_address, value, read_address, write_gate, state)

    # The layer has checked what it hands over, so these do not look again.

    @property
    def _point(self) -> tuple[int, ...]:
        """The shape of one address."""
        return () if self.dimensions == 1 else (self.dimensions,)

    def _features(self, address: Tensor) -> Tensor:
        if self.dimensions == 1:
            return self._along_one_axis(address)
        features, *others = self._along_one_axis(address).unbind(-2)
        for other in others:
            features = (features[..., None] * other[..., None, :]).flatten(-2)
        return features

    def _along_one_axis(self, address: Tensor) -> Tensor:
        # Polynomials are cosine series of the angle: one product, accurate at the ends, and nothing to iterate.
        info = torch.finfo(address.dtype)
        # At 0 the angle has no derivative; one rounding inside, all derivatives are right. The way there is taken as a
        # constant, since clamp has derivative 0 for what it moves.
        inside = address + (address.clamp(min=info.tiny) - address).detach()
        # At 1 and just before it, where floats are far apart, a rounded angle has no derivative either: the slope of
        # the polynomials takes its place.
        last = address > 1 - info.eps
        angle = torch.where(last, math.pi, 2 * torch.asin(torch.sqrt(torch.where(last, 0.5, inside))))
        harmonics = torch.arange(self.family.order, dtype=address.dtype, device=address.device)
        features = torch.cos(angle[..., None] * harmonics) @ self._cosines
        step = torch.where(last, address - address.detach(), 0.0)
        slope = (2 * harmonics.square() * (1 - 2 * (harmonics % 2))) @ self._cosines  # of cos(k angle): 2 k^2 (-1)^k
        return torch.addcmul(features, step[..., None], slope)

    def _unit_key(self, address: Tensor, gate: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Key of length one, the length it had, and the gate that the small epsilon leaves."""
        key = self._features(address)
        square = key.square().sum(-1)
        length = square.sqrt()
        return key / length[..., None], length, gate * square / (square + self.epsilon)

    def _write(self, state: Tensor, address: Tensor, value: Tensor, gate: Tensor) -> Tensor:
        key, length, gate = self._unit_key(address, gate)
        return written(state, key, value / length[..., None], gate)

    def _read(self, state: Tensor, address: Tensor) -> Tensor:
        query = self._features(address)
        return read_at(state, query) if query.ndim == 2 else query @ state.mT

    def _write_and_read(
        self, write_address: Tensor, value: Tensor, read_address: Tensor, gate: Tensor, state: Tensor
    ) -> tuple[Tensor, Tensor]:
        key, length, gate = self._unit_key(write_address, gate)
        return delta_rule(key, value / length[..., None], gate, self._features(read_address), state)

    # -- tables and checks -----------------------------------------------------------------------------------

    def _compute_tables(self, place: Tensor) -> None:
        self._cosines = torch.from_numpy(cosine_coefficients(self.family)).to(place)

    def _check_tensor(self, name: str, value: Tensor) -> None:
        real_tensor(name, value, self.dtype)
        on_device(name, value, self._cosines.device)

    def _check_share(self, name: str, value: Tensor, advice: str) -> None:
        demand(name, value, lambda share: (share >= 0) & (share <= 1), f"pass values from 0 to 1; {advice}")

    def _check(self, name: str, value: Tensor, shape: tuple[int, ...]) -> None:
        self._check_tensor(name, value)
        if tuple(value.shape) != shape:
            raise ValueError(f"{name} has shape {tuple(value.shape)}, expected {shape}.")
        finite_values(name, value, what_to_do=_KEPT)

    def _checked_gate(self, name: str, gate: Tensor | None, value: Tensor) -> Tensor:
        """How far each value is written: in full unless it is said."""
        if gate is None:
            return value.new_ones(value.shape[:-1])
        self._check(name, gate, tuple(value.shape[:-1]))
        self._check_share(name, gate, "0 leaves the bank alone, 1 writes in full.")
        return gate

    def _check_address(self, name: str, address: Tensor, shape: tuple[int, ...] | None = None) -> None:
        self._check_tensor(name, address)
        if shape is not None and tuple(address.shape) != shape + self._point:
            raise ValueError(f"{name} has shape {tuple(address.shape)}, expected {shape + self._point}.")
        if self.dimensions > 1 and address.shape[-1:] != self._point:
            raise ValueError(
                f"{name} has shape {tuple(address.shape)}; its last axis holds the {self.dimensions} coordinates."
            )
        self._check_share(name, address, "map scores through a sigmoid first.")

    def _check_state(self, state: Tensor, batch: int | None = None) -> None:
        self._check_tensor("state", state)
        expected = self.channels, self.coefficients
        if state.ndim != 3 or tuple(state.shape[1:]) != expected or batch not in (None, len(state)):
            raise ValueError(
                f"state has shape {tuple(state.shape)}, expected (batch, channels, coefficients) = "
                f"({'batch' if batch is None else batch}, {expected[0]}, {expected[1]}); "
                "pass what this bank returned, or initial_state(batch)."
            )
        finite_values("state", state, what_to_do="go on from an earlier state.")


def checked_family(family: Any) -> OrthonormalFamily:
    """A basis on [0, 1]."""
    if not isinstance(family, OrthonormalFamily):
        raise TypeError(f"family={shorten(family)}; pass a basis such as hippozoo.polynomials.Legendre(32).")
    if tuple(family.interval) != (0.0, 1.0):
        raise ValueError(
            f"family={family!r} lives on {family.interval}, but addresses lie between 0 and 1; build it on (0.0, 1.0)."
        )
    return family


def cosine_coefficients(family: OrthonormalFamily) -> Float[np.ndarray, "harmonics coefficients"]:
    """The polynomials as cosine series: ``values(x) = cos(k angle) @ coefficients`` with ``cos(angle) = 1 - 2 x``."""
    order = family.order
    angles = np.pi * (np.arange(order) + 0.5) / order
    # A polynomial of lower degree than there are nodes is its own interpolation at the Chebyshev nodes.
    values = family.values((1 - np.cos(angles)) / 2)
    coefficients = 2 / order * np.cos(np.outer(np.arange(order), angles)) @ values
    coefficients[0] /= 2
    return coefficients
