"""How every page looks: one style sheet, light and dark, from a telephone to a wide screen."""

from __future__ import annotations

from pathlib import Path

from hippozoo._internal.colours import DARK, FAINT, INK, LIGHT, PAPER

__all__ = ["ROLES", "style"]

# What a colour is for, in each theme; pictures name roles, and the page's script puts the colours in.
ROLES = {
    theme: {"ink": INK[theme], "paper": PAPER[theme], "faint": FAINT[theme]}
    | {f"C{number}": colour for number, colour in enumerate(colours)}
    for theme, colours in (("light", LIGHT), ("dark", DARK))
}


def _variables(theme: str) -> str:
    return "".join(f"--{role}:{colour};" for role, colour in ROLES[theme].items()) + f"color-scheme:{theme};"


_THEMES = (
    f":root{{{_variables('light')}}}"
    f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{_variables('dark')}}}}}"
    f":root[data-theme=dark]{{{_variables('dark')}}}"
)


def style() -> str:
    """The style sheet."""
    return _THEMES + (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
