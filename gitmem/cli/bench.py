"""`git mem bench`: how good extraction and recall are, and what dreams leave of a memory.

What measures is loaded by the word that asks for it: it reaches half of gitmem.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import Json, words
from gitmem.cli.output import Output
from gitmem.core.errors import CheckFailed, UsageError
from gitmem.core.text import counted, one_line
from gitmem.engines.choice import ENGINES

if TYPE_CHECKING:
    from gitmem.app.bench_extract import FoundChange, Label, Scored
    from gitmem.app.bench_recall import Own, QueryOutcome
    from gitmem.engines.engine import Engine

MOST_NIGHTS = 1_000

Verbose = Annotated[bool, typer.Option("--verbose", help="Name each miss and false find.")]


def register(app: typer.Typer) -> None:
    """Adds the verb with its four words."""
    app.callback(invoke_without_command=True)(bench)
    app.command()(extract)
    app.command()(recall)
    app.command()(dream)
    app.command()(agent)


def bench(ctx: typer.Context, as_json: Json = False) -> None:
    """Measures extraction, recall, dreams or what memory does for an agent, on data of yours.

    Alone it asks every memory here by its own description, and tells how many are found.
    """
    if ctx.invoked_subcommand is None:
        _own(context(ctx, as_json=as_json))


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
    from gitmem.app.bench_extract import figures, read_gold, score

    run = context(ctx, as_json=as_json)
    if engine not in ENGINES:
        raise UsageError(f"There is no engine {engine!r}", f"One of: {', '.join(ENGINES)}.")
    sessions = read_gold(run.edges.path(gold))
    measured = engine_named(run, engine)
    begun = perf_counter()
    scored = [score(one, measured) for one in sessions]
    seconds = round(perf_counter() - begun, 3)
    value = {"engine": measured.name, **figures(scored), "seconds": seconds}
    _tell(run, {**value, "per_session": [_session(one) for one in scored]} if verbose else value)


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
    from gitmem.app.bench_recall import figures, measure, read_given
    from gitmem.git.command import GitCommand

    given = read_given(run.edges.path(corpus), run.edges.path(queries))
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-") as folder:
        measured = measure(
            given, GitCommand(run.edges.environ), Path(folder), int(run.edges.now), run.out.say
        )
    total = figures(measured)
    if total["missing_relevant"]:
        run.out.warn(
            f"{counted(total['missing_relevant'], 'relevant id')} not in the query's space, or not by then:"
            f" left out; {counted(total['unanswerable'], 'query', 'queries')} with nothing else not scored"
        )
    if total["unread_times"]:
        run.out.warn(
            f"{counted(total['unread_times'], 'time')} of the corpus cannot be read and were ignored"
        )
    asked = measured.asked
    if not as_json:
        asked = [one for one in asked if one.relevant and one.share(5) < 1]
    _tell(run, {**total, "per_query": each(asked)} if verbose else total)


def _own(run: CommandContext) -> None:
    from gitmem.app.bench_recall import ask_own

    asked = ask_own(run.workspace, run.out.say)
    if run.out.as_json:
        run.out.json(_own_value(asked))
        return
    lost = [one for one in asked if not one.found]
    for one in lost:
        run.out.data(f"{one.scope}/{one.path}: {one.why}")
    run.out.data(f"{len(asked) - len(lost)} of {len(asked)} are found by their own description")


def dream(
    ctx: typer.Context,
    nights: Annotated[int, typer.Option("--nights", min=1, max=MOST_NIGHTS, help="How many.")] = 5,
    new: Annotated[int, typer.Option("--new", min=1, help="Memories that arrive each night.")] = 20,
    engine: Annotated[
        str, typer.Option("--engine", help="Which engine to measure.", autocompletion=words(*ENGINES))
    ] = "offline",
    corpus: Annotated[
        Path | None,
        typer.Option(
            "--corpus", metavar="DIR", help="Memories, instead of those here.", show_default=False
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Decides which memory arrives when.")] = 1,
    as_json: Json = False,
) -> None:
    """Dreams night after night on a copy of memory, and says what became of it. Nothing here is changed.

    Each night brings memories out of --corpus (a folder of memory, or one with a folder for each agent;
    those of this repository without it) to a repository that is thrown away; a dream is made, proved and
    accepted there. Told are the claims that survive (word for word, or by an unbroken account), recall and
    size before and after, proposals by kind, and what could not be proved. Recall is the share of questions
    (descriptions, and a sentence of each claim, as they arrived) whose memory is among the first five.
    Exit code 1 where a claim was lost.
    """
    from gitmem.app.bench_dream import dream_figures, dream_nights, own_memory, read_folder

    run = context(ctx, as_json=as_json)
    if engine not in ENGINES:
        raise UsageError(f"There is no engine {engine!r}", f"One of: {', '.join(ENGINES)}.")
    if corpus is not None:
        files = read_folder(run.edges.path(corpus))
    else:
        files = own_memory(run.workspace)
        if not files:
            raise UsageError("There is no memory here", "Name a folder of memory: --corpus DIR.")

    thinker = engine_named(run, engine)
    if engine != "offline":
        _say_what_leaves(run, engine, nights, len(files), sum(map(len, files.values())))
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-", ignore_cleanup_errors=True) as folder:
        done = dream_nights(
            files, thinker, Path(folder), run.edges.environ,
            now=run.edges.now, nights=nights, new=new, seed=seed, say=run.out.say,
        )  # fmt: skip
    _tell(run, dream_figures(done))
    if done.lost:
        raise CheckFailed(f"{counted(len(done.lost), 'claim')} went without an account", "See `lost`.")
    if done.stopped:
        raise done.stopped


def agent(
    ctx: typer.Context,
    tasks: Annotated[Path, typer.Option("--tasks", metavar="FILE", help="Tasks, with hidden tests.")],
    as_json: Json = False,
) -> None:
    """Measures whether what the prompt hook tells lets an agent fix what it cannot guess.

    A line of FILE is a JSON object for one task: `id`; `prompt`; `memory`, texts that were taught of it;
    `files`, the code by path; `tests`, hidden files; `check`, the command that runs them (`{python}` is
    this interpreter; it runs as you do, so give tests that you trust); `guesses`, each the files that who
    knows no better writes; `fixes`, each `{"told": [WORDS], "files": {…}}`. A line without `prompt` is a
    memory among which the others have to be found. The agent is scripted: it writes the first fix whose
    words all stand in what the hook printed, else its guesses, one after the other. It is run without
    memory, with all of it, and with all but the task's own. Tokens are bytes by four: with each try
    prompt, code and what the hook printed, what it wrote, and what a failed check said. So it measures
    whether a decision arrives where it is needed, and what that costs, not how clever a model is.
    """
    from gitmem.app.bench_agent import figures, read_tasks, run_tasks

    run = context(ctx, as_json=as_json)
    found = read_tasks(run.edges.path(tasks))
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-", ignore_cleanup_errors=True) as folder:
        _tell(run, figures(list(run_tasks(found, Path(folder), run.edges.environ, run.out.say))))


def engine_named(run: CommandContext, name: str) -> Engine:
    """The engine to measure: one that asks a model is the person's, held to the day's ceilings."""
    if name == "offline":
        from gitmem.engines.offline import OfflineEngine

        return OfflineEngine()
    from gitmem.flows.engines import engine_for

    return engine_for(run.any_workspace, run.edges, name)


def _say_what_leaves(run: CommandContext, engine: str, nights: int, files: int, size: int) -> None:
    """Says beforehand what a model will be sent, and what may be spent on it.

    Args:
        files, size: of the corpus: how many, and their bytes.
    """
    from gitmem.flows.engines import ceilings_for, choice_for, ledger_for

    workspace = run.any_workspace
    most = _requests_of(engine)
    today, ceilings = ledger_for(workspace).today(run.edges.now), ceilings_for(workspace)
    to = choice_for(workspace, run.edges, engine).endpoint or "nowhere"
    for line in (
        f"{engine} sends to {to}: names and descriptions of the memories that have arrived, and the "
        f"memories that the model asks to read ({counted(files, 'file')} of {size:,} bytes in the end), "
        "less what looks like a secret",
        f"at most {counted(most, 'request')} a night, {most * nights:,} in all; a night is one run",
        f"today {today.runs:,} of {ceilings.runs:,} runs and {today.tokens:,} of {ceilings.tokens:,} tokens"
        " are spent; beyond that it stops (gitmem.maxRuns, gitmem.maxTokens)",
    ):
        run.out.say(line)


def _requests_of(engine: str) -> int:
    """Requests that one dream makes at most."""
    if engine == "anthropic":
        from gitmem.engines.task import MOST_DREAM_TURNS

        return MOST_DREAM_TURNS
    from gitmem.engines.claude_code import REPAIR_TURNS, ForkSettings

    return ForkSettings("").dream_turns + REPAIR_TURNS


def _tell(run: CommandContext, value: dict[str, Any]) -> None:
    if run.out.as_json:
        run.out.json(value)
    else:
        _lines(run.out, "", value)


def _lines(out: Output, at: str, value: object) -> None:
    """Prints figures under their names in JSON, those of one thing in one line."""
    if isinstance(value, list):
        value = {str(number): one for number, one in enumerate(value, 1)}
    if isinstance(value, dict) and (not at or any(isinstance(one, dict | list) for one in value.values())):
        for key, one in value.items():
            _lines(out, f"{at}.{key}".removeprefix("."), one)
        return
    if isinstance(value, dict):
        value = ", ".join(f"{key} {one}" for key, one in value.items())
    out.data(f"{at:<34} {one_line(str(value), 300) or 'none'}")


def each(asked: Sequence[QueryOutcome]) -> list[dict[str, Any]]:
    """Every query with what was found, for `--verbose`."""
    return [
        {
            "space": one.space,
            "id": one.query.id,
            "query": one.query.text,
            "relevant": list(one.relevant),
            "missing": list(one.missing),
            "first": one.first,
            "found": list(one.ranked[:10]),
            "selected": list(one.selected),
        }
        for one in asked
    ]


def _own_value(asked: Sequence[Own]) -> dict[str, Any]:
    return {
        "memories": len(asked),
        "found": sum(one.found for one in asked),
        "not_found": [
            {
                "scope": one.scope,
                "path": one.path,
                "query": one.query,
                "rank": one.rank,
                "why": one.why,
            }
            for one in asked
            if not one.found
        ],
    }


def _session(one: Scored) -> dict[str, Any]:
    return {
        "session": one.name,
        "messages": one.spoken,
        "right": [_find(find) for find, _ in one.right],
        "wrong": [_find(find) for find in one.wrong],
        "missed": [_label(label) for label in one.missed],
        "violations": [_find(find) for find in one.violations],
    }


def _find(find: FoundChange) -> dict[str, Any]:
    change = find.change
    return {
        "message": find.messages[-1],
        "stored": find.stored,
        "type": change.type,
        "name": change.name,
        "description": change.description,
        "reason": change.reason,
    }


def _label(label: Label) -> dict[str, Any]:
    return {"message": label.message, "type": label.type, "asked": label.asked, "key": list(label.keys)}
