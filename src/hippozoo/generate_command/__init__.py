"""Text from a trained model of characters: one character at a time from one explicit state, and what carried it."""

from hippozoo.generate_command.carriers import Carriers, what_carried
from hippozoo.generate_command.fast import FastSteps
from hippozoo.generate_command.write import demand_characters, load_characters, write_text

__all__ = ["Carriers", "FastSteps", "demand_characters", "load_characters", "what_carried", "write_text"]
