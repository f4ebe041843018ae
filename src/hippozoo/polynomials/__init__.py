"""Orthonormal bases: values, Jacobi matrix, Gauss rule, reproducing kernel; any weight."""

from hippozoo.polynomials.chebyshev import Chebyshev
from hippozoo.polynomials.family import OrthonormalFamily
from hippozoo.polynomials.laguerre import Laguerre
from hippozoo.polynomials.legendre import Legendre, shifted_legendre, shifted_legendre_integrals
from hippozoo.polynomials.tabulated import Tabulated
from hippozoo.polynomials.weighted import from_weight

__all__ = [
    "OrthonormalFamily",
    "Legendre",
    "Chebyshev",
    "Laguerre",
    "Tabulated",
    "from_weight",
    "shifted_legendre",
    "shifted_legendre_integrals",
]
