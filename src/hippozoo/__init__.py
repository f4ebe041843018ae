"""Explicit sequence memory: the past of a stream as coefficients one can read, query and draw.

The package is a tree, and the tree is the API: ``hippozoo.polynomials`` (orthonormal bases),
``hippozoo.systems`` (which past is remembered, and how), ``hippozoo.discretise`` (from differential equation
to update rule), ``hippozoo.memory`` (the state in motion), ``hippozoo.zoo`` (the members).
Importing this module loads none of them, so the mathematics is usable without torch.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
