"""How experiments are found, run and written down; authors import from `hippozoo_studies`."""
