"""Write and read at addresses, and see the bank: what it holds, and how writes disturb each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import panel as pn
from bokeh.events import Tap
from bokeh.models import BasicTicker, LinearColorMapper, Range1d
from jaxtyping import Float

from hippozoo.apps.explore.tabs import parts
from hippozoo.apps.pages import colour
from hippozoo.polynomials import Legendre
from hippozoo.zoo.associative import interference_matrix, recall_matrix

PLACES = 401
MOST_WRITES = 40


class Write(NamedTuple):
    """A write: where, what, and how far (1 is all the way)."""

    address: float
    value: float
    gate: float = 1.0


class AssociativeView:
    """A bank of one channel and the writes made to it, in order."""

    def __init__(self, order: int = 16, writes: tuple[Write, ...] = ()) -> None:
        self.order, self.writes = order, writes
        self.family = Legendre(order)
        self.places = np.linspace(0.0, 1.0, PLACES)
        self.bank = self._read(self.places)
        addresses = np.array([one.address for one in writes])
        # What is read now where each write was made, and how much a full write at address j moves what is read at i.
        self.recalled = self._read(addresses)
        self.interference = interference_matrix(self.family, addresses) if writes else np.zeros((0, 0))

    def write(self, address: float, value: float, gate: float = 1.0) -> AssociativeView:
        """The view after one more write; the oldest of more than forty are let go."""
        given = Write(*(float(f"{one:.4g}") for one in (np.clip(address, 0, 1), value, np.clip(gate, 0, 1))))
        return AssociativeView(self.order, (*self.writes, given)[-MOST_WRITES:])

    def _read(self, places: np.ndarray) -> np.ndarray:
        if not self.writes:
            return np.zeros(len(places))
        addresses, values, gates = np.array(self.writes).T
        return recall_matrix(self.family, addresses, gates, places) @ values

    def read(self, address: float) -> float:
        """What is read at one address."""
        return float(self._read(np.array([address]))[0])

    def bump(self, address: float) -> Float[np.ndarray, " places"]:
        """By how much a full write there would move what is read at each place, per unit of change."""
        values = self.family.values(np.append(self.places, address))
        return values[:-1] @ values[-1] / (values[-1] @ values[-1])

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


def _slider(label: str, start: float, end: float, step: float, value: float) -> Any:
    return pn.widgets.FloatSlider(
        label=label, start=start, end=end, step=step, value=value, min_width=150, max_width=250, **parts.WIDE
    )


class AssociativeTab(parts.Tab):
    """The bank as a function of the address, what is written and read, and how writes disturb each other."""

    def __init__(self, session: parts.Session) -> None:
        super().__init__(session)
        self.view = AssociativeView(16).write(0.2, 1.0).write(0.5, -0.6).write(0.8, 0.5)
        self.order = parts.choice("Order of the bank", [4, 6, 8, 12, 16, 24, 32, 48, 64], 16)
        self.address = _slider("Address", 0.0, 1.0, 0.005, 0.35)
        self.value = _slider("Value", -1.5, 1.5, 0.05, 1.0)
        self.gate = _slider("Gate", 0.0, 1.0, 0.05, 1.0)
        self.write = parts.button("Write", 90, lambda: self._write(self.address.value, self.value.value))
        self.undo = parts.button("Undo", 90, lambda: self._put(AssociativeView(self.view.order, self.view.writes[:-1])))
        self.clear = parts.button("Clear", 90, lambda: self._put(AssociativeView(self.view.order)))
        parts.when_let_go(lambda: self._put(AssociativeView(self.order.value, self.view.writes)), self.order)
        self.address.param.watch(lambda _event: self._put(self.view), "value")

        self.curve = parts.columns("address", "held", "bump")
        self.points = parts.columns("address", "value", "read")
        self.reading = parts.columns("address", "read")
        self.cells = parts.columns("i", "j", "moved")
        ranges = {"x_range": Range1d(start=-0.01, end=1.01), "y_range": Range1d(start=-2, end=2)}
        self.bank = bank = parts.picture("address: click to write there", "value", 320, **ranges)
        parts.draw_line(bank, self.curve, "address", "bump", "C2", line_width=1.5, line_dash="dashed")
        parts.draw_line(bank, self.curve, "address", "held", "C0", line_width=2.5)
        bank.segment("address", "value", "address", "read", source=self.points, line_color=colour("C1"), line_width=2)
        bank.scatter("address", "value", source=self.points, size=9, fill_color=colour("C1"), line_color=None)
        bank.scatter(
            "address", "read", source=self.reading, size=12, marker="x", line_color=colour("ink"), line_width=3
        )
        bank.on_event(Tap, self._tap)
        heat = parts.picture("written at (number of the write)", "read at", 300)
        heat.max_width = 420
        for axis in (heat.xaxis[0], heat.yaxis[0]):
            axis.ticker = BasicTicker(min_interval=1, num_minor_ticks=0)
        mapped = {"field": "moved", "transform": LinearColorMapper(palette=parts.BLUE_TO_RED, low=-1, high=1)}
        heat.rect("j", "i", 1, 1, source=self.cells, line_color=None, fill_color=mapped)

        self._put(self.view)
        self.layout = self.arrange(
            "A bank is a function of an address between 0 and 1 (blue). A write makes it right at one address, and "
            "moves it elsewhere by the dashed bump. Dots are what was written, and a line leads to what is read "
            "there now. The cross reads at the address of the slider.",
            [self.order, self.address, self.value, self.gate, self.write, self.undo, self.clear],
            self.said,
            bank,
            parts.sentence(
                "Interference: how far a full write at one address moves what is read at another (red up, blue down)."
            ),
            heat,
        )

    def _tap(self, event: Any) -> None:
        if event.x is not None and 0 <= event.x <= 1 and -2 <= event.y <= 2:
            self._write(event.x, event.y)

    def _write(self, address: float, value: float) -> None:
        self._put(self.view.write(address, value, self.gate.value))

    def _put(self, view: AssociativeView) -> None:
        self.view = view
        here, count = float(self.address.value), len(view.writes)
        parts.put(self.curve, address=view.places, held=view.bank, bump=view.bump(here))
        addresses, values = [one.address for one in view.writes], [one.value for one in view.writes]
        recalled = view.recalled.tolist()
        self.points.data = {"address": addresses, "value": values, "read": recalled}
        self.reading.data = {"address": [here], "read": [view.read(here)]}
        rows, columns = np.indices((count, count)).reshape(2, -1) + 1
        self.cells.data = {"i": rows, "j": columns, "moved": view.interference.ravel()}
        worst = max((abs(read - value) for read, value in zip(recalled, values, strict=True)), default=0.0)
        self.tell(
            f"{count} write{'s' * (count != 1)} in {view.order} coefficients; reading at {here:g} gives "
            f"{view.read(here):.3g}. The recall that is furthest off is off by {worst:.2g}.",
        )
