"""Errors have a kind, which scripts read, and an exit code, which shells do."""

from __future__ import annotations

import pytest

from gitmem.core.errors import (
    CheckFailed,
    Declined,
    EngineError,
    GitmemError,
    MissingObject,
    RepositoryError,
    Resting,
    UsageError,
)


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (GitmemError, "error", 3), (CheckFailed, "check", 1), (UsageError, "usage", 2),
        (RepositoryError, "repository", 3), (EngineError, "engine", 4), (Declined, "check", 1),
        (MissingObject, "missing-object", 3), (Resting, "resting", 3),
    ],
)  # fmt: skip
def test_each_has_its_kind_and_exit_code(error: type[GitmemError], kind: str, code: int) -> None:
    assert (error.kind, error.exit_code) == (kind, code)
    told = error("No ref.", "run `git fetch`")
    assert (str(told), told.message, told.hint) == ("No ref.", "No ref.", "run `git fetch`")
    assert error("No ref.").hint == "" and issubclass(error, GitmemError)


def test_an_engine_is_at_fault_for_everything_unless_its_input_was() -> None:
    assert not EngineError.of_input
