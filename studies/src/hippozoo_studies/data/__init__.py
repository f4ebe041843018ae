"""Data that only studies read: benchmarks, their scores, and seeded tasks beyond the paper's five; NumPy only."""
