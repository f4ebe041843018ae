"""A torch model on an endless stream: trained in chunks with the state handed on, then run sample by sample.

    python examples/torch_stream.py

The task: from a noisy signal tell, at every sample, its value 30 samples ago and its maximum over the last 100.
"""

import torch
from torch import nn

from hippozoo.memory import MemoryLayer
from hippozoo.systems import LegT

CHUNK = 200
torch.manual_seed(0)


def stream(batch: int = 16):
    """Noisy oscillations without an end, in chunks of (batch, time, 1) with their targets (batch, time, 2)."""
    time = torch.arange(1, CHUNK + 1)
    phase, speed = 6.28 * torch.rand(batch, 1), 0.02 + 0.06 * torch.rand(batch, 1)
    before = torch.zeros(batch, 100)
    while True:
        loudness = 1 + 0.5 * torch.sin(0.31 * (phase + speed * time))
        signal = loudness * torch.sin(phase + speed * time) + 0.02 * torch.randn(batch, CHUNK)
        history = torch.cat([before, signal], dim=1)
        ago, highest = history[:, 70:-30], history.unfold(1, 100, 1).amax(-1)[:, 1:]
        yield signal[..., None], torch.stack([ago, highest], dim=-1)
        phase, before = phase + speed * CHUNK, signal[:, -100:]


class Model(nn.Module):
    """48 coefficients of the last 120 samples, 32 learnt readings of them, and a small network."""

    def __init__(self):
        super().__init__()
        self.memory = MemoryLayer(LegT(order=48, timescale=120.0), channels=1, outputs=32)
        self.head = nn.Sequential(nn.GELU(), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 2))

    def forward(self, x, state=None):
        """A chunk in, answers and state out."""
        y, state = self.memory(x, state)
        return self.head(y), state

    def step(self, x, state):
        """One sample in, answers and state out."""
        y, state = self.memory.step(x, state)
        return self.head(y), state


model = Model()
optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
chunks, state = stream(), None
for number in range(401):
    x, target = next(chunks)
    y, state = model(x, state)
    state = state.detach()  # truncated backpropagation: the past stays, its gradient goes
    loss = nn.functional.mse_loss(y, target)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    if number % 100 == 0:
        print(f"chunk {number:3d}: mean squared error {loss.item():.4f}")

# In production samples come one by one; the answers are those of the whole sequence.
x, target = next(stream(batch=1))
with torch.no_grad():
    whole, _ = model(x)
    state = model.memory.initial_state(batch=1)
    for t in range(CHUNK):
        y, state = model.step(x[:, t], state)
difference = (y - whole[:, -1]).abs().max().item()
print(f"now: {y[0, 0]:.2f} was it 30 samples ago (in truth {target[0, -1, 0]:.2f}), ", end="")
print(f"{y[0, 1]:.2f} the highest of 100 ({target[0, -1, 1]:.2f})")
print(f"sample by sample or all at once: the answers differ by {difference:.0e}")
