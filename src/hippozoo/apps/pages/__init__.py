"""Pages with interactive pictures that open from disk: one look, one frame, names shown as they are.

Pictures are Bokeh's, its script stands inside the page, and nothing is fetched (ADR 0011). A page writes no HTML frame,
no colours and no escaping of its own: it adds pieces to a `Page`.
"""

from hippozoo.apps.pages.page import Page
from hippozoo.apps.pages.pictures import Painter, colour, new_figure
from hippozoo.apps.pages.text import copyable_table, json_for_script, shown

__all__ = ["Page", "Painter", "colour", "copyable_table", "json_for_script", "new_figure", "shown"]
