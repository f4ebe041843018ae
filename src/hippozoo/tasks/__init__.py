"""The paper's seeded tasks, the data sets of the examples, and where data files are found; NumPy only, no torch."""
