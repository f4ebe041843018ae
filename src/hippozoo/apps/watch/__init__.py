"""The command ``hippozoo watch``: a stream in, expectations and alarms out, everything in one SQLite file."""
