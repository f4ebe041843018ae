"""What all tabs share: their layout, pictures that turn dark, a sentence, the code box, and a slider that plays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, CustomJS, Plot, Range1d, Slider, Toggle
from bokeh.palettes import interp_palette

from hippozoo.apps.explore.signals import Loaded
from hippozoo.apps.pages import Painter, colour, new_figure, shown

WIDE: dict[str, Any] = {"sizing_mode": "stretch_width"}
# Panel's buttons have no border on a page of our colours.
OUTLINED = [
    ".bk-btn{border:1px solid var(--ink) !important;opacity:.9}",
    ".bk-btn.bk-active{background:var(--C0) !important;color:var(--paper) !important}",
]
# From what lowers to what raises; white is nothing.
BLUE_TO_RED = [
    *interp_palette(("#053061", "#4393c3", "#f7f7f7"), 32),
    *interp_palette(("#f7f7f7", "#d6604d", "#67001f"), 32),
]


class Session:
    """What the tabs of one browser window have in common: the signal, and the colours."""

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


class Tab:
    """One tab: a sentence about it, controls, pictures, and the code of what is shown.

    A tab makes its widgets and pictures in `__init__` and sets `layout` to `arrange` of them.
    """

    layout: Any
    view: Any

    def __init__(self, session: Session) -> None:
        self.session = session
        self.said = sentence()
        self.code = CodeBox(self.write_code)

    def write_code(self) -> str:
        """Python that gives the same pictures; most views need nothing but themselves for it."""
        return self.view.code()

    def tell(self, text: str) -> None:
        """Say in words what the pictures show now; the code follows."""
        tell(self.said, text)
        self.code.refresh()

    def arrange(self, about: str, controls: Sequence[Any], *pieces: Any) -> Any:
        """Everything below each other; pictures get the colours of the page, and the code stands last."""
        figures = [one for one in pieces if isinstance(one, Plot)]
        self.session.painter.add(*figures)
        placed = [pn.pane.Bokeh(one, **WIDE) if isinstance(one, Plot) else one for one in pieces]
        return pn.Column(sentence(about), side_by_side(*controls), *placed, self.code.layout, **WIDE)


def picture(x_label: str, y_label: str = "", height: int = 220, **settings: Any) -> Any:
    """A figure in the page's look that stays where it is."""
    figure = new_figure(x_label, y_label, height=height, **settings)
    figure.toolbar_location = None
    figure.toolbar.active_drag = None
    return figure


def draw_line(figure: Any, source: ColumnDataSource, x: str, y: str, role: str = "ink", **settings: Any) -> None:
    """A line in the colour of a role; the truth, in ink, is thick and faint."""
    usual = {"line_width": 2.5, "line_alpha": 0.5} if role == "ink" else {"line_width": 2}
    figure.line(x, y, source=source, line_color=colour(role), **(usual | settings))


def draw_area(figure: Any, source: ColumnDataSource, x: str, y: str, role: str) -> None:
    """A line, and a tint of its colour down to zero."""
    figure.varea(x, 0, y, source=source, fill_color=colour(role), fill_alpha=0.3)
    draw_line(figure, source, x, y, role)


def draw_past(values: np.ndarray, source: ColumnDataSource, height: int) -> Any:
    """A picture of the columns true and remembered by lag, the present on the right."""
    figure = picture("lag", "signal", height, x_range=Range1d(start=1, end=0), y_range=Range1d())
    set_around(figure.y_range, values)
    figure.step("lag", "true", source=source, mode="before", line_color=colour("ink"), line_width=2.5, line_alpha=0.5)
    draw_line(figure, source, "lag", "remembered", "C0")
    return figure


def columns(*names: str) -> ColumnDataSource:
    """A source whose columns are still empty."""
    return ColumnDataSource({name: [] for name in names})


def put(source: ColumnDataSource, **values: Any) -> None:
    """Fill a source; half as many bytes as there are, and more digits than a screen shows."""
    source.data = {name: small(one) for name, one in values.items()}


def small(values: Any) -> np.ndarray:
    """As single precision."""
    return np.asarray(values, dtype=np.float32)


def set_around(axis: Any, values: Any, margin: float = 0.08) -> None:
    """Fix a range around values, so that a picture does not jump while it plays."""
    low, high = float(values.min()), float(values.max())
    room = margin * (high - low) or 1.0
    axis.update(start=low - room, end=high + room)


def with_unit(name: str, unit: str) -> str:
    """The label of an axis."""
    return f"{name} ({unit})" if unit else name


def sentence(text: str = "", kind: str = "told") -> Any:
    """A line of plain text that can be changed with `tell`."""
    return pn.pane.HTML(_paragraph(text, kind), margin=(2, 10), css_classes=[kind], **WIDE)


def tell(pane: Any, text: str, kind: str = "told") -> None:
    """Put another text there; names in it are shown as they are."""
    pane.object = _paragraph(text, kind)


def _paragraph(text: str, kind: str) -> str:
    live = ' role="alert"' if kind == "problem" else ""
    return f'<p class="{kind}"{live} style="margin:0;white-space:pre-wrap;overflow-wrap:anywhere">{shown(text)}</p>'


def button(label: str, width: int, act: Callable[[], None]) -> Any:
    """A button that does something."""
    made = pn.widgets.Button(label=label, width=width, stylesheets=OUTLINED)
    made.on_click(lambda _event: act())
    return made


def choice(label: str, options: Sequence[Any] | dict[str, Any], value: Any) -> Any:
    """A slider over given values; its `value_throttled` changes when it is let go."""
    return pn.widgets.DiscreteSlider(label=label, options=options, value=value, min_width=150, max_width=330, **WIDE)


def when_let_go(act: Callable[[], None], *choices: Any) -> None:
    """Act when one of these is let go."""
    for one in choices:
        one.param.watch(lambda _event: act(), "value_throttled")


def in_unit(values: Sequence[float], unit: str) -> dict[str, float]:
    """Values as options of a choice, by how they are written."""
    return {f"{one:g} {unit}".strip(): one for one in values}


def chosen(options: Sequence[Any], slider: Any) -> Any:
    """Which of the options a slider stands at; it may still be on its way to a shorter list."""
    return options[min(int(slider.value), len(options) - 1)]


def slider(title: str, end: int, value: int, act: Callable[[], None]) -> Any:
    """Bokeh's own slider, which acts while it is dragged; its title says where it stands."""
    made = Slider(title=title, start=0, end=end, value=value, step=1, show_value=False, **WIDE)
    made.on_change("value", lambda _attribute, _old, _new: act())
    return made


def slider_row(made: Any) -> Any:
    """A slider as wide as the page."""
    return pn.pane.Bokeh(made, height=50, **WIDE)


def side_by_side(*widgets: Any) -> Any:
    """Widgets side by side, below each other where the window is narrow."""
    return pn.FlexBox(*widgets, align_items="end", gap="4px 8px", **WIDE)


def script(name: str, models: dict[str, Any]) -> CustomJS:
    """A script of this folder that works on these models."""
    return CustomJS(args=models, code=(Path(__file__).parent / name).read_text(encoding="utf-8"))


class CodeBox:
    """A button that shows the code of a view, kept up to date while it is open, and one that copies it."""

    def __init__(self, code: Callable[[], str]) -> None:
        self._code = code
        self.button = pn.widgets.Toggle(label="Show the code", width=140, stylesheets=OUTLINED)
        self.copy = pn.widgets.Button(label="Copy", width=80, visible=False, stylesheets=OUTLINED)
        self.pane = pn.pane.HTML("", visible=False, css_classes=["code"], **WIDE)
        self.copy.js_on_click(args={"text": self.pane, "button": self.copy}, code=script("copy.js", {}).code)
        self.button.param.watch(self._turn, "value")
        self.layout = pn.Column(pn.Row(self.button, self.copy), self.pane, **WIDE)

    def _turn(self, event: Any) -> None:
        self.pane.visible = self.copy.visible = bool(event.new)
        self.button.label = "Hide the code" if event.new else "Show the code"
        self.refresh()

    def refresh(self) -> None:
        """Write the code of what is shown now, if the box is open."""
        if self.button.value:
            self.pane.object = f"<pre><code>{shown(self._code())}</code></pre>"


class Player:
    """A slider over moments that also plays; `frame` gives the columns that change, for each source of `shown`.

    Bokeh's own widgets, since Panel waits 50 ms before it hears of a value, and a frame must not.
    """

    def __init__(
        self,
        end: int,
        value: int,
        show: Callable[[int], None],
        shown: Sequence[ColumnDataSource],
        frame: Callable[[int], Sequence[dict[str, np.ndarray]]],
        frames: int = 600,
    ) -> None:
        self._show, self._frame, self._frames = show, frame, frames
        self.slider = Slider(title="Samples seen", start=1, end=max(2, end), value=value, step=1, **WIDE)
        self.button = Toggle(label="▶ Play", width=90)
        self.ahead = [ColumnDataSource() for _ in shown]
        self.slider.tags = [max(1, end // frames), 0]
        self.slider.on_change("value", lambda _attribute, _old, new: self._show(int(new)))
        self.button.on_change("tags", lambda _attribute, _old, new: self._hear(new))
        models = {"slider": self.slider, "button": self.button, "shown": list(shown), "ahead": self.ahead}
        self.button.js_on_change("active", script("play.js", models))
        self.ahead[0].js_on_change("data", script("arrived.js", models))
        flush = "slider.store = []; slider.waiting = false; slider.asked_to = slider.value;"
        self.slider.js_on_change("tags", CustomJS(args=models, code=flush))
        self.layout = pn.Row(pn.pane.Bokeh(self.button, width=100), slider_row(self.slider), **WIDE)

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
                put(source, **{name: np.concatenate([one[name] for one in parts]) for name in parts[0]})

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
