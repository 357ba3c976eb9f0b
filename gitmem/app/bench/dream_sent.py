"""What a model engine will be sent for nights of dreams, and what may be spent on it: said beforehand."""

from __future__ import annotations

from gitmem.core.text import counted
from gitmem.flows.context import Edges
from gitmem.flows.engines import ceilings_for, choice_for, ledger_for
from gitmem.ledger.workspace import Workspace


def dream_costs(
    workspace: Workspace, edges: Edges, engine: str, nights: int, files: int, size: int
) -> tuple[str, ...]:
    """Says it in a few lines.

    Args:
        files, size: of the corpus: how many, and their bytes.

    Raises:
        EngineError: a ceiling is no number.
    """
    chosen = choice_for(workspace, edges, engine)
    most = requests_of(engine)
    today, ceilings = ledger_for(workspace).today(edges.now), ceilings_for(workspace)
    to = chosen.endpoint or "nowhere"
    return (
        f"{engine} sends to {to}: names and descriptions of the memories that have arrived, and the "
        f"memories that the model asks to read ({counted(files, 'file')} of {size:,} bytes in the end), "
        "less what looks like a secret",
        f"at most {counted(most, 'request')} a night, {most * nights:,} in all; a night is one run",
        f"today {today.runs:,} of {ceilings.runs:,} runs and {today.tokens:,} of {ceilings.tokens:,} tokens"
        " are spent; beyond that it stops (gitmem.maxRuns, gitmem.maxTokens)",
    )


def requests_of(engine: str) -> int:
    """Requests that one dream makes at most."""
    if engine == "anthropic":
        from gitmem.engines.task import MOST_DREAM_TURNS

        return MOST_DREAM_TURNS
    from gitmem.engines.claude_code import REPAIR_TURNS, ForkSettings

    return ForkSettings("").dream_turns + REPAIR_TURNS
