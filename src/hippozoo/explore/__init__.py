"""The explorer: memory at work, on a page of this machine; ``hippozoo explore`` opens it.

`views` holds what each tab computes, as plain data that needs no browser. `tabs` draws it with Panel and Bokeh, which
are loaded only when the page is served.
"""

from hippozoo.explore.signals import SIGNALS, Loaded, built_in, from_file

__all__ = ["SIGNALS", "Loaded", "built_in", "from_file"]
