"""A module that experiments share; not in the list."""
