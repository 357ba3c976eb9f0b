"""Errors a person can act on: a kind, what happened, what to do next, an exit code."""

from __future__ import annotations


class GitmemError(Exception):
    """Base of every expected failure.

    Args:
        message: what is wrong, naming the file or ref.
        hint: what to do next; empty when there is nothing to do.
    """

    kind = "error"
    exit_code = 3

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class CheckFailed(GitmemError):
    """A check found something, or a person answered no (exit 1)."""

    kind = "check"
    exit_code = 1


class Declined(CheckFailed):
    """A person answered no: nothing of what was asked is done, also not in part (exit 1)."""


class UsageError(GitmemError):
    """The words of the command do not fit (exit 2)."""

    kind = "usage"
    exit_code = 2


class RepositoryError(GitmemError):
    """The repository or the environment does not allow it (exit 3)."""

    kind = "repository"
    exit_code = 3


class MissingObject(RepositoryError):
    """An object is missing, corrupt or of another kind."""

    kind = "missing-object"


class EngineError(GitmemError):
    """An engine failed (exit 4).

    Attributes:
        of_input: what it was given is at fault, so that it may well do other work, and asking the same
            again soon is in vain.
    """

    kind = "engine"
    exit_code = 4
    of_input = False


class Resting(GitmemError):
    """What has to be done failed often, and is left alone for a while (exit 3)."""

    kind = "resting"
