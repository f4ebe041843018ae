"""Recall by context: a bank that stores each sample under the address of the moment before it."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence

from hippozoo._internal.arguments import whole_number
from hippozoo.layers import Lengths, Mask, SequenceLayer, Steps, Timing
from hippozoo.layers.delta_rule import along_a_path, read_at, written

__all__ = ["Recall", "RecallState"]

# Samples in one triangular solve.
STRETCH = 64


class RecallState(NamedTuple):
    """What `Recall` carries on."""

    address: Float[Tensor, "batch factors directions"]  #: Where the last sample stood: the next one is stored there.
    bank: Float[Tensor, "batch channels addresses"]  #: What is stored.


class Recall(SequenceLayer):
    r"""A bank that is asked at every moment what came next when it was like this before.

    A sample, cut into `factors` parts of length one, :math:`a^1_t, a^2_t, \ldots`, is a moment. Its address is the
    product of the parts, :math:`\varphi_t = a^1_t \otimes a^2_t \otimes \ldots`, a polynomial of the sample: two
    moments share an address only as far as they agree in *every* part,

    .. math:: \varphi_s \cdot \varphi_t = \prod_i a^i_s \cdot a^i_t .

    Each value is written under the address of the moment before it, by the delta rule. Then the bank is read at the
    address of the present moment, which gives an average of the values that followed moments like this one. `carriers`
    says which.

    This is not the paper's Associative Memory HiPPO. There an address is one number, a point at which a polynomial
    basis is evaluated; here it is a product of learnt contexts. Only the write, a delta rule, is the same.

    In a `hippozoo.layers.Stack` a moment is what the blocks below make of the past, and the values are the samples
    that entered the stack. Alone, the layer takes its own samples for both. All that is recurrent is one address and
    the bank, ``channels`` times ``directions ** factors`` numbers.

    The samples should contain what moments are told apart by. Behind an LSTM without skip connections all addresses
    became alike in training, and the bank handed on the last sample; with skip connections it worked. `carriers` shows
    which of the two a trained bank does.

    Parameters
    ----------
    channels
        Of the input and of the output.
    factors
        Parts of a sample.
    directions
        Numbers in each part; by default as many as there are channels for.
    device, dtype
        As in any torch layer.

    Examples
    --------
    >>> layer = Recall(channels=8)
    >>> y, state = layer(torch.randn(2, 50, 8))
    >>> y.shape, state.bank.shape
    (torch.Size([2, 50, 8]), torch.Size([2, 8, 16]))

    References
    ----------
    Paper, section on Associative Memory HiPPO, for the write.
    """

    knows_time = False
    wants_first = True

    def __init__(
        self,
        channels: int,
        factors: int = 2,
        directions: int | None = None,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        channels = whole_number("channels", channels)
        super().__init__(channels, device, dtype)
        self.factors = whole_number("factors", factors)
        most = channels // self.factors
        self.directions = max(1, most) if directions is None else whole_number("directions", directions)
        if self.directions > most:
            raise ValueError(
                f"channels={channels} cannot be cut into factors={factors} parts of directions={self.directions}; "
                f"pass directions <= {most}, or more channels."
            )
        self.write_gate = nn.Linear(channels, 1, **self._place)
        nn.init.zeros_(self.write_gate.weight)
        nn.init.zeros_(self.write_gate.bias)

    @torch.no_grad()
    def carriers(
        self, x: Float[Tensor, "batch time channels"], state: RecallState | None = None
    ) -> Float[Tensor, "batch time written"]:
        """How much of each value is in what is read at each moment.

        From an empty bank the outputs are exactly these weights times the values. With a state, what it has stored
        comes on top.

        Examples
        --------
        >>> layer = Recall(channels=8)
        >>> x = torch.randn(1, 20, 8)
        >>> torch.allclose(layer.carriers(x) @ x, layer(x)[0], atol=1e-5)
        True
        """
        return self._enter(self._carriers, x, state, None, None)

    # -- the contract ----------------------------------------------------------------------------------------

    def forward(
        self,
        x: Float[Tensor, "batch *time channels"] | PackedSequence,
        state: RecallState | None = None,
        dt: Steps | Timing | None = None,
        lengths: Lengths | None = None,
        *,
        first: Float[Tensor, "batch *time channels"] | None = None,
        mask: Mask | None = None,
        step: bool = False,
    ) -> tuple[Any, RecallState]:
        """As every `SequenceLayer`; `first` are the values to store, which a stack gives: what entered it."""
        return self._call(x, state, dt, lengths, step, first, mask=mask)

    def _start(self, batch: int, channels: int) -> RecallState:
        place = {"dtype": self.dtype, "device": self.device}
        # Before the first sample there was no moment: at an address of zeros nothing is stored.
        address = torch.zeros(batch, self.factors, self.directions, **place)
        return RecallState(address, torch.zeros(batch, channels, self.directions**self.factors, **place))

    def _roll(self, x: Tensor, state: Any, timing: Timing, first: Tensor | None = None) -> tuple[Tensor, RecallState]:
        before = self._begin(x, state)
        path = torch.cat([before.address[:, None], self._address(x)], 1)
        gates = torch.sigmoid(self.write_gate(x)).squeeze(-1)
        if timing.real is not None:  # nothing is stored in the padding
            gates = torch.where(timing.real, gates, 0.0)
        y, bank = self._along(path, x if first is None else first, gates, before.bank)
        if timing.lengths is None:
            last = path[:, -1]
        else:
            last = path[torch.arange(len(x), device=x.device), timing.lengths.to(x.device)]
        return y, RecallState(last, bank)

    def _single(
        self, x: Tensor, state: Any, steps: Tensor | None, first: Tensor | None = None
    ) -> tuple[Tensor, RecallState]:
        gate = torch.sigmoid(self.write_gate(x)).squeeze(-1)
        bank = written(state.bank, self._features(state.address), x if first is None else first, gate)
        here = self._address(x)
        return read_at(bank, self._features(here)), RecallState(here, bank)

    def _carriers(self, x: Tensor, state: Any, timing: Timing) -> Tensor:
        path = torch.cat([self._begin(x, state).address[:, None], self._address(x)], 1)
        overlaps, gates = self._overlaps(path), torch.sigmoid(self.write_gate(x)).mT
        earlier = torch.tril(overlaps[:, :-1, :-1] * gates, -1)
        reach = torch.tril(overlaps[:, 1:, :-1] * gates)
        # What a write corrects depends on the writes before it; solved from the right, since weights are wanted.
        return torch.linalg.solve_triangular(earlier, reach, upper=False, left=False, unitriangular=True)

    def _along(self, path: Tensor, values: Tensor, gates: Tensor, bank: Tensor) -> tuple[Tensor, Tensor]:
        """All writes and reads, by one triangular solve for every stretch of time."""
        pieces = []
        # Stretches of moments share their ends: each begins with the address of the moment before its first value.
        shared = zip(path[:, :-1].split(STRETCH, 1), path[:, 1:].split(STRETCH, 1), strict=True)
        moments = [torch.cat([before[:, :1], after], 1) for before, after in shared]
        for some, value, gate in zip(moments, values.split(STRETCH, 1), gates.split(STRETCH, 1), strict=True):
            y, bank = along_a_path(self._features(some), self._overlaps(some), value, gate, bank)
            pieces.append(y)
        return torch.cat(pieces, 1), bank

    def _address(self, x: Tensor) -> Tensor:
        parts = x[..., : self.factors * self.directions].unflatten(-1, (self.factors, self.directions))
        return functional.normalize(parts, dim=-1, eps=1e-6)

    def _overlaps(self, path: Tensor) -> Tensor:
        """The products of all pairs of addresses: those of their parts, multiplied."""
        overlaps, *others = (part @ part.mT for part in path.unbind(2))
        for other in others:
            overlaps = overlaps * other
        return overlaps

    def _features(self, address: Tensor) -> Tensor:
        """All products of one number of each part: again of length one."""
        features, *others = address.unbind(-2)
        for other in others:
            features = (features[..., None] * other[..., None, :]).flatten(-2)
        return features
