"""Trust, measured: jobs that are killed and whose disk fails, and what is left of them. ``make trust`` runs it all."""
