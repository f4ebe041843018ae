"""Values under addresses: what a bank holds after some writes, and how they disturb each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from hippozoo.polynomials import Legendre
from hippozoo.zoo.associative import interference_matrix, recall_matrix

__all__ = ["AssociativeView", "Write"]

PLACES = 401
MOST_WRITES = 40


class Write(NamedTuple):
    """A write: where, what, and how far (1 is all the way)."""

    address: float
    value: float
    gate: float = 1.0


@dataclass(frozen=True)
class AssociativeView:
    """A bank of one channel and the writes made to it, in order.

    Examples
    --------
    The last write is read back in full.

    >>> view = AssociativeView(16).write(0.3, 1.0).write(0.7, -0.5)
    >>> round(view.read(0.7), 9)
    -0.5
    """

    order: int = 16
    writes: tuple[Write, ...] = ()

    def write(self, address: float, value: float, gate: float = 1.0) -> AssociativeView:
        """The view after one more write; the oldest of more than forty are let go."""
        given = Write(*(float(f"{one:.4g}") for one in (np.clip(address, 0, 1), value, np.clip(gate, 0, 1))))
        return replace(self, writes=(*self.writes, given)[-MOST_WRITES:])

    def without_last(self) -> AssociativeView:
        """The view before the last write."""
        return replace(self, writes=self.writes[:-1])

    @cached_property
    def family(self) -> Legendre:
        """The basis of the bank."""
        return Legendre(self.order)

    @property
    def _addresses(self) -> np.ndarray:
        return np.array([one.address for one in self.writes])

    @cached_property
    def places(self) -> Float[np.ndarray, " places"]:
        """Addresses at which the bank is drawn."""
        return np.linspace(0.0, 1.0, PLACES)

    def _read(self, places: np.ndarray) -> np.ndarray:
        if not self.writes:
            return np.zeros(len(places))
        addresses, values, gates = np.array(self.writes).T
        return recall_matrix(self.family, addresses, gates, places) @ values

    @cached_property
    def bank(self) -> Float[np.ndarray, " places"]:
        """What the bank holds at each place."""
        return self._read(self.places)

    def read(self, address: float) -> float:
        """What is read at one address."""
        return float(self._read(np.array([address]))[0])

    def bump(self, address: float) -> Float[np.ndarray, " places"]:
        """By how much a full write there would move what is read at each place, per unit of change."""
        values = self.family.values(np.append(self.places, address))
        return values[:-1] @ values[-1] / (values[-1] @ values[-1])

    @cached_property
    def interference(self) -> Float[np.ndarray, "pairs pairs"]:
        """How much a full write at address j moves what is read at address i."""
        return interference_matrix(self.family, self._addresses) if self.writes else np.zeros((0, 0))

    @cached_property
    def recalled(self) -> Float[np.ndarray, " pairs"]:
        """What is read now where each write was made."""
        return self._read(self._addresses)

    def code(self) -> str:
        """Python that gives the same pictures."""
        writes = ",\n".join(f"    ({one.address!r}, {one.value!r}, {one.gate!r})" for one in self.writes)
        return f"""import matplotlib.pyplot as plt
import numpy as np
import torch
from hippozoo.polynomials import Legendre
from hippozoo.zoo.associative import PolynomialBank, interference_matrix

writes = [  # address, value, gate
{writes}
]
bank = PolynomialBank(channels=1, family=Legendre({self.order}), epsilon=0.0, dtype=torch.float64)
state = bank.initial_state(batch=1)
for address, value, gate in writes:
    where, what, how_far = (torch.tensor(one, dtype=torch.float64) for one in ([address], [[value]], [gate]))
    state = bank.write(state, where, what, how_far)

places = np.linspace(0.0, 1.0, {PLACES})
held = bank.read(state, torch.from_numpy(places)[None])[0, :, 0].numpy()
addresses = np.array([address for address, _, _ in writes])
matrix = interference_matrix(bank.family, addresses) if writes else np.zeros((1, 1))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(places, held)
left.plot(addresses, [value for _, value, _ in writes], "o")
right.imshow(matrix, vmin=-1, vmax=1, cmap="RdBu_r")
figure.savefig("bank.png")
"""
