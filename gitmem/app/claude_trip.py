"""One round trip with the person's own `claude`: whether it answers, as whom, and what that costs."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from gitmem.core.errors import EngineError
from gitmem.core.text import one_line
from gitmem.engines.budget import Meter
from gitmem.engines.claude_process import forget, scrubbed
from gitmem.engines.claude_proof import usage_of
from gitmem.flows.context import Edges

QUESTION = "Answer with one word: ready."
PATIENCE = 120.0
"""Seconds."""

_WORDS = ("-p", QUESTION, "--output-format", "json", "--no-session-persistence", "--max-turns", "1")
_HINT = "Try it yourself: claude -p hello"


def ask_claude(program: str, edges: Edges, meter: Meter, patience: float = PATIENCE) -> str:
    """Asks one small question in an empty folder, in the environment that a fork gets.

    Args:
        patience: seconds until it counts as hanging.

    Returns:
        the model that answered; empty where it does not say.

    Raises:
        EngineError: it does not answer; the hint says what to do.
    """
    meter.allow()
    environ, session = scrubbed(edges.environ), str(uuid4())
    with tempfile.TemporaryDirectory(prefix="gitmem-") as folder:
        try:
            done = subprocess.run(
                [program, *_WORDS, "--session-id", session],
                cwd=folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=patience,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise EngineError(f"{program} did not answer within {patience:g} s", _HINT) from None
        except OSError as error:
            raise EngineError(f"{program} cannot be run: {error.strerror}", _HINT) from error
        finally:
            forget(edges.config, session, Path(folder).resolve())
    answer = _answer(done.stdout)
    models = answer.get("modelUsage")
    model = str(next(iter(models), "")) if isinstance(models, Mapping) else ""
    if isinstance(answer.get("usage"), Mapping):
        meter.spent("test", model, usage_of(answer, 1))
    if done.returncode or answer.get("is_error") or "result" not in answer:
        said = answer.get("result") or done.stderr.decode("utf-8", "replace") or f"exit {done.returncode}"
        raise EngineError(f"{program} does not answer: {one_line(str(said), 300)}", _HINT)
    return model


def _answer(printed: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(printed)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
