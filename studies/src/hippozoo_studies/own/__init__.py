"""Studies of the user's own: the folders that the environment variable HIPPOZOO_EXPERIMENTS names."""

import os

# As in PYTHONPATH, worker processes inherit it.
__path__ = list(filter(None, os.environ.get("HIPPOZOO_EXPERIMENTS", "").split(os.pathsep)))
