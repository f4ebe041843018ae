"""The page of the explorer: a signal to choose, and a tab for each member, made when it is opened."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import panel as pn
from bokeh.models import CustomJS, Div, Toggle

from hippozoo.apps.explore.signals import MOST_BYTES, SIGNALS, Loaded, Uploaded, built_in
from hippozoo.apps.explore.tabs.memory import MemoryTab
from hippozoo.apps.explore.tabs.parts import WIDE, Session, sentence, side_by_side, tell
from hippozoo.apps.pages.look import style

__all__ = ["Explorer", "page"]

# Title, module and class of every tab; a module is loaded when its tab is opened.
_TABS = (
    ("Memory", "memory", "MemoryTab"),
    ("Salience", "salience", "SalienceTab"),
    ("Associative", "associative", "AssociativeTab"),
    ("Multiscale", "multiscale", "MultiscaleTab"),
    ("Forecast", "forecasting", "ForecastTab"),
    ("Volterra", "volterra", "VolterraTab"),
)
_TABS_STYLE = """.bk-headers{flex-wrap:wrap;overflow:visible}.bk-header{height:auto}.bk-tab{color:var(--ink)}
.bk-tab.bk-active{color:var(--ink);background:var(--paper);border-color:var(--ink);border-bottom-color:var(--paper)}"""
_YOURS = "your file"
_SET_THEME = 'document.documentElement.dataset.theme = dark.active ? "dark" : "light";'
_TEMPLATE = """{% extends base %}
{% block title %}hippozoo explore{% endblock %}
{% block postamble %}<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{{ own_style }}</style>{% endblock %}
{% block contents %}<main><h1>Memory at work</h1>{{ embed(roots.main) }}</main>{% endblock %}
"""
_STYLE = """
:root{--design-background-color:var(--paper);--design-background-text-color:var(--ink);
--design-surface-color:var(--paper);--design-surface-text-color:var(--ink);--background-color:var(--paper);
--text-color:var(--ink);--border-color:var(--faint);--panel-primary-color:var(--C0)}
body{max-width:70rem}
"""


class Explorer:
    """One window: everything on its page; it begins with a signal, and the file that came from, if it did."""

    def __init__(self, loaded: Loaded, uploaded: Uploaded | None = None) -> None:
        self.session = Session(loaded)
        self.uploaded = uploaded
        names = [*SIGNALS, *([_YOURS] if uploaded else [])]
        self.signal = pn.widgets.Select(
            label="Signal", options=names, value=_YOURS if uploaded else loaded.name, width=170
        )
        self.file = pn.widgets.FileInput(accept=".csv,.tsv,.txt,.gz,.parquet,.pq", width=260, label="Your file (CSV)")
        self.column = pn.widgets.Select(label="Column", options=[], visible=False, width=200)
        self.said = sentence(" ".join(loaded.notes))
        self.too_large = Div(text="", visible=False, **WIDE)
        self.dark = Toggle(label="Light / dark", width=110)
        self._busy = False
        self._offer_columns(loaded)
        self.signal.param.watch(lambda event: self._choose(event.new), "value")
        self.column.param.watch(lambda event: self._take(event.new), "value")
        self.file.param.watch(lambda event: self._upload(event.new), "value")
        self.dark.on_change("active", lambda _a, _o, on: self.session.painter.turn("dark" if on else "light"))
        self.dark.js_on_change("active", CustomJS(args={"dark": self.dark}, code=_SET_THEME))

        self.opened: dict[int, Any] = {0: MemoryTab(self.session)}
        self._places = [pn.Column(sentence("One moment …"), **WIDE) for _ in _TABS]
        self._places[0][:] = [self.opened[0].layout]
        tabs = [(title, place) for (title, _, _), place in zip(_TABS, self._places, strict=True)]
        self.tabs = pn.Tabs(*tabs, dynamic=True, **WIDE, stylesheets=[_TABS_STYLE])
        self.tabs.param.watch(lambda event: self.open(event.new), "active")
        self.layout = pn.Column(
            side_by_side(self.signal, self.column, self.file, pn.pane.Bokeh(self.dark, width=120)),
            self.said,
            pn.pane.Bokeh(self.too_large, **WIDE),
            self.tabs,
            **WIDE,
        )

    def open(self, number: int) -> None:
        """Make a tab when it is opened for the first time; while it is made, a sentence stands there."""
        if number in self.opened:
            return
        document = pn.state.curdoc
        if document is not None and document.session_context is not None:
            # After the browser has heard of the sentence: torch takes seconds to load.
            document.add_timeout_callback(lambda: self._make(number), 50)
        else:
            self._make(number)

    def _make(self, number: int) -> None:
        if number in self.opened:
            return
        _, module, name = _TABS[number]
        try:
            self.opened[number] = getattr(import_module(f"hippozoo.apps.explore.tabs.{module}"), name)(self.session)
        except ValueError as error:  # a signal that this member cannot take
            self._places[number][:] = [sentence(f"{error}", "problem")]
            return
        self._places[number][:] = [self.opened[number].layout]

    def _upload(self, content: bytes | None) -> None:
        if not content:
            return
        try:
            uploaded = Uploaded.from_bytes(str(self.file.filename), content)
            loaded = uploaded.column()
        except Exception as error:  # whatever is wrong with a file, the page goes on
            tell(self.said, f"{error}", "problem")
            return
        self.uploaded = uploaded
        self._offer_columns(loaded)
        self._show(loaded)

    def _offer_columns(self, loaded: Loaded) -> None:
        if self.uploaded is None:
            return
        self._busy = True
        columns = list(self.uploaded.columns)
        self.column.param.update(options=columns, value=loaded.column, visible=True)
        self.signal.param.update(options=[*SIGNALS, _YOURS], value=_YOURS)
        self._busy = False

    def _choose(self, name: str) -> None:
        if self._busy:
            return
        self.column.visible = name == _YOURS
        if name == _YOURS and self.uploaded is not None:
            self._take(self.column.value)
        else:
            self._show(built_in(name))

    def _take(self, column: str) -> None:
        if self._busy or self.uploaded is None:
            return
        try:
            self._show(self.uploaded.column(column))
        except ValueError as error:
            tell(self.said, str(error), "problem")

    def _show(self, loaded: Loaded) -> None:
        tell(self.said, " ".join(loaded.notes))
        self.session.load(loaded)


def page(loaded: Loaded, uploaded: Uploaded | None = None) -> Any:
    """The page of one window, ready to be served."""
    explorer = Explorer(loaded, uploaded)
    template = pn.Template(_TEMPLATE)
    template.add_variable("own_style", style() + _STYLE)
    template.add_panel("main", explorer.layout)
    document = pn.state.curdoc
    if document is not None:
        script = (Path(__file__).parent / "ready.js").read_text(encoding="utf-8")
        models = {"dark": explorer.dark, "too_large": explorer.too_large, "most": MOST_BYTES}
        document.js_on_event("document_ready", CustomJS(args=models, code=script))
    return template
