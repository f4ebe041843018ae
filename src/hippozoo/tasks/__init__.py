"""Seeded data for studies and tests, and where to find data of the user's own; NumPy only, no torch."""
