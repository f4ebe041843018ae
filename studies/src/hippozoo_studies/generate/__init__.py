"""Text from a trained model of characters: one character at a time from one explicit state, and what carried it."""

from hippozoo_studies.generate.carriers import Carriers, what_carried
from hippozoo_studies.generate.fast import FastSteps
from hippozoo_studies.generate.write import demand_characters, load_characters, write_text

__all__ = ["Carriers", "FastSteps", "demand_characters", "load_characters", "what_carried", "write_text"]
