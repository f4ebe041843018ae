"""Studies beyond the paper: real data, the field's benchmarks, and what the paper leaves open."""
