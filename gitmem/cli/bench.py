"""`git mem bench`: how good extraction and recall are, and what dreams leave of a memory."""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from gitmem.cli.bench_dream import dream, engine_named
from gitmem.cli.completing import words
from gitmem.cli.context import Context, Json, context
from gitmem.core.errors import UsageError
from gitmem.engines.choice import ENGINES

if TYPE_CHECKING:
    pass

Verbose = Annotated[bool, typer.Option("--verbose", help="Name each miss and false find.")]


def register(app: typer.Typer) -> None:
    """Adds the verb with its three words."""
    app.command()(extract)
    app.command()(recall)
    app.command()(dream)


def extract(
    ctx: typer.Context,
    gold: Annotated[Path, typer.Option("--gold", metavar="FILE", help="Labelled sessions.")],
    engine: Annotated[
        str, typer.Option("--engine", help="Which engine to measure.", autocompletion=words(*ENGINES))
    ] = "offline",
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Measures an engine on labelled sessions. Nothing is stored.

    A line of FILE is a JSON object for one session: `session`, a recording's path (relative to FILE) or a
    list of messages `{"uuid", "text", "role", "source", "context", "time"}`; `labels`, what a careful
    reader would keep, `{"message": UUID, "type": TYPE, "asked": BOOL, "plain": BOOL, "key": [WORDS]}`; and
    `excluded`, what must not be kept, `{"message": UUID, "key": [WORDS]}`. Other keys are ignored. A find
    matches a label when it stems from its message and holds its key words.
    """
    from gitmem.app.bench.extraction import score
    from gitmem.app.bench.gold import read_gold
    from gitmem.cli.bench_show import show_extraction

    run = context(ctx, as_json=as_json)
    if engine not in ENGINES:
        raise UsageError(f"There is no engine {engine!r}", f"One of: {', '.join(ENGINES)}.")
    sessions = read_gold(run.edges.cwd / gold.expanduser())
    measured = engine_named(run, engine)
    begun = perf_counter()
    scored = [score(one, measured) for one in sessions]
    show_extraction(run.out, measured.name, scored, perf_counter() - begun, verbose=verbose)


def recall(
    ctx: typer.Context,
    corpus: Annotated[
        Path | None, typer.Option("--corpus", metavar="FILE", help="Memories.", show_default=False)
    ] = None,
    queries: Annotated[
        Path | None, typer.Option("--queries", metavar="FILE", help="Questions.", show_default=False)
    ] = None,
    own: Annotated[bool, typer.Option("--own", help="Ask every memory here by its description.")] = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Measures recall on a corpus, or on the memories of this repository (--own). Nothing is stored.

    A line of --corpus is a JSON object for one memory: `id`, `text`, and as far as known `name`, `time`,
    `context` (what stands around it) and `space`; a line of --queries one for a question: `id`, `query`,
    `relevant` (a list of ids), and `at` (asked as of then) and `space`. A query sees its own space only;
    other keys are ignored. Recall is the mean share of what is relevant among the first 1, 5 and 10, 0 to
    100, before the choice that may show less; "selected" is what the default choice then shows.
    """
    run = context(ctx, as_json=as_json)
    if own:
        if corpus or queries:
            raise UsageError("--own asks this repository's memories, and takes no files")
        _own(run)
        return
    if corpus is None or queries is None:
        raise UsageError("Two files are needed", "Give --corpus FILE --queries FILE, or --own.")
    from gitmem.app.bench.corpus import read_given
    from gitmem.app.bench.recall import measure
    from gitmem.cli.bench_show import show_recall
    from gitmem.git.command import GitCommand

    given = read_given(run.edges.cwd / corpus.expanduser(), run.edges.cwd / queries.expanduser())
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-") as folder:
        measured = measure(
            given, GitCommand(run.edges.environ), Path(folder), int(run.edges.now), run.out.say
        )
    show_recall(run.out, measured, verbose=verbose)


def _own(run: Context) -> None:
    from gitmem.app.bench.own import as_value, ask_own

    asked = ask_own(run.workspace, run.out.say)
    if run.out.as_json:
        run.out.json(as_value(asked))
        return
    lost = [one for one in asked if not one.found]
    for one in lost:
        run.out.data(f"{one.scope}/{one.path}: {one.why}")
    run.out.data(f"{len(asked) - len(lost)} of {len(asked)} are found by their own description")
