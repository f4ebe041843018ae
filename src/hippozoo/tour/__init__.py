"""The guided tour: one question, one picture, three lines of code per section, on embedded data.

A section is one module in :mod:`hippozoo.tour.sections`; adding a file there adds it to the tour.
"""

from typing import TYPE_CHECKING

from hippozoo._lazy import fetched_from

if TYPE_CHECKING:
    from hippozoo.tour.section import Section, discover_sections, run_section
    from hippozoo.tour.write import write_tour

__all__ = ["Section", "discover_sections", "run_section", "write_tour"]

# Fetched when asked for: the embedded signals need no matplotlib.
__getattr__ = fetched_from(
    __name__,
    dict.fromkeys(("Section", "discover_sections", "run_section"), "hippozoo.tour.section")
    | {"write_tour": "hippozoo.tour.write"},
)
