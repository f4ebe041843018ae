"""Rooms stay small: growth is a decision that a commit states, not something that happens (docs/adr/0028)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import hippozoo

LIBRARY = Path(hippozoo.__file__).parent
# Lines of a file, words and blank lines included.
LONGEST = 400
# Lines of each room, to the next 50, so that a repair passes and a feature does not. Lower a number when the room
# shrinks; raise it only with the reason in the same commit.
BUDGET = {
    ".": 350,
    "_internal": 800,
    "apps": 250,
    "apps/explore": 1_900,
    "apps/forecast": 3_900,
    "apps/look": 350,
    "apps/pages": 350,
    "apps/serve": 600,
    "apps/tour": 1_400,
    "apps/watch": 4_300,
    "baselines": 1_700,
    "checkpoint": 1_250,
    "checks": 1_200,
    "ensemble": 6_900,
    "estimators": 1_500,
    "forecasts": 550,
    "layers": 3_800,
    "memory": 2_600,
    "microscope": 2_500,
    "models": 300,
    "monitor": 1_150,
    "polynomials": 900,
    "scale": 2_600,
    "suggestion": 500,
    "systems": 700,
    "tables": 3_000,
    "tasks": 1_100,
    "training": 850,
    "zoo": 50,
    "zoo/associative": 1_600,
    "zoo/forecasting": 2_250,
    "zoo/multiscale": 1_650,
    "zoo/salience": 2_650,
    "zoo/volterra": 4_300,
}


def lines_by_file() -> dict[Path, int]:
    """How many lines every module has, by its path inside the package."""
    files = LIBRARY.rglob("*.py")
    return {file.relative_to(LIBRARY): len(file.read_text(encoding="utf-8").splitlines()) for file in files}


def room_of(file: Path) -> str:
    """The room of a module; members and apps are rooms of their own."""
    depth = 2 if file.parts[0] in ("zoo", "apps") else 1
    return "/".join(file.parent.parts[:depth]) or "."


def test_rooms_stay_within_their_budgets():
    found: Counter[str] = Counter()
    for file, lines in lines_by_file().items():
        found[room_of(file)] += lines
    assert set(found) == set(BUDGET), "a room came or went: give it a budget, or take its budget away"
    outgrown = {room: (lines, BUDGET[room]) for room, lines in found.items() if lines > BUDGET[room]}
    assert not outgrown, f"lines and budget of rooms that outgrew it: {outgrown}"


def test_no_file_is_too_long_to_read():
    long = {str(file): lines for file, lines in lines_by_file().items() if lines > LONGEST}
    assert not long
