"""Packages that an extra brings: imported where a feature needs them, with a sentence where they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["EXTRAS", "explain_missing", "is_installed", "needs"]

#: The extra that brings each package.
EXTRAS = {
    "torch": "torch",
    "matplotlib": "plot",
    "pandas": "data",
    "pyarrow": "data",
    "narwhals": "frames",
    "wfdb": "data",
    "bokeh": "pages",
    "panel": "explore",
    "starlette": "serve",
    "uvicorn": "serve",
    "paho": "mqtt",
    "river": "river",
    "sklearn": "sklearn",
    "sktime": "sktime",
    "dask": "dask",
    "distributed": "dask",
    "holidays": "holidays",
}
_KNOWN_AS = {"paho": "paho-mqtt", "sklearn": "scikit-learn", "bokeh": "Bokeh", "panel": "Panel", "dask": "Dask"}


def is_installed(package: str) -> bool:
    """Whether `package` can be imported; it is not imported to find out."""
    from importlib.util import find_spec  # here, because `import hippozoo` loads this module

    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # its parent is missing, or it was blocked in sys.modules
        return False


def needs(module: str, *, extra: str, feature: str) -> Any:
    """Import `module`, or say which extra `feature` needs; the sentence begins with the feature.

    Examples
    --------
    >>> needs("json", extra="data", feature="Parquet").__name__
    'json'
    >>> needs("bokeh_of_tomorrow", extra="pages", feature="an interactive page")
    Traceback (most recent call last):
    ...
    ImportError: an interactive page needs bokeh_of_tomorrow, which is not installed: pip install 'hippozoo[pages]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise explain_missing(error, feature, {module.partition(".")[0]: extra}) or error from None


def explain_missing(
    error: ModuleNotFoundError, feature: str, extras: dict[str, str] | None = None
) -> ImportError | None:
    """The sentence for a failed import; None where no extra brings the missing package."""
    missing = (error.name or "").partition(".")[0]
    extra = (EXTRAS | (extras or {})).get(missing)
    if extra is None:
        return None
    package = _KNOWN_AS.get(missing, missing)
    return ImportError(
        f"{feature} needs {package}, which is not installed: pip install 'hippozoo[{extra}]'", name=missing
    )
