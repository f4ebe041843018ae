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
    from hippozoo.estimators.volterra_river import RiverVolterraRegressor as RiverVolterraRegressor
    from hippozoo.estimators.volterra_sklearn import SklearnVolterraRegressor as SklearnVolterraRegressor

# The module of each name, and the extra that brings what it needs.
_ELSEWHERE = {
    "HippoForecaster": ("forecaster_sktime", "sktime"),
    "MemoryFeatures": ("memory_features", "sklearn"),
    "RiverHippoDetector": ("anomaly_river", "river"),
    "RiverHippoForecaster": ("forecaster_river", "river"),
    "RiverVolterraRegressor": ("volterra_river", "river"),
    "SklearnVolterraRegressor": ("volterra_sklearn", "sklearn"),
}
__all__ = list(_ELSEWHERE)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}.")
    module, extra = _ELSEWHERE[name]
    try:
        return getattr(import_module(f"{__name__}.{module}"), name)
    except ModuleNotFoundError as error:
        raise explain_missing(error, name, {"pandas": extra}) or error from None
