"""Rows of Table 1 with a change, mostly of what the paper leaves open, to find out what the figure hangs on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hippozoo.baselines import Mamba, VanillaHippo, VanillaMLP
from hippozoo.systems import LegT
from hippozoo_studies.paper._two_tasks import LENGTHS, SIZES, Data, Episodes


@dataclass(frozen=True)
class Variant:
    """One row, and what is changed.

    Parameters
    ----------
    model, task
        The row.
    change
        In words, for the table.
    batch
        Sequences per step, in place of the table's.
    steps
        How many times the table's steps.
    data
        How many times the table's sequences to learn from.
    params, layers
        Size and depth of Mamba, in place of the row's.
    all_outputs
        The loss looks at every output, also where nothing is to be said.
    window
        Timescale of the memory, in samples.
    network_behind
        The network stands behind a linear readout as wide as a token, in place of seeing all coefficients.
    token_alone
        The salience sees no summary of the memory.
    random_start
        Addresses and gates of the associative memory begin as any linear layer does.
    rate
        The learning rate, in place of the row's.
    every_seed
        Run with all seeds of the table, where one seed says too little.
    """

    model: str
    task: str
    change: str
    batch: int | None = None
    steps: int = 1
    data: int = 1
    params: int | None = None
    layers: int = 1
    all_outputs: bool = False
    window: float | None = None
    network_behind: bool = False
    token_alone: bool = False
    random_start: bool = False
    rate: float | None = None
    every_seed: bool = False


VARIANTS: dict[str, Variant] = {
    "vanilla_mlp_window_2": Variant("vanilla_mlp", "sc", "window of 2 samples, not 30", window=2.0),
    "vanilla_mlp_window_300": Variant("vanilla_mlp", "sc", "window of 300 samples, not 30", window=300.0),
    "vanilla_mlp_behind": Variant(
        "vanilla_mlp", "sc", "network behind a linear readout of 32 numbers", network_behind=True
    ),
    "salience_token": Variant("salience", "ar", "salience from the token alone", token_alone=True),
    "assoc_window_8": Variant("assoc", "sc", "window of 8 samples, not 2", window=8.0),
    "assoc_window_20": Variant("assoc", "sc", "window of 20 samples, not 2", window=20.0),
    "assoc_random": Variant("assoc", "sc", "random initialisation, rate 3e-3", random_start=True, rate=3e-3),
    "assoc_window_20_random": Variant(
        "assoc",
        "sc",
        "window of 20 samples, random initialisation, rate 3e-3",
        window=20.0,
        random_start=True,
        rate=3e-3,
        every_seed=True,
    ),
    "lstm_all_outputs": Variant("lstm", "sc", "loss on all outputs", all_outputs=True),
    "lstm_batch_32": Variant("lstm", "sc", "batches of 32, not 64", batch=32),
    "lstm_steps": Variant("lstm", "sc", "three times the steps", steps=3),
    "s4d_all_outputs": Variant("s4d", "sc", "loss on all outputs", all_outputs=True),
    "s4d_batch_128": Variant("s4d", "sc", "batches of 128, not 64", batch=128),
    "s4d_steps": Variant("s4d", "sc", "three times the steps", steps=3),
    # Rows that were best at their last step.
    "lstm_2_steps": Variant("lstm_2", "sc", "three times the steps", steps=3),
    "s4d_2_steps": Variant("s4d_2", "sc", "three times the steps", steps=3),
    "mamba_ar_steps": Variant("mamba", "ar", "three times the steps", steps=3),
    "transformer_2_steps": Variant("transformer_2", "sc", "three times the steps", steps=3),
    "mamba_steps": Variant("mamba", "sc", "three times the steps", steps=3),
    # Whether Mamba can do it at all: the paper says so, without a figure.
    "mamba_data": Variant("mamba", "sc", "20 times the data and 8 times the steps", data=20, steps=8),
    "mamba_2": Variant("mamba", "sc", "two layers, 48,000 parameters", params=48_000, layers=2, every_seed=True),
    "mamba_2_small": Variant("mamba", "sc", "two layers, 25,000 parameters", params=25_000, layers=2),
    "mamba_wide": Variant("mamba", "sc", "one layer, 48,000 parameters", params=48_000),
    "deltanet_steps": Variant("deltanet", "sc", "three times the steps", steps=3),
    "vanilla_mlp_steps": Variant("vanilla_mlp", "sc", "three times the steps", steps=3),
    "salience_ar_steps": Variant("salience", "ar", "three times the steps", steps=3),
}


class NetworkBehind(nn.Module):
    """A plain memory, read linearly; a network of one hidden layer sees the readout and nothing else."""

    def __init__(self, size: int, system: LegT, hidden: int = 116) -> None:
        super().__init__()
        self.memory = VanillaHippo(size, size, system, width=32)
        self.network = nn.Sequential(nn.Linear(size, hidden), nn.GELU(), nn.Linear(hidden, size))

    def forward(self, x: Float[Tensor, "batch time inputs"]) -> tuple[Float[Tensor, "batch time outputs"], Tensor]:
        """Outputs, and the state of the memory."""
        read, state = self.memory(x)
        return self.network(read), state


def build_variant(variant: Variant) -> nn.Module | None:
    """The model, where it is another one than the row's."""
    from hippozoo.zoo.associative import AssociativeMemory
    from hippozoo.zoo.salience import SalienceModel

    size, window = SIZES[variant.task], variant.window or float(LENGTHS[variant.task])
    if variant.network_behind:
        return NetworkBehind(size, LegT(16, window))
    if variant.params is not None:
        return Mamba.match(variant.params, inputs=size, outputs=size, layers=variant.layers)
    if variant.token_alone:
        return SalienceModel(size, size, LegT(256, window), summary=0)
    if variant.model == "assoc":
        start = "random" if variant.random_start else "previous"
        return AssociativeMemory(size, system=LegT(32, variant.window or 2.0), hidden=290, start=start)
    if variant.window is None:
        return None
    return VanillaMLP(size, size, LegT(16, window), width=16, hidden=86)


def count_all(data: Data) -> Data:
    """The same episodes, with every output in the loss."""

    def counted(part: Episodes) -> Episodes:
        return replace(part, counted=torch.ones_like(part.counted))

    return Data(counted(data.train), counted(data.validation), counted(data.test), data.vectors)
