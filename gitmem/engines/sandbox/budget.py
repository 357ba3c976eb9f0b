"""How much one call may look at, in steps: the sandbox knows no clock, and the same call ends alike."""

from __future__ import annotations

CALL_STEPS = 20_000_000
"""Steps of one call; one is about a character that an automaton reads, some 0.1 µs."""

SCANNED_BYTES = 2_500_000
"""Bytes that one call has searched for secrets, at about a second for a megabyte."""

CALLS = 10
"""A sandbox allows as much as so many calls that use up all they may: a run has five turns."""


class Problem(Exception):
    """What a model asked for cannot be done; the reason is for the model."""


class Refusal(Problem):
    """What a model asked for is not allowed; a person reads it in the log, too."""


class Exhausted(Refusal):
    """A call looked at as much as it may."""


class Budget:
    """Counts down, for one call and for all of them.

    Args:
        calls: how many calls may use up all they may.
    """

    def __init__(self, calls: int = CALLS) -> None:
        self._steps_left = CALL_STEPS * calls
        self._bytes_left = SCANNED_BYTES * calls
        self._steps = 0
        self._bytes = 0

    def renew(self) -> None:
        """Begins a call."""
        self._steps = min(CALL_STEPS, self._steps_left)
        self._bytes = min(SCANNED_BYTES, self._bytes_left)

    def spend(self, steps: int) -> None:
        """Takes steps.

        Raises:
            Exhausted: they are used up.
        """
        self._steps -= steps
        self._steps_left -= steps
        if self._steps < 0:
            raise Exhausted("that is too much to look through in one call: name a smaller folder or a file")

    def scan(self, size: int) -> None:
        """Takes bytes that are searched for secrets.

        Raises:
            Exhausted: they are used up.
        """
        self._bytes -= size
        self._bytes_left -= size
        if self._bytes < 0:
            raise Exhausted("that is too much to read in one call: name fewer or smaller files")
