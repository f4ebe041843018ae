"""Every module in this folder is one section of the tour and holds one ``SECTION``."""
