"""What checks do with whatever they are run on: name it, report a broken promise, save and load it, call it badly."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from hippozoo.checkpoint import CheckpointError, load, save
from hippozoo.checks.compare import changed_since, difference, snapshot

REFUSAL = "bad input is refused by ValueError or TypeError and changes nothing"
RESTORED = "what is loaded goes on like what was saved"


class UnderTest:
    """A member or a learner that checks are run on."""

    def __init__(self, member: Any, tolerance: float | None) -> None:
        self.member, self.tolerance = member, tolerance

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return type(self.member).__name__

    def fail(self, promise: str, found: str) -> NoReturn:
        """Say which promise was broken, and how."""
        raise AssertionError(f"{self.name} breaks a promise: {promise}. Found: {found}.")

    def compare_nests(self, found: Any, expected: Any, name: str, promise: str, circumstances: str) -> None:
        """Refuse what differs by more than rounding."""
        message = difference(found, expected, self.tolerance, name)
        if message:
            self.fail(promise, f"with {circumstances}, {message}")

    def saved_and_loaded(self, state: Any) -> tuple[Any, Any]:
        """The member and its state, as they come back from a file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "member.safetensors"
            try:
                save(path, {"member": self.member, "state": state})
                found = load(path)
            except CheckpointError as error:
                self.fail(RESTORED, str(error).removeprefix(f"{path}: "))
        if snapshot(found["state"]) != snapshot(state):
            self.fail(RESTORED, "the state came back changed")
        return found["member"], found["state"]

    def demand_refusals(self, calls: Mapping[str, Callable[[], Any]], state: Any) -> None:
        """Each call must be refused, and must leave the state as it is."""
        before = snapshot(state)
        for what, call in calls.items():
            try:
                call()
            except (ValueError, TypeError):
                pass
            except Exception as error:
                self.fail(REFUSAL, f"{what} raised {type(error).__name__}: {error}")
            else:
                self.fail(REFUSAL, f"{what} was accepted")
            place = changed_since(state, before)
            if place:
                self.fail(REFUSAL, f"{what} was refused and changed {place} all the same")
