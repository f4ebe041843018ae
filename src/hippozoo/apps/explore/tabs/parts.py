"""What all tabs share: figures that turn dark, a sentence, the code box, and a slider that plays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, CustomJS, Range1d, Slider, Toggle

from hippozoo.apps.explore.signals import Loaded
from hippozoo.apps.pages import Painter, new_figure, shown

__all__ = [
    "OUTLINED",
    "BLUE_TO_RED",
    "CodeBox",
    "Player",
    "Session",
    "choice",
    "controls",
    "picture",
    "sentence",
    "shown_figures",
    "small",
    "tell",
    "y_range",
]


def _between(dark: str, middle: str, light: str) -> list[str]:
    places = np.linspace(0.0, 1.0, 32)
    channels = [[int(one[i : i + 2], 16) for one in (dark, middle, light)] for i in (1, 3, 5)]
    mixed = np.array([np.interp(places, [0.0, 0.5, 1.0], channel) for channel in channels]).T.round().astype(int)
    return ["#{:02x}{:02x}{:02x}".format(*one) for one in mixed]


# Panel's buttons have no border on a page of our colours.
OUTLINED = [
    ".bk-btn{border:1px solid var(--ink) !important;opacity:.9}",
    ".bk-btn.bk-active{background:var(--C0) !important;color:var(--paper) !important}",
]
# From what lowers to what raises; white is nothing.
BLUE_TO_RED = [*_between("#053061", "#4393c3", "#f7f7f7"), *_between("#67001f", "#d6604d", "#f7f7f7")[::-1]]


class Session:
    """What the tabs of one browser window have in common: the signal, and the colours.

    Parameters
    ----------
    loaded
        The signal to begin with.
    """

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.painter = Painter()
        self._listeners: list[Callable[[Loaded], None]] = []

    def listen(self, hear: Callable[[Loaded], None]) -> None:
        """Call `hear` with every signal that is chosen from now on."""
        self._listeners.append(hear)

    def load(self, loaded: Loaded) -> None:
        """Explore another signal, in all tabs that are open."""
        self.loaded = loaded
        for hear in self._listeners:
            hear(loaded)


def picture(session: Session, x_label: str, y_label: str = "", height: int = 220, **settings: Any) -> Any:
    """A figure in the page's look; call `session.painter.add` once its glyphs are there."""
    figure = new_figure(x_label, y_label, height=height, **settings)
    figure.toolbar_location = None
    figure.toolbar.active_drag = None
    return figure


def y_range(values: Any, margin: float = 0.08) -> Range1d:
    """A fixed range around values, so that a picture does not jump while it plays."""
    low, high = float(values.min()), float(values.max())
    room = margin * (high - low) or 1.0
    return Range1d(start=low - room, end=high + room)


def sentence(text: str = "", kind: str = "told") -> Any:
    """A line of plain text that can be changed with `tell`."""
    return pn.pane.HTML(_paragraph(text, kind), sizing_mode="stretch_width", margin=(2, 10), css_classes=[kind])


def tell(pane: Any, text: str, kind: str = "told") -> None:
    """Put another text there; names in it are shown as they are."""
    pane.object = _paragraph(text, kind)


def _paragraph(text: str, kind: str) -> str:
    live = ' role="alert"' if kind == "problem" else ""
    return f'<p class="{kind}"{live} style="margin:0;white-space:pre-wrap;overflow-wrap:anywhere">{shown(text)}</p>'


def choice(label: str, options: Sequence[Any] | dict[str, Any], value: Any) -> Any:
    """A slider over given values; its `value_throttled` changes when it is let go."""
    return pn.widgets.DiscreteSlider(
        label=label, options=options, value=value, sizing_mode="stretch_width", min_width=150, max_width=330
    )


def controls(*widgets: Any) -> Any:
    """Widgets side by side, below each other where the window is narrow."""
    return pn.FlexBox(*widgets, align_items="end", gap="4px 8px", sizing_mode="stretch_width")


def small(values: Any) -> np.ndarray:
    """Half as many bytes, and more digits than a screen shows."""
    return np.asarray(values, dtype=np.float32)


def shown_figures(*figures: Any) -> list[Any]:
    """Figures as Panel lays them out: as wide as the page."""
    return [pn.pane.Bokeh(one, sizing_mode="stretch_width") for one in figures]


class CodeBox:
    """A button that shows the code of a view, kept up to date while it is open, and one that copies it.

    Parameters
    ----------
    code
        Gives the code of what is shown at present.
    """

    def __init__(self, code: Callable[[], str]) -> None:
        self._code = code
        self.button = pn.widgets.Toggle(label="Show the code", width=140, stylesheets=OUTLINED)
        self.copy = pn.widgets.Button(label="Copy", width=80, visible=False, stylesheets=OUTLINED)
        self.pane = pn.pane.HTML("", sizing_mode="stretch_width", visible=False, css_classes=["code"])
        self.copy.js_on_click(
            args={"text": self.pane, "button": self.copy},
            code="""const box = document.createElement("textarea");
box.innerHTML = text.text; box.value = new DOMParser().parseFromString(box.value, "text/html").body.textContent;
const said = (word) => { button.label = word; setTimeout(() => { button.label = "Copy"; }, 1500); };
const by_hand = () => { document.body.append(box); box.select(); document.execCommand("copy"); box.remove(); };
navigator.clipboard ? navigator.clipboard.writeText(box.value).catch(by_hand) : by_hand();
said("Copied");""",
        )
        self.button.param.watch(self._turn, "value")
        self.layout = pn.Column(pn.Row(self.button, self.copy), self.pane, sizing_mode="stretch_width")

    def _turn(self, event: Any) -> None:
        self.pane.visible = self.copy.visible = bool(event.new)
        self.button.label = "Hide the code" if event.new else "Show the code"
        self.refresh()

    def refresh(self) -> None:
        """Write the code of what is shown now, if the box is open."""
        if self.button.value:
            self.pane.object = f"<pre><code>{shown(self._code())}</code></pre>"


# The browser asks for a dozen frames at a time and paints them from its own store, at most forty a second: a busy
# machine answers late, and the picture does not stop for it. What it paints is not sent back.
_PLAY = """
button.label = button.active ? "⏸ Pause" : "▶ Play";
if (!button.active) {
  if (slider.playing) button.tags = ["rest", slider.value];
  slider.playing = false;
  return;
}
if (slider.playing) return;
slider.playing = true; slider.waiting = false; slider.store = []; slider.asked_to = slider.value;
const count = 12;
let last = 0;
const ask = (now) => {
  if (slider.waiting && now - slider.since < 3000) return;
  slider.waiting = true; slider.since = now; slider.moments = [];
  for (let i = 0; i < count; i += 1) {
    const next = slider.asked_to + slider.tags[0];
    slider.asked_to = next > slider.end ? slider.start : next;
    slider.moments.push(slider.asked_to);
  }
  button.tags = ["ask", ...slider.moments];
};
const loop = (now) => {
  if (!slider.playing) return;
  requestAnimationFrame(loop);
  if (slider.store.length < count) ask(now);
  if (now - last < 24 || !slider.store.length) return;
  last = now;
  const [moment, frame] = slider.store.shift();
  frame.forEach((data, i) => shown[i].setv({ data: { ...shown[i].data, ...data } }, { sync: false }));
  slider.setv({ value: moment }, { sync: false });
};
requestAnimationFrame(loop);
"""
_ARRIVED = """
slider.waiting = false;
if (!slider.playing) return;
const part = (all, k, n) => Float32Array.from({ length: n }, (_, i) => all[k * n + i]);
const count = slider.moments.length;
slider.moments.forEach((moment, k) => slider.store.push([moment, ahead.map((one) => Object.fromEntries(
  Object.entries(one.data).map(([name, all]) => [name, part(all, k, all.length / count)])))]));
"""
_FLUSH = "slider.store = []; slider.waiting = false; slider.asked_to = slider.value;"


class Player:
    """A slider over moments that also plays.

    Bokeh's own widgets, since Panel waits 50 ms before it hears of a value, and a frame must not.

    Parameters
    ----------
    label
        Of the slider.
    end, value
        Its last value, and where it stands; it begins at 1.
    show
        Called with the moment that the slider was put to.
    shown
        The sources that change from frame to frame.
    frame
        For one moment: for each of these sources, the columns that change.
    frames
        How many frames a whole run takes.
    """

    def __init__(
        self,
        label: str,
        end: int,
        value: int,
        show: Callable[[int], None],
        shown: Sequence[ColumnDataSource],
        frame: Callable[[int], Sequence[dict[str, np.ndarray]]],
        frames: int = 600,
    ) -> None:
        self._show, self._frame, self._frames = show, frame, frames
        self.slider = Slider(title=label, start=1, end=max(2, end), value=value, step=1, sizing_mode="stretch_width")
        self.button = Toggle(label="▶ Play", width=90)
        self.ahead = [ColumnDataSource() for _ in shown]
        self.slider.tags = [max(1, end // frames), 0]
        self.slider.on_change("value", lambda _attribute, _old, new: self._show(int(new)))
        self.button.on_change("tags", lambda _attribute, _old, new: self._hear(new))
        models = {"slider": self.slider, "button": self.button, "shown": list(shown), "ahead": self.ahead}
        self.button.js_on_change("active", CustomJS(args=models, code=_PLAY))
        self.ahead[0].js_on_change("data", CustomJS(args=models, code=_ARRIVED))
        self.slider.js_on_change("tags", CustomJS(args=models, code=_FLUSH))
        self.layout = pn.Row(
            pn.pane.Bokeh(self.button, width=100),
            pn.pane.Bokeh(self.slider, sizing_mode="stretch_width", height=50),
            sizing_mode="stretch_width",
        )

    def _hear(self, said: Sequence[Any]) -> None:
        """The browser asks for frames, or has come to rest at a moment."""
        what, *moments = said
        inside = [min(max(1, int(one)), int(self.slider.end)) for one in moments]  # pyright: ignore[reportArgumentType]
        if what == "rest":
            self.slider.value = inside[0]
            self._show(inside[0])
        elif what == "ask" and inside:
            batches = list(zip(*(self._frame(one) for one in inside[:64]), strict=True))
            # The first source is the last to be sent: its arrival says that all are there.
            for source, parts in reversed(list(zip(self.ahead, batches, strict=True))):
                source.data = {name: small(np.concatenate([one[name] for one in parts])) for name in parts[0]}

    def reach(self, end: int, value: int) -> None:
        """Play another stretch."""
        self.slider.update(end=max(2, end), value=value)
        self.flush()

    def flush(self) -> None:
        """Frames that were sent ahead no longer hold."""
        step = max(1, int(self.slider.end) // self._frames)  # pyright: ignore[reportArgumentType]
        self.slider.tags = [step, 1 + int(str(self.slider.tags[1]))]

    @property
    def now(self) -> int:
        """Where the slider stands."""
        return int(self.slider.value)  # pyright: ignore[reportArgumentType]
