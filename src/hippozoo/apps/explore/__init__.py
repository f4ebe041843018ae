"""The explorer: memory at work, on a page of this machine; ``hippozoo explore`` opens it.

A module of `tabs` holds what its tab computes, a view, which needs no browser, and how it is drawn with Panel and
Bokeh, which are loaded only when the page is served.
"""

from typing import TYPE_CHECKING

from hippozoo._internal.lazy import fetched_from

if TYPE_CHECKING:
    from hippozoo.apps.explore.signals import SIGNALS, Loaded, built_in, from_file

__all__ = ["Loaded", "SIGNALS", "built_in", "from_file"]

# Fetched when asked for: the command's help needs none of it.
__getattr__ = fetched_from(__name__, dict.fromkeys(__all__, "hippozoo.apps.explore.signals"))
