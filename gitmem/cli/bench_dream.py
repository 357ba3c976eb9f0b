"""`git mem bench dream`: what nights of dreams leave of a memory, in a repository that is thrown away."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from gitmem.cli.completing import words
from gitmem.cli.context import Context, Json, context
from gitmem.cli.output import Output
from gitmem.core.errors import CheckFailed, UsageError
from gitmem.core.text import counted, one_line
from gitmem.engines.choice import ENGINES
from gitmem.engines.engine import Engine

MOST_NIGHTS = 1_000
LOST_SHOWN = 10


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
    from gitmem.app.bench.dream import dream_nights
    from gitmem.app.bench.dream_corpus import own_memory, read_folder
    from gitmem.app.bench.dream_figures import dream_figures

    run = context(ctx, as_json=as_json)
    if engine not in ENGINES:
        raise UsageError(f"There is no engine {engine!r}", f"One of: {', '.join(ENGINES)}.")
    if corpus is not None:
        files = read_folder(run.edges.cwd / corpus.expanduser())
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
        _show(run.out, value)
    if done.lost:
        raise CheckFailed(f"{counted(len(done.lost), 'claim')} went without an account", "See `lost`.")
    if done.stopped:
        raise done.stopped


def _say_what_leaves(run: Context, engine: str, nights: int, files: int, size: int) -> None:
    from gitmem.app.bench.dream_sent import dream_costs

    for line in dream_costs(run.any_workspace, run.edges, engine, nights, files, size):
        run.out.say(line)


def _show(out: Output, value: dict[str, Any]) -> None:
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
        out.data(f"{title:<24} {_shown(before)} -> {_shown(after)}  of {after['of']:,}")
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
        f"{_shown(recall['before'][key])} -> {_shown(recall['after'][key])}"
        for key in ("descriptions", "sentences")
    )


def _shown(share: dict[str, Any]) -> str:
    return "none" if share["share"] is None else f"{share['share']:.1f}"


def engine_named(run: Context, name: str) -> Engine:
    """The engine to measure: one that asks a model is the person's, held to the day's ceilings."""
    if name == "offline":
        from gitmem.engines.offline import OfflineEngine

        return OfflineEngine()
    from gitmem.flows.engines import engine_for

    return engine_for(run.any_workspace, run.edges, name)
