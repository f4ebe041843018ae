"""Series that come with statsmodels, sktime and river, and three of our data folder; used in no study but for those."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

__all__ = ["SERIES", "Case"]


@dataclass(frozen=True)
class Case:
    """A series, how far it is forecast, and the seasons that anybody with such data knows of."""

    make: Callable[[], np.ndarray]
    horizon: int
    seasons: tuple[int, ...] = ()


def _statsmodels(name: str, column: str) -> Callable[[], np.ndarray]:
    def make() -> np.ndarray:
        import statsmodels.api as sm

        return np.asarray(getattr(sm.datasets, name).load_pandas().data[column].interpolate(), float)

    return make


def _el_nino() -> np.ndarray:
    import statsmodels.api as sm

    return np.asarray(sm.datasets.elnino.load_pandas().data.iloc[:, 1:], float).ravel()


def _sktime(name: str, column: str = "") -> Callable[[], np.ndarray]:
    def make() -> np.ndarray:
        import sktime.datasets

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = getattr(sktime.datasets, name)()
        if isinstance(found, tuple):
            found = found[1][column] if column in getattr(found[1], "columns", ()) else found[0]
        return np.asarray(found, float)

    return make


def _river(name: str) -> Callable[[], np.ndarray]:
    def make() -> np.ndarray:
        from river import datasets

        return np.array([float(y) for _, y in getattr(datasets, name)()])

    return make


def _taxi() -> np.ndarray:
    from hippozoo.tasks.data_files import data_file

    return np.loadtxt(data_file("nab/realKnownCause/nyc_taxi.csv", None), delimiter=",", skiprows=1, usecols=1)


def _ett(column: int) -> Callable[[], np.ndarray]:
    def make() -> np.ndarray:
        from hippozoo_studies.data.long_term import load_long_term

        return load_long_term("ETTh1").values[:, column]

    return make


_MACRO = {"realgdp": "product", "realcons": "consumption", "realinv": "investment", "realgovt": "government spending"}
_MACRO |= {"realdpi": "income", "cpi": "prices", "m1": "money", "tbilrate": "bill rate", "unemp": "unemployment"}
_MACRO |= {"infl": "inflation"}
_DANISH = {"lrm": "money", "lry": "income", "lpy": "prices", "ibo": "bond rate", "ide": "deposit rate"}
_GERMAN = {"Dp": "inflation", "R": "interest"}
_CHANGES = ("Income", "Production", "Savings", "Unemployment")

SERIES: dict[str, Case] = {
    "taxi rides, half-hours": Case(_taxi, 48, (48, 336)),
    "ETTh1, oil temperature, hours": Case(_ett(6), 24, (24,)),
    "ETTh1, load HUFL, hours": Case(_ett(0), 24, (24, 168)),
    "water flow, hours": Case(_river("WaterFlow"), 24, (24,)),
    "approval, days": Case(_river("TrumpApproval"), 14),
    "CO2, weeks": Case(_statsmodels("co2", "co2"), 26, (52,)),
    "airline passengers, months": Case(_sktime("load_airline"), 12, (12,)),
    "corticosteroids, months": Case(_sktime("load_PBS_dataset"), 12, (12,)),
    "shampoo, months": Case(_sktime("load_shampoo_sales"), 6, (12,)),
    "sea temperature, months": Case(_el_nino, 12, (12,)),
    "sunspots, years": Case(_statsmodels("sunspots", "SUNACTIVITY"), 11, (11,)),
    "lynx, years": Case(_sktime("load_lynx"), 8),
    "Nile, years": Case(_statsmodels("nile", "volume"), 5),
    "consumption, changes, quarters": Case(_sktime("load_uschange"), 8, (4,)),
}
SERIES |= {f"US {name}, quarters": Case(_statsmodels("macrodata", one), 8) for one, name in _MACRO.items()}
SERIES |= {f"Danish {name}, quarters": Case(_statsmodels("danish_data", one), 4, (4,)) for one, name in _DANISH.items()}
SERIES |= {
    f"German {name}, quarters": Case(_statsmodels("interest_inflation", one), 8, (4,)) for one, name in _GERMAN.items()
}
SERIES |= {f"{name}, changes, quarters": Case(_sktime("load_uschange", name), 8, (4,)) for name in _CHANGES}
