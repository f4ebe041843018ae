"""The colours of every picture and page, light and dark; matplotlib and Bokeh take them from here."""

from __future__ import annotations

__all__ = ["DARK", "FAINT", "INK", "LIGHT", "PAPER"]

# After Okabe and Ito (2008): blue, vermilion, bluish green, reddish purple, orange, sky blue; darkened or
# lightened until each has a contrast of at least 3 to its page, which is what WCAG asks of lines in a figure.
LIGHT = ("#0072b2", "#d55e00", "#009e73", "#b5598c", "#b87f00", "#2f8fce")
DARK = ("#4aa8e8", "#f0803c", "#2fc79b", "#e09bc0", "#e8b23a", "#9ad3f5")
INK = {"light": "#1c2126", "dark": "#e4e8ec"}
PAPER = {"light": "#ffffff", "dark": "#14181d"}
FAINT = {"light": "#d5dade", "dark": "#3a424b"}
