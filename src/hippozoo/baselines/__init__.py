"""Other people's sequence models, small and parameter-matched, under the same contract as our layers.

`VanillaHippo`, `VanillaMLP` and ``GRU(time=...)`` know time; the others refuse every `dt` but None.
"""

from hippozoo._internal.extras import needs

needs("torch", extra="torch", feature="hippozoo.baselines")

from hippozoo.baselines.base import Baseline, parameter_count
from hippozoo.baselines.deltanet import DeltaNet, DeltaNetState, GatedDeltaNet
from hippozoo.baselines.gru import GRU
from hippozoo.baselines.lstm import LSTM, LSTMState
from hippozoo.baselines.mamba import Mamba, MambaState
from hippozoo.baselines.s4d import S4D
from hippozoo.baselines.transformer import Positions, Transformer, TransformerState
from hippozoo.baselines.vanilla import VanillaHippo, VanillaMLP

__all__ = [
    "Baseline",
    "parameter_count",
    "LSTM",
    "LSTMState",
    "GRU",
    "S4D",
    "Mamba",
    "MambaState",
    "Transformer",
    "TransformerState",
    "Positions",
    "VanillaHippo",
    "VanillaMLP",
    "DeltaNet",
    "DeltaNetState",
    "GatedDeltaNet",
]
