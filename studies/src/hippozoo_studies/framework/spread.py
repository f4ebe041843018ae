"""Numbers over seeds or trajectories: mean, standard error, and the values themselves."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from typing import Any

from hippozoo_studies.framework.plain import key, plain


def mean_and_sem(values: Iterable[Any]) -> dict[str, Any]:
    """Mean and standard error of the mean, for numbers over trajectories.

    One value alone has no spread: its ``sem`` is None.

    Examples
    --------
    >>> mean_and_sem([1.0, 3.0])
    {'mean': 2.0, 'sem': 1.0}
    >>> mean_and_sem([5.0])
    {'mean': 5.0, 'sem': None}
    """
    numbers = [float(value) for value in plain(list(values), "values")]
    if not numbers:
        raise ValueError("values is empty: a mean needs at least one value; pass one per seed or trajectory.")
    sem = statistics.stdev(numbers) / math.sqrt(len(numbers)) if len(numbers) > 1 else None
    return {"mean": statistics.fmean(numbers), "sem": sem}


def over_seeds(values: Iterable[Any]) -> dict[str, Any]:
    """Mean, standard error and the single values, one per seed.

    Parameters
    ----------
    values
        One number per seed, in the order of the seeds; or one nest of dicts per seed, all with the same
        keys, which gives the same nest with a spread at each leaf.

    Examples
    --------
    >>> over_seeds([1.0, 3.0])
    {'mean': 2.0, 'sem': 1.0, 'seeds': [1.0, 3.0]}
    >>> over_seeds([{"error": {1e3: 1}}, {"error": {1e3: 3}}])["error"]["1000"]["mean"]
    2.0
    """
    given = list(values)
    if not any(isinstance(value, Mapping) for value in given):
        spread = mean_and_sem(given)
        return {**spread, "seeds": plain(given, "values")}
    nests = [
        {key(name): item for name, item in value.items()} if isinstance(value, Mapping) else None for value in given
    ]
    names = list(nests[0] or {})
    for index, nest in enumerate(nests):
        if nest is None or set(nest) != set(names):
            found = "a number" if nest is None else f"the keys {sorted(nest)}"
            raise ValueError(
                f"values[0] has the keys {sorted(names)} and values[{index}] has {found}; "
                "every seed needs the same keys."
            )
    return {name: over_seeds([nest[name] for nest in nests if nest is not None]) for name in names}
