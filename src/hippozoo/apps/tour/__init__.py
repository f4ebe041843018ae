"""The guided tour: one question, one picture, three lines of code per section, on embedded data.

A section is one module in :mod:`hippozoo.apps.tour.sections`; adding a file there adds it to the tour.
"""

from typing import TYPE_CHECKING

from hippozoo._internal.lazy import fetched_from

if TYPE_CHECKING:
    from hippozoo.apps.tour.section import Section, discover_sections, run_section
    from hippozoo.apps.tour.write import write_tour

__all__ = ["Section", "discover_sections", "run_section", "write_tour"]

# Fetched when asked for: the embedded signals need no matplotlib.
__getattr__ = fetched_from(
    __name__,
    dict.fromkeys(("Section", "discover_sections", "run_section"), "hippozoo.apps.tour.section")
    | {"write_tour": "hippozoo.apps.tour.write"},
)
