"""Values as JSON keeps them: strings as keys, plain numbers, and no NaN."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hippozoo._internal.files import write_whole


def key(value: Any) -> str:
    """A dictionary key as the metrics spell it: numbers plainly, so 1e3 becomes "1000".

    Examples
    --------
    >>> key(1e7), key(160), key(0.5), key("H4")
    ('10000000', '160', '0.5', 'H4')
    """
    if hasattr(value, "item"):  # NumPy scalars
        value = value.item()
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise TypeError(f"{value!r} cannot be a key in JSON; use a string or a finite number.")
    return str(int(value)) if value == int(value) else repr(value)


def plain(value: Any, where: str = "value") -> Any:
    """The same value made of dicts, lists, strings, numbers, booleans and None only.

    Arrays and tensors become lists, dataclasses dicts. NaN and infinity are refused, with their place.

    Parameters
    ----------
    value
        Anything made of mappings, sequences, dataclasses, arrays and numbers.
    where
        How the value is called in an error message.

    Examples
    --------
    >>> plain({"mse": {1e3: (1, 2.5)}})
    {'mse': {'1000': [1, 2.5]}}
    >>> plain({"mse": {"log": float("nan")}}, "metrics")
    Traceback (most recent call last):
    ValueError: metrics.mse.log is nan, which JSON cannot hold; leave it out, or write None and say why.
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{where} is {value}, which JSON cannot hold; leave it out, or write None and say why.")
        return float(value)
    if isinstance(value, Path):
        return value.as_posix()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _plain_mapping(fields, where)
    if isinstance(value, Mapping):
        return _plain_mapping(value, where)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    to_list = getattr(value, "tolist", None)  # NumPy and torch, without importing either
    if to_list is not None:
        return plain(to_list(), where)
    raise TypeError(f"{where} is a {type(value).__name__}, which JSON cannot hold; turn it into numbers or text.")


def _plain_mapping(mapping: Mapping[Any, Any], where: str) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, item in mapping.items():
        try:
            text = key(name)
        except TypeError as error:
            raise TypeError(f"in {where}: {error}") from None
        if text in result:
            raise ValueError(f"{where} has the key {text!r} twice (as number and as text); keep one of them.")
        result[text] = plain(item, f"{where}.{text}")
    return result


def canonical(value: Any) -> str:
    """One text per value, whatever the order of its keys, and 1 or 1.0.

    Examples
    --------
    >>> canonical({"b": 1, "a": (2,)}) == canonical({"a": [2], "b": 1.0})
    True
    """
    return json.dumps(_whole(plain(value)), sort_keys=True, separators=(",", ":"), allow_nan=False)


def _whole(value: Any) -> Any:
    """Floats that are whole numbers as integers, since a unit of lr=1 is one of lr=1.0."""
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value == int(value) else value


def write_json(path: Path, document: Any, where: str = "document") -> None:
    """Write JSON atomically, indented, with NaN refused by its place."""
    text = json.dumps(plain(document, where), indent=1, ensure_ascii=False, allow_nan=False)
    # Lists of plain values on one line: strings hold no raw line break, so these patterns see layout only.
    text = re.sub(r"(?<=\[)\n[^\[\]{}]*?(?=\])", lambda inside: re.sub(r"\n\s*", " ", inside[0]).strip(), text)
    write_whole(path, (text + "\n").encode())
