"""What estimators of other libraries know beside their settings, as a checkpoint can hold it."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["fitted_state", "restore_fitted"]


def fitted_state(estimator: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """These attributes and what scikit-learn notes of the columns; empty before `fit`."""
    found = {name: getattr(estimator, name) for name in (*names, "n_features_in_") if hasattr(estimator, name)}
    if hasattr(estimator, "feature_names_in_"):
        found["feature_names_in_"] = [str(name) for name in estimator.feature_names_in_]
    return found


def restore_fitted(estimator: Any, known: dict[str, Any]) -> None:
    """The attributes that `fitted_state` returned, put back."""
    for name, value in known.items():
        setattr(estimator, name, np.array(value, dtype=object) if name == "feature_names_in_" else value)
