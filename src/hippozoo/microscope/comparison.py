"""The same look at several models, in one table and one page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hippozoo._internal.arguments import shorten
from hippozoo._internal.files import write_whole
from hippozoo.microscope.looking import look
from hippozoo.microscope.results import as_plain
from hippozoo.microscope.view import View
from hippozoo.systems import LegT

__all__ = ["Comparison", "compare"]


class Comparison(dict[str, View]):
    """Views of several models on the same input, by name. Made by `compare`.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> print(compare({"window": LegT(8, 20.0)}, "noise", lags=32).table().splitlines()[0])
    model   numbers  holds             rank  half-life  95 % in
    """

    @property
    def is_tokens(self) -> bool:
        """Whether the models were looked at on tokens."""
        return all(view.asked.tokens for view in self.values())

    @property
    def is_white(self) -> bool:
        """Whether all were looked at on a noise probe."""
        return all(view.is_white for view in self.values())

    @property
    def memory(self) -> LegT:
        """The memory whose coefficients are read off every state: a window as long as the lags."""
        lags = max(view.asked.lags for view in self.values())
        return LegT(min(16, lags), float(lags))

    def rows(self) -> list[list[str]]:
        """The table, heading first."""
        found = [["model", "numbers", "holds (bits)" if self.is_tokens else "holds", "rank", "half-life", "95 % in"]]
        for name, view in self.items():
            held, half = view.capacity, view.half_life
            found.append(
                [
                    name,
                    str(view.size),
                    f"{held.value:.1f} ({held.low:.1f} to {held.high:.1f})",
                    f"{view.rank:.1f}",
                    f"over {view.asked.lags}" if half == float("inf") else str(half),
                    f"{view.window} lags",
                ]
            )
        return found

    def table(self) -> str:
        """Numbers, samples held, effective rank, half-life and window of every model, as text."""
        rows = self.rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
        return "\n".join(line.rstrip() for line in lines)

    def numbers(self) -> dict[str, Any]:
        """What the page shows, as plain numbers by model."""
        if self.is_tokens:
            return {name: view.numbers() for name, view in self.items()}
        more = ("nonlinear", "degrees", "exact") if self.is_white else ("nonlinear", "partial")
        found, memory = {}, self.memory
        for name, view in self.items():
            found[name] = view.numbers() | {key: as_plain(getattr(view, key)) for key in more}
            found[name]["coefficients"] = view.coefficients(memory).numbers()
            if self.is_white:
                found[name]["as_system"] = view.as_system().numbers()
            if not view._subject.no_sensitivity:
                found[name]["sensitivity"] = view.sensitivity.numbers()
            if len(view.by_layer) > 1:
                found[name]["by_layer"] = {part: one.numbers() for part, one in view.by_layer.items()}
        return found

    def write_json(self, path: str | Path) -> Path:
        """Write `numbers` to a file, whole or not at all."""
        write_whole(path, json.dumps(self.numbers(), allow_nan=False, indent=1).encode())
        return Path(path)

    def page(self, path: str | Path, title: str = "What the models remember") -> Path:
        """Write one interactive page with every picture and the numbers behind it; needs ``hippozoo[pages]``."""
        from hippozoo.apps.look import write_page

        return write_page(self, path, title)


def compare(models: Mapping[str, Any], x: Any, lags: int | None = None, **options: Any) -> Comparison:
    """Look at several models on the same input.

    Parameters
    ----------
    models
        By name: anything that `look` takes, or a `View` that has been made, such as one from before training.
    x, lags, options
        As in `look`.

    Examples
    --------
    >>> from hippozoo.systems import LegS, LegT
    >>> both = compare({"window": LegT(8, 20.0), "fading": LegS(8, 20.0)}, "noise", lags=32)
    >>> [name for name in both]
    ['window', 'fading']
    """
    if not isinstance(models, Mapping) or not models:
        raise TypeError(f"models={shorten(models)}; pass a dictionary of at least one model by name.")
    views = {
        str(name): one if isinstance(one, View) else look(one, x, lags, name=str(name), **options)
        for name, one in models.items()
    }
    kinds = {bool(view.asked.tokens) for view in views.values()}
    if len(kinds) > 1:
        raise ValueError("some views are of tokens and some of numbers; compare views of the same input.")
    return Comparison(views)
