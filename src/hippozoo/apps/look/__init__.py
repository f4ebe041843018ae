"""``hippozoo look``: what a model remembers, as a page."""

from typing import TYPE_CHECKING

from hippozoo._internal.lazy import fetched_from

if TYPE_CHECKING:
    from hippozoo.apps.look.page import write_page

__all__ = ["write_page"]

# Fetched when asked for: the command's help needs none of it.
__getattr__ = fetched_from(__name__, {"write_page": "hippozoo.apps.look.page"})
