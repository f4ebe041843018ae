"""Bokeh's figures in our look; every colour is named by its role, so that a page can turn dark."""

from __future__ import annotations

from typing import Any, Literal

from hippozoo._internal.extras import needs
from hippozoo.apps.pages.look import ROLES

__all__ = ["Painter", "colour", "new_figure", "painted"]

Axis = Literal["linear", "datetime"]


def new_figure(x_label: str, y_label: str = "", *, x_axis: Axis = "linear", height: int = 340, **settings: Any) -> Any:
    """A figure as wide as its page: pan, zoom by wheel and box, reset.

    Labels are plain text: dollar signs in them stay dollar signs.

    >>> figure = new_figure("lag", "weight")
    >>> _ = figure.line([0, 1, 2], [1.0, 0.5, 0.2], line_color=colour("C0"))
    >>> figure.xaxis.axis_label.text
    'lag'
    """
    needs("bokeh", extra="pages", feature="an interactive page")
    from bokeh.models import PlainText
    from bokeh.plotting import figure

    made = figure(
        sizing_mode="stretch_width",
        height=height,
        min_width=0,
        x_axis_type="datetime" if x_axis == "datetime" else "auto",
        tools="xpan,xwheel_zoom,xbox_zoom,reset,save",
        active_scroll=None,  # a wheel scrolls the page until zooming by it is chosen
        toolbar_location="above",
        output_backend="canvas",
        **settings,
    )
    made.toolbar.logo = None
    ticker: Any = made.xaxis[0].ticker
    ticker.desired_num_ticks = 4  # dates side by side must fit a telephone
    for axis, label in ((made.xaxis[0], x_label), (made.yaxis[0], y_label)):
        axis.axis_label = PlainText(text=label)
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = axis.major_label_text_font_size = "13px"
    return made


# Which property of which kind of model has the colour of what.
_FURNITURE = {
    "Axis": {
        "axis_label_text_color": "ink",
        "major_label_text_color": "ink",
        "axis_line_color": "ink",
        "major_tick_line_color": "ink",
        "minor_tick_line_color": "faint",
    },
    "Grid": {"grid_line_color": "faint"},
    "Title": {"text_color": "ink"},
    "Plot": {"background_fill_color": "paper", "border_fill_color": "paper", "outline_line_color": "faint"},
    "Legend": {"label_text_color": "ink", "background_fill_color": "paper", "border_line_color": "faint"},
}
_COLOURS = ("line_color", "fill_color", "text_color", "hatch_color")


def colour(role: str) -> str:
    """The colour of a role: ``"C0"`` to ``"C5"``, ``"ink"``, ``"paper"``, ``"faint"``; dark pages put in their own.

    >>> colour("C0")
    '#0072b2'
    """
    return ROLES["light"][role]


class Painter:
    """Figures that live in Python, turned light or dark there.

    >>> figure = new_figure("lag", "weight")
    >>> glyph = figure.line([0, 1], [1.0, 0.5], line_color=colour("C0")).glyph
    >>> painter = Painter()
    >>> painter.add(figure)
    >>> painter.turn("dark")
    >>> glyph.line_color, figure.background_fill_color
    ('#4aa8e8', '#14181d')
    """

    def __init__(self, theme: str = "light") -> None:
        self.theme = theme
        self._models: dict[str, Any] = {}
        self._roles: list[tuple[str, str, str, bool]] = []

    def add(self, *figures: Any) -> None:
        """Take care of further figures, which were made in light colours."""
        fresh = painted(list(figures))
        self._models |= {one.id: one for figure in figures for one in figure.references()}
        self._roles += fresh
        self._put(fresh)

    def turn(self, theme: str) -> None:
        """Put the colours of a theme in, ``"light"`` or ``"dark"``."""
        self.theme = theme
        self._put(self._roles)

    def _put(self, roles: list[tuple[str, str, str, bool]]) -> None:
        for model, name, role, _ in roles:
            setattr(self._models[model], name, ROLES[self.theme][role])


def painted(figures: list[Any]) -> list[tuple[str, str, str, bool]]:
    """Model, property, role and whether it is a glyph's: where the script of a page puts colours in."""
    from bokeh.core.property.vectorization import Value
    from bokeh.models import Axis, Grid, Legend, Plot, Title
    from bokeh.models.glyph import Glyph  # pyright: ignore[reportMissingImports, reportAttributeAccessIssue]

    kinds = {"Axis": Axis, "Grid": Grid, "Title": Title, "Plot": Plot, "Legend": Legend}
    roles = {hexadecimal: role for role, hexadecimal in ROLES["light"].items()}
    found = []
    for model in {one.id: one for figure in figures for one in figure.references()}.values():
        for name, kind in kinds.items():
            if isinstance(model, kind):
                for name_of_property, role in _FURNITURE[name].items():
                    setattr(model, name_of_property, colour(role))
                    found.append((model.id, name_of_property, role, False))
        for name in _COLOURS if isinstance(model, Glyph) else ():
            given = getattr(model, name, None)
            given = given.value if isinstance(given, Value) else given
            if isinstance(given, str) and given in roles:
                found.append((model.id, name, roles[given], True))
    return found
