"""`git mem recall WORDS...` without Typer, whose loading takes a quarter as long again as the answer.

Only words and `--json` are known here. Whatever else stands in the line is Typer's, so that there is one
parser, one help and one wording of errors.
"""

from __future__ import annotations

from collections.abc import Sequence

from gitmem.cli.answered import answer
from gitmem.cli.output import Output
from gitmem.cli.run import make_context

AS_JSON = "--json"


def recall(argv: Sequence[str]) -> int:
    """Answers a question.

    Args:
        argv: what follows `gitmem recall`: words, none of which begins with `-` but `--json`.
    """
    run = make_context(None, Output()).with_output(as_json=AS_JSON in argv)
    answer(run, [word for word in argv if word != AS_JSON])
    return 0
