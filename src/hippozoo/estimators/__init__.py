"""The zoo for users of river, scikit-learn and sktime: the same models behind their interfaces.

Each name is fetched when asked for, so that only the library it serves need be installed:
``pip install 'hippozoo[river]'``, ``'hippozoo[sklearn]'`` or ``'hippozoo[sktime]'``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hippozoo._internal.extras import explain_missing

if TYPE_CHECKING:
    from hippozoo.estimators.anomaly_river import RiverHippoDetector as RiverHippoDetector
    from hippozoo.estimators.forecaster_river import RiverHippoForecaster as RiverHippoForecaster
    from hippozoo.estimators.forecaster_sktime import HippoForecaster as HippoForecaster
    from hippozoo.estimators.memory_features import MemoryFeatures as MemoryFeatures
    from hippozoo.estimators.volterra_river import VolterraRegressor as RiverVolterraRegressor
    from hippozoo.estimators.volterra_sklearn import SklearnVolterraRegressor as SklearnVolterraRegressor

__all__ = [
    "HippoForecaster",
    "MemoryFeatures",
    "RiverHippoDetector",
    "RiverHippoForecaster",
    "RiverVolterraRegressor",
    "SklearnVolterraRegressor",
]

# Public name: module, name there, extra that brings what it needs.
_ELSEWHERE = {
    "HippoForecaster": ("forecaster_sktime", "HippoForecaster", "sktime"),
    "RiverHippoDetector": ("anomaly_river", "RiverHippoDetector", "river"),
    "RiverHippoForecaster": ("forecaster_river", "RiverHippoForecaster", "river"),
    "MemoryFeatures": ("memory_features", "MemoryFeatures", "sklearn"),
    "RiverVolterraRegressor": ("volterra_river", "VolterraRegressor", "river"),
    "SklearnVolterraRegressor": ("volterra_sklearn", "SklearnVolterraRegressor", "sklearn"),
}


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}.")
    module, there, extra = _ELSEWHERE[name]
    try:
        return getattr(import_module(f"{__name__}.{module}"), there)
    except ModuleNotFoundError as error:
        raise explain_missing(error, name, {"pandas": extra}) or error from None
