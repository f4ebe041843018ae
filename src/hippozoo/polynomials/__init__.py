"""Orthonormal bases: values, Jacobi matrix, Gauss rule, reproducing kernel; any weight."""

from hippozoo.polynomials.legendre import shifted_legendre

__all__ = ["shifted_legendre"]
