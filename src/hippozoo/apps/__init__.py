"""What people run: the command `hippozoo` and its pages. Nothing below this package imports it."""
