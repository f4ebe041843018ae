"""What keeps the libraries below us to one thread; it loads nothing, for they look at it when they are loaded."""

__all__ = ["ONE_THREAD"]

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
}
