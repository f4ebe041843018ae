"""Rooms stay small: growth is a decision that a commit states, not something that happens (docs/adr/0028)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import hippozoo

LIBRARY = Path(hippozoo.__file__).parent
# Lines of a file, words and blank lines included.
LONGEST = 400
# Lines of each room. Lower a number when the room shrinks; raise it only with the reason in the same commit.
BUDGET = {
    ".": 334,
    "_internal": 755,
    "apps": 240,
    "apps/explore": 1_900,
    "apps/forecast": 3_896,
    "apps/look": 308,
    "apps/pages": 341,
    "apps/serve": 555,
    "apps/tour": 1_399,
    "apps/watch": 4_296,
    "baselines": 1_664,
    "checkpoint": 1_204,
    "checks": 1_195,
    "ensemble": 6_880,
    "estimators": 1_494,
    "forecasts": 504,
    "layers": 3_760,
    "memory": 2_568,
    "microscope": 2_473,
    "models": 264,
    "monitor": 1_132,
    "polynomials": 875,
    "scale": 2_590,
    "suggestion": 472,
    "systems": 679,
    "tables": 2_981,
    "tasks": 1_088,
    "training": 849,
    "zoo": 5,
    "zoo/associative": 1_559,
    "zoo/forecasting": 2_221,
    "zoo/multiscale": 1_621,
    "zoo/salience": 2_625,
    "zoo/volterra": 4_275,
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
