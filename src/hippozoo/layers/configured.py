"""Layers that know their configuration: to be built again, compared with saved weights, printed, and sized."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn

from hippozoo._internal.arguments import whole_number
from hippozoo.layers.tables import WithTables

__all__ = ["EXTRA_STATE", "Configured", "largest_size", "parameter_count"]

# Not typing.Self, which the checker of the tests does not know inside a decorated method.
Layer = TypeVar("Layer", bound="Configured")

# What a constructor takes and a configuration does not hold.
NOT_CONFIGURED = frozenset(("device", "dtype", "generator"))

# The key that torch gives to `get_extra_state` in a state dict.
EXTRA_STATE = "_extra_state"

# Arguments that no weight shows: the same weights mean something else with others.
MEANING = frozenset(("system", "systems", "dt", "method", "memory", "horizons", "family", "largest", "start", "taps"))


def parameter_count(module: nn.Module) -> int:
    """How many numbers are trained.

    Examples
    --------
    >>> parameter_count(nn.Linear(3, 2))
    8
    """
    return sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)


def largest_size(build: Callable[[int], nn.Module], params: int, name: str) -> int:
    """The largest size whose model has at most so many parameters; no randomness of the caller's is drawn."""

    def count(size: int) -> int:
        with torch.random.fork_rng(devices=[]):
            return parameter_count(build(size))

    if count(1) > params:
        raise ValueError(
            f"params={params}: the smallest {name} of these sizes has {count(1)}; pass more, "
            "or smaller inputs, outputs and options."
        )
    below, above = 1, 2
    while count(above) <= params:
        below, above = above, 2 * above
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if count(middle) <= params else (below, middle)
    return below


class Configured(WithTables):
    """A module whose constructor's arguments stay in attributes of their names."""

    #: The argument that `match` varies; None where there is none.
    matched: ClassVar[str | None] = None

    def configuration(self) -> dict[str, Any]:
        """The constructor's arguments; with the `state_dict` and the dtype they make the layer again."""
        names = inspect.signature(type(self)).parameters
        return {name: getattr(self, name) for name in names if name not in NOT_CONFIGURED}

    def extra_repr(self) -> str:
        """The arguments that are not the usual ones."""
        signature = inspect.signature(type(self)).parameters
        chosen = self.configuration().items()
        return ", ".join(f"{name}={value!r}" for name, value in chosen if repr(value) != repr(signature[name].default))

    @classmethod
    def match(cls: type[Layer], params: int = 25_000, **options: Any) -> Layer:
        """The layer whose number of parameters is nearest to `params`.

        Parameters
        ----------
        params
            Parameters wanted.
        options
            The arguments of the constructor, but for the one that is varied (`matched`).

        Examples
        --------
        >>> from hippozoo.baselines import LSTM, parameter_count
        >>> model = LSTM.match(params=25_000, inputs=32, outputs=32)
        >>> model.width, parameter_count(model)
        (61, 25164)
        """
        params, varied = whole_number("params", params), cls.matched
        if varied is None:
            raise TypeError(
                f"{cls.__name__} has no size that could be varied; choose its arguments by parameter_count."
            )
        if varied in options:
            raise ValueError(f"{varied}={options[varied]}: match chooses it; leave it out.")
        step = cls._matched_step(options)

        def build(size: int) -> Layer:
            return cls(**{varied: size * step, **options})

        below = largest_size(build, params, cls.__name__)
        with torch.random.fork_rng(devices=[]):
            gaps = {size: abs(parameter_count(build(size)) - params) for size in (below, below + 1)}
        return build(min(gaps, key=gaps.__getitem__))

    @classmethod
    def _matched_step(cls, options: dict[str, Any]) -> int:
        """The matched argument is a multiple of this."""
        return 1

    # -- what weights mean: text beside them in a state dict -------------------------------------------------

    def _meaning(self) -> dict[str, str]:
        """What weights depend on and do not show: the arguments of `MEANING`, as text."""
        return {name: repr(value) for name, value in self.configuration().items() if name in MEANING}

    def get_extra_state(self) -> Tensor:
        """The meaning of the weights as numbers of one byte: so it goes wherever weights go."""
        return torch.tensor(list(json.dumps(self._meaning()).encode()), dtype=torch.uint8, device="cpu")

    def set_extra_state(self, state: Any) -> None:
        """Nothing changes: a layer is what it was built as; `load_state_dict` has compared."""

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if not self._meaning() or next(self.parameters(), None) is None:  # no weights that could mean anything
            del destination[prefix + EXTRA_STATE]

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: Any,
        unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:
        key, own = prefix + EXTRA_STATE, self._meaning()
        saved = _read_meaning(state_dict.get(key))
        for name in own:
            if saved.get(name, own[name]) != own[name]:
                error_msgs.append(
                    f"the weights are of {prefix}{name}={saved[name]}, but this layer has {name}={own[name]}: they "
                    f"would mean something else; build the layer as they were learnt, or remove {key!r} from them."
                )
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )
        if key in missing_keys:  # weights of another maker, who says nothing about them
            missing_keys.remove(key)


def _read_meaning(saved: Any) -> dict[str, str]:
    """What `get_extra_state` has written; nothing where there is nothing to read, as on the meta device."""
    if not isinstance(saved, Tensor) or saved.is_meta:
        return {}
    # Rounded, since averages of checkpoints are floating-point numbers.
    return json.loads(bytes(saved.cpu().double().round().to(torch.uint8).tolist()))
