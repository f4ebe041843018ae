"""What does any sequence model remember? Profile by lag, capacity, half-life, effective history, nearest plain memory.

``look`` runs a model on sequences and reads their past off its states, cross-fitted and with bands; ``compare`` does
the same for several models and writes a page. Definitions: docs/studies/microscope.md.
"""

from hippozoo.microscope.closed_form import NearestSystem, exact_profile
from hippozoo.microscope.comparison import Comparison, compare
from hippozoo.microscope.looking import look
from hippozoo.microscope.results import Capacity, ClassProfile, Profile
from hippozoo.microscope.view import View

__all__ = [
    "look",
    "compare",
    "View",
    "Comparison",
    "Profile",
    "ClassProfile",
    "Capacity",
    "NearestSystem",
    "exact_profile",
]
