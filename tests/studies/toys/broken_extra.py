"""Broken extra: needs a package that nobody has."""

import no_such_package  # pyright: ignore[reportMissingImports]  # noqa: F401
