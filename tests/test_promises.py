"""Every member keeps every promise: one line per member, all checks on each of them."""

import pytest
import torch

from hippozoo.baselines import GRU, LSTM, S4D, DeltaNet, GatedDeltaNet, Mamba, Transformer, VanillaHippo, VanillaMLP
from hippozoo.checks import CHECKS, Trial
from hippozoo.layers import Block, SequenceModel, Stack
from hippozoo.memory import GrowingMemory, LagLayer, Memory, MemoryLayer
from hippozoo.models import explicit_characters
from hippozoo.polynomials import Legendre
from hippozoo.systems import FouT, LagT, LegS, LegT
from hippozoo.zoo.associative import AssociativeMemory, Recall
from hippozoo.zoo.multiscale import MultiscaleLayer, MultiscaleMemory
from hippozoo.zoo.salience import SalienceLayer, SalienceModel
from hippozoo.zoo.volterra import VolterraLayer


def recent(width):
    return LagLayer((LegT(3, 5.0), LegS(3, 20.0)), width, taps=2, products=1)


MIXTURE = [
    recent,
    lambda width: Mamba(width, width, width=width),
    lambda width: Block(width, recent, beside=lambda width: MemoryLayer(LegT(3, 9.0), channels=width), hidden=6),
]

# How to make the member; what to feed it with where the usual trial will not do. Longer than a block of the fast
# paths, so that every boundary is crossed.
MEMBERS = {
    "memory-legt": (lambda: Memory(LegT(16, timescale=20.0)), {"n_steps": 300}),
    "memory-legt-float32": (lambda: Memory(LegT(16, timescale=20.0), dtype="float32"), {"n_steps": 300}),
    "memory-legt-bilinear": (lambda: Memory(LegT(16, timescale=20.0), method="bilinear"), {}),
    "memory-legt-bilinear-sweep": (lambda: Memory(LegT(6, timescale=20.0), method="bilinear"), {"batch": 5}),
    "memory-legs": (lambda: Memory(LegS(8, timescale=7.0), dt=0.5), {}),
    "memory-legs-float32": (lambda: Memory(LegS(8, timescale=7.0), dtype="float32"), {}),
    "memory-legs-bilinear": (lambda: Memory(LegS(8, timescale=7.0), dt=0.5, method="bilinear"), {}),
    "memory-lagt": (lambda: Memory(LagT(8, timescale=5.0)), {}),
    "memory-fout": (lambda: Memory(FouT(9, timescale=30.0)), {}),
    "growing-memory": (lambda: GrowingMemory(8), {"n_steps": 100}),
    "layer-states": (lambda: MemoryLayer(LegT(12, timescale=20.0), dtype=torch.float64), {"n_steps": 150}),
    "layer-states-float32": (lambda: MemoryLayer(LegT(12, timescale=20.0)), {"n_steps": 150}),
    "layer-readout": (lambda: MemoryLayer(LegS(8, timescale=9.0), outputs=4, channels=3), {"n_steps": 150}),
    "layer-readout-float64": (
        lambda: MemoryLayer(LegT(8, timescale=9.0), outputs=4, channels=3, bias=False).double(),
        {"n_steps": 150},
    ),
    "layer-shared": (
        lambda: MemoryLayer(LegT(8, 9.0), channels=3, readout="shared", outputs=2, dtype=torch.float64),
        {"n_steps": 100},
    ),
    "layer-per-channel": (
        lambda: MemoryLayer(LegT(8, 9.0), channels=3, readout="per_channel", reads=2),
        {"n_steps": 100},
    ),
    "layer-trainable-timescale": (
        lambda: MemoryLayer(LegT(6, timescale=9.0), trainable_timescale=True, dtype=torch.float64),
        {},
    ),
    "layer-trainable-readout": (
        lambda: MemoryLayer(LegS(6, timescale=9.0), dt=0.5, outputs=2, channels=3, trainable_timescale=True),
        {},
    ),
    "layer-trainable-per-channel": (
        lambda: MemoryLayer(LegS(6, 9.0), channels=3, trainable_timescale=True, readout="per_channel").double(),
        {},
    ),
    "layer-bilinear": (lambda: MemoryLayer(LegT(8, timescale=9.0), method="bilinear", dtype=torch.float64), {}),
    "layer-lagt": (lambda: MemoryLayer(LagT(8, timescale=9.0), outputs=1, channels=1, dtype=torch.float64), {}),
    "layer-fout": (lambda: MemoryLayer(FouT(7, timescale=9.0), channels=2, dtype=torch.float64), {}),
    "lags": (lambda: LagLayer((LegT(4, 8.0), LegS(3, 20.0)), 2, 3, 2, 1, dtype=torch.float64), {"n_steps": 100}),
    "lags-float32": (lambda: LagLayer(LegT(6, 20.0), 3, taps=4), {"n_steps": 100}),
    "lags-shared": (lambda: LagLayer(LegT(4, 8.0), 3, taps=2, products=1, shapes=2, dtype=torch.float64), {}),
    "lags-taps-alone": (lambda: LagLayer((), 2, taps=4, products=2, dtype=torch.float64), {}),
    "block": (lambda: Block(4, recent, hidden=6, dtype=torch.float64), {}),
    "stack": (lambda: Stack(4, MIXTURE), {}),
    "model": (lambda: SequenceModel(3, 2, [recent] * 2, width=4, norm="layer", dtype=torch.float64), {"n_steps": 70}),
    "model-tokens": (
        lambda: SequenceModel(tokens=9, layers=MIXTURE, tied=True, width=4),
        {"inputs": lambda rng, batch, n_steps: torch.from_numpy(rng.integers(0, 9, (batch, n_steps)))},
    ),
    "associative": (lambda: AssociativeMemory(channels=3, width=4, hidden=8, dtype=torch.float64), {"n_steps": 150}),
    "associative, two-dimensional addresses": (
        lambda: AssociativeMemory(channels=3, width=4, hidden=8, family=Legendre(4), start="present", dimensions=2),
        {},
    ),
    "associative-float32": (
        lambda: AssociativeMemory(channels=3, outputs=2, width=4, hidden=8, family=Legendre(9), start="random"),
        {},
    ),
    "recall": (lambda: Recall(6, dtype=torch.float64), {"n_steps": 100, "channels": 6}),
    "recall-float32": (lambda: Recall(7, factors=3), {"n_steps": 100, "channels": 7}),
    "explicit-characters": (
        lambda: explicit_characters(params=2_500, tokens=9, blocks=1, dtype=torch.float64),
        {"inputs": lambda rng, batch, n_steps: torch.from_numpy(rng.integers(0, 9, (batch, n_steps)))},
    ),
    "multiscale": (lambda: MultiscaleMemory(LegT(4, timescale=5.0), longest=200.0, scales=9), {"n_steps": 300}),
    "multiscale-bank-float32": (
        lambda: MultiscaleMemory(LegS(4, timescale=5.0), longest=200.0, construction="bank", dtype="float32"),
        {"n_steps": 300},
    ),
    "multiscale-layer": (
        lambda: MultiscaleLayer(MultiscaleMemory(LegT(4, timescale=5.0), 200.0, 5), dtype=torch.float64),
        {"n_steps": 100},
    ),
    "multiscale-layer-horizons": (
        lambda: MultiscaleLayer(
            MultiscaleMemory(LegT(4, timescale=5.0), 200.0, construction="bank"), horizons=(7.0, 90.0)
        ),
        {"n_steps": 100},
    ),
    "multiscale-layer-readout": (
        lambda: MultiscaleLayer(
            MultiscaleMemory(LegS(3, timescale=5.0), 200.0, 7), horizons=(50.0,), outputs=2, channels=3
        ),
        {"n_steps": 100},
    ),
    "multiscale-layer-shared": (
        lambda: MultiscaleLayer(
            MultiscaleMemory(LegS(3, timescale=5.0), 200.0, 7),
            horizons=(50.0, 9.0),
            channels=3,
            readout="shared",
            outputs=2,
        ),
        {"n_steps": 100},
    ),
    "multiscale-layer-per-channel": (
        lambda: MultiscaleLayer(
            MultiscaleMemory(LegT(3, 5.0), 100.0, 5), channels=3, readout="per_channel", reads=2, dtype=torch.float64
        ),
        {"n_steps": 100},
    ),
    "volterra-layer": (
        lambda: VolterraLayer(LegT(4, timescale=9.0), channels=2, outputs=3, degree=3, dtype=torch.float64),
        {"n_steps": 100},
    ),
    # Its scales are irrational: converted, they must not stay as rounded as they were.
    "volterra-layer-quartic": (
        lambda: VolterraLayer(LegT(6, timescale=9.0), channels=2, degree=4, dtype=torch.float64),
        {},
    ),
    "volterra-layer-low-rank": (lambda: VolterraLayer(LegS(5, timescale=9.0), channels=2, rank=2), {"n_steps": 100}),
    "lstm": (lambda: LSTM(3, 2, width=8, layers=2, dtype=torch.float64), {}),
    "lstm-float32": (lambda: LSTM(3, 2, width=8), {}),
    "gru": (lambda: GRU(3, 2, width=8, layers=2, dtype=torch.float64), {}),
    "gru, dt as a feature": (lambda: GRU(3, 2, width=8, layers=2, time="feature", dtype=torch.float64), {}),
    "gru-d": (lambda: GRU(3, 2, width=8, layers=2, time="fading", dtype=torch.float64), {}),
    "s4d": (lambda: S4D(3, 2, width=8, layers=2, order=6, dtype=torch.float64), {"n_steps": 150}),
    "s4d-float32": (lambda: S4D(3, 2, width=8), {}),
    "mamba": (lambda: Mamba(3, 2, width=8, layers=2, order=5, dtype=torch.float64), {}),
    "mamba-sees-state": (
        lambda: Mamba(3, 2, width=8, order=5, dt_rank=2, step_sees_state=True, dtype=torch.float64),
        {},
    ),
    "mamba-float32": (lambda: Mamba(3, 2, width=8), {}),
    "transformer": (lambda: Transformer(3, 2, width=8, layers=2, dtype=torch.float64), {}),
    "transformer-window": (lambda: Transformer(3, 2, width=8, layers=2, positions="sinusoidal", context=17), {}),
    "transformer-learnt": (lambda: Transformer(3, 2, width=8, positions="learnt", context=17), {}),
    "deltanet": (lambda: DeltaNet(3, 2, width=8, layers=2, dtype=torch.float64), {"n_steps": 150}),
    "gated-deltanet": (lambda: GatedDeltaNet(3, 2, width=8, layers=2, dtype=torch.float64), {"n_steps": 150}),
    "deltanet-float32": (lambda: DeltaNet(3, 2, width=8), {}),
    "vanilla": (lambda: VanillaHippo(3, 2, LegT(6, 9.0), width=4, layers=2, dtype=torch.float64), {}),
    "vanilla-mlp": (lambda: VanillaMLP(3, 2, LegS(6, 9.0), width=4, hidden=5), {}),
    # A state is carried as a staircase of interpolated cells: exact to the table, not to the last bit.
    "salience": (lambda: SalienceLayer(LegT(12, timescale=20.0), 3, outputs=2), {"tolerance": 2e-4}),
    "salience-input-only": (
        lambda: SalienceLayer(LegS(12, timescale=20.0), 3, summary=0, dtype=torch.float64),
        {"tolerance": 1e-7},
    ),
    "salience-per-channel": (
        lambda: SalienceLayer(LegT(8, timescale=9.0), 3, per_channel=True, dtype=torch.float64),
        {"tolerance": 1e-7},
    ),
    "salience-states": (
        lambda: SalienceLayer(FouT(7, timescale=9.0), 2, readout="states", dtype=torch.float64),
        {"tolerance": 1e-6},
    ),
    "salience-full-recurrent": (
        lambda: SalienceLayer(LagT(8, timescale=9.0), 2, readout="full", outputs=3, form="recurrent"),
        {"tolerance": 2e-4},
    ),
    "salience-model": (
        lambda: SalienceModel(4, 3, LegT(16, timescale=20.0), width=5, dtype=torch.float64),
        {"tolerance": 1e-7, "channels": 4},
    ),
}


def with_all_weights_moved(make):
    """The member with something in every weight: where weights begin at zero, what they multiply is not seen."""
    torch.manual_seed(0)
    member = make()
    if isinstance(member, torch.nn.Module):
        with torch.no_grad():
            for weight in member.parameters():
                weight += 0.1 * torch.randn_like(weight)
    return member


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("name", MEMBERS)
def test_the_member_keeps_its_promise(name, check):
    make, trial = MEMBERS[name]
    check(lambda: with_all_weights_moved(make), Trial(**trial))
