"""Make the pictures of the documents: ``python docs/images/make.py``.

They are the tour's own, so that a picture in the README cannot drift from what the code draws.
"""

from __future__ import annotations

from pathlib import Path

from hippozoo.plotting import style
from hippozoo.tour import discover_sections, run_section
from hippozoo.tour.write import draw_picture

SHOWN = ("A readable past",)

for section in discover_sections():
    if section.title in SHOWN:
        names = run_section(section)
        for theme in ("light", "dark"):
            with style(dark=theme == "dark"):
                file = f"{section.title.lower().replace(' ', '-')}-{theme}.png"
                # Without the name of the software the same picture gives the same bytes in every version.
                draw_picture(section, names).savefig(
                    Path(__file__).with_name(file), dpi=240, metadata={"Software": None}
                )
