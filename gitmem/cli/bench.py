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

from gitmem.cli.context import CommandContext, Json, context, words
from gitmem.cli.output import Output
from gitmem.core.errors import CheckFailed, UsageError
from gitmem.core.text import counted, one_line
from gitmem.engines.choice import ENGINES

if TYPE_CHECKING:
    from gitmem.app.bench_extract import FoundChange, Label, Scored
    from gitmem.app.bench_recall import Measured, Own
    from gitmem.engines.engine import Engine

MOST_NIGHTS = 1_000
LOST_SHOWN = 10

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
    from gitmem.app.bench_extract import read_gold, score

    run = context(ctx, as_json=as_json)
    if engine not in ENGINES:
        raise UsageError(f"There is no engine {engine!r}", f"One of: {', '.join(ENGINES)}.")
    sessions = read_gold(run.edges.path(gold))
    measured = engine_named(run, engine)
    begun = perf_counter()
    scored = [score(one, measured) for one in sessions]
    _show_extraction(run.out, measured.name, scored, perf_counter() - begun, verbose=verbose)


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
    from gitmem.app.bench_recall import measure, read_given
    from gitmem.git.command import GitCommand

    given = read_given(run.edges.path(corpus), run.edges.path(queries))
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-") as folder:
        measured = measure(
            given, GitCommand(run.edges.environ), Path(folder), int(run.edges.now), run.out.say
        )
    _show_recall(run.out, measured, verbose=verbose)


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
    value = dream_figures(done)
    if run.out.as_json:
        run.out.json(value)
    else:
        _show_dream(run.out, value)
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
        value = figures(list(run_tasks(found, Path(folder), run.edges.environ, run.out.say)))
    if run.out.as_json:
        run.out.json(value)
        return
    titles = {"none": "without memory", "memory": "with memory", "others": "with the memory of other tasks"}
    for arm, one in value["arms"].items():
        run.out.data(
            f"{titles[arm]:<32} solved {one['solved']} of {one['tasks']}, {one['solved_at_once']} at once; "
            f"told {one['told']}; {one['tries']} tries; {one['tokens']:,} tokens a task"
        )


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


ROWS = (
    ("stored", "precision of what is stored"),
    ("suggested", "precision of what is suggested"),
    ("stored_and_suggested", "precision with suggestions"),
    ("recall_asked_stored", "recall, asked for and stored"),
    ("recall_plain", "recall of what was plainly said"),
    ("recall_plain_wide", "recall of it by all candidates"),
    ("recall", "recall of all labels"),
    ("types", "right types"),
)


def _show_extraction(
    out: Output, engine: str, scored: Sequence[Scored], seconds: float, *, verbose: bool
) -> None:
    """Prints how an engine did.

    Args:
        seconds: that it took for all sessions.
        verbose: whether each miss and false find is named.
    """
    from gitmem.app.bench_extract import figures

    total = figures(scored)
    if out.as_json:
        named = {"engine": engine, **total, "seconds": round(seconds, 3)}
        out.json({**named, "per_session": [_session(one) for one in scored]} if verbose else named)
        return
    if verbose:
        for one in scored:
            _show_session(out, one)
    size = f"{counted(total['sessions'], 'session')}, {counted(total['messages'], 'message')}"
    out.data(f"engine {engine}: {size}")
    for key, title in ROWS:
        out.data(f"{title:<36} {_shown(total[key])}")
    out.data(f"{'suggestions a session':<36} {total['suggested_a_session']}")
    out.data(f"{'candidates a session':<36} {total['candidates_a_session']}")
    out.data(f"{'excluded content kept':<36} {total['exclusion_violations']}")
    out.data(f"{'finds where nothing is to keep':<36} {total['finds_where_nothing_is_to_keep']}")
    out.say(f"{total['messages'] / max(seconds, 1e-6):.0f} messages a second")


def _show_recall(out: Output, measured: Measured, *, verbose: bool) -> None:
    """Prints how recall did on a corpus.

    Args:
        verbose: whether each query is named of which not all was among the first five.
    """
    from gitmem.app.bench_recall import DEPTHS, figures

    total = figures(measured)
    if total["missing_relevant"]:
        out.warn(
            f"{counted(total['missing_relevant'], 'relevant id')} not in the query's space, or not by then:"
            f" left out; {counted(total['unanswerable'], 'query', 'queries')} with nothing else not scored"
        )
    if total["unread_times"]:
        out.warn(f"{counted(total['unread_times'], 'time')} of the corpus cannot be read and were ignored")
    if out.as_json:
        out.json({**total, "per_query": each(measured)} if verbose else total)
        return
    if verbose:
        for one in (one for one in measured.asked if one.relevant and one.share(5) < 1):
            best = "none" if one.first is None else f"{one.first}."
            out.data(f"{one.query.id}: first found {best}; {one_line(one.query.text, 100)}")
    sizes = (("spaces", "space"), ("memories", "memory"), ("queries", "query"))
    out.data(", ".join(f"{total[key]:,} {word if total[key] == 1 else key}" for key, word in sizes))
    if total["threads"]:
        out.data(f"{'lines after another':<24} {total['threads']:,}, as memories of one session")
    for depth in DEPTHS:
        out.data(f"{f'recall@{depth}':<24} {_mean(total[f'recall@{depth}'])}")
    out.data(f"{'MRR':<24} {total['mrr'] if total['mrr'] is not None else 'none to judge'}")
    selected, silent = total["selected"], total["nothing_relevant"]
    out.data(f"{'selected, recall@5':<24} {_mean(selected['recall@5'])}")
    out.data(f"{'selected, answered':<24} {selected['answered']} of {total['queries']}")
    if silent["queries"]:
        out.data(
            f"{'answered wrongly':<24} {silent['answered']} of {silent['queries']} that ask for nothing"
        )
    ms, index = total["ms"], total["index"]
    if ms["p50"] is not None:
        out.data(f"{'ms a query':<24} p50 {ms['p50']:.1f}, p95 {ms['p95']:.1f}")
    out.data(f"{'index':<24} {index['seconds']:.2f} s, {index['bytes'] / 1e6:.1f} MB")
    out.say(f"intervals: {total['interval']}")


def each(measured: Measured) -> list[dict[str, Any]]:
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
        for one in measured.asked
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


def _mean(found: dict[str, float] | None) -> str:
    return f"{found['mean']:.1f}  [{found['low']:.1f}, {found['high']:.1f}]" if found else "none to judge"


def _shown(rate: dict[str, Any]) -> str:
    if not rate["of"]:
        return "none to judge"
    return f"{rate['share']:.2f}  {rate['right']}/{rate['of']}  [{rate['low']:.2f}, {rate['high']:.2f}]"


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


def _show_session(out: Output, one: Scored) -> None:
    counts = f"{len(one.right)} right, {len(one.wrong)} wrong, {len(one.missed)} missed"
    out.data(f"{one.name}: {counted(one.spoken, 'message')}, {counts}")
    for find in one.wrong:
        word = "stored" if find.stored else "suggested"
        out.data(f"  false ({word}) {find.messages[-1]}: {find.change.reason}")
    for find in one.violations:
        out.data(f"  excluded, kept {find.messages[-1]}: {find.change.description}")
    for find, label in one.right:
        if find.change.type != label.type:
            out.data(f"  {find.change.type}, not {label.type}: {find.change.description}")
    for label in one.missed:
        out.data(f"  missed {label.message} ({label.type}): {' '.join(label.keys)}")


def _show_dream(out: Output, value: dict[str, Any]) -> None:
    out.data(
        f"engine {value['engine']}: {counted(len(value['nights']), 'night')}, "
        f"{value['arrived']} of {counted(value['corpus'], 'memory')} arrived, seed {value['seed']}"
    )
    for night in value["nights"]:
        size, claims = night["size"], night["claims"]
        failed = f"; {counted(len(night['failures']), 'failure')}" if night["failures"] else ""
        out.data(
            f"night {night['night']}: {night['arrived']} new; {_proposals(night['proposals'])}{failed}; "
            f"{_claims(claims)}; recall {_recall(night['recall'])}; "
            f"{size['before']['memories']} -> {size['after']['memories']} memories; "
            f"{night['seconds']:.2f} s"
        )
        for failure in night["failures"]:
            out.data(f"  not proved: {one_line(failure, 200)}")
    total = value["all"]
    claims = total["claims"]
    out.data(f"{'claims that arrived':<24} {claims['arrived']:,}")
    out.data(f"{'there word for word':<24} {claims['by_hash']:,}")
    out.data(f"{'there by account':<24} {claims['by_account']:,}, {claims['superseded']:,} superseded")
    out.data(f"{'dropped with a reason':<24} {claims['dropped']:,}")
    out.data(f"{'lost':<24} {claims['lost']:,}")
    for one in total["lost"][:LOST_SHOWN]:
        out.data(f"  {one['claim']}: {one['why']}: {one_line(one['text'], 100)}")
    for key, title in (("descriptions", "recall by description"), ("sentences", "recall by a sentence")):
        before, after = (total["recall"][side][key] for side in ("before", "after"))
        out.data(f"{title:<24} {_percent(before)} -> {_percent(after)}  of {after['of']:,}")
    for key, title in (("memories", ""), ("claims", ""), ("bytes", ""), ("index_lines", "index lines")):
        before, after = (total["size"][side][key] for side in ("before", "after"))
        out.data(f"{title or key:<24} {before:,} -> {after:,}")
    out.data(f"{'proposals':<24} {_proposals(total['proposals'])}")
    out.data(f"{'notes for a person':<24} {total['notes']:,}")
    out.data(f"{'not proved':<24} {total['failures']:,}")
    out.data(f"{'seconds':<24} {total['seconds']:.2f}")
    if value["used_up"]:
        out.say(f"from night {value['used_up']} on nothing new was left to arrive")


def _proposals(kinds: dict[str, int]) -> str:
    named = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    return f"{counted(sum(kinds.values()), 'proposal')}{f' ({named})' if named else ''}"


def _claims(claims: dict[str, int]) -> str:
    return (
        f"{claims['arrived']} claims: {claims['by_hash']} by hash, {claims['by_account']} by account, "
        f"{claims['dropped']} dropped, {claims['lost']} lost"
    )


def _recall(recall: dict[str, Any]) -> str:
    return ", ".join(
        f"{_percent(recall['before'][key])} -> {_percent(recall['after'][key])}"
        for key in ("descriptions", "sentences")
    )


def _percent(share: dict[str, Any]) -> str:
    return "none" if share["share"] is None else f"{share['share']:.1f}"
