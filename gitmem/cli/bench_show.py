"""What `git mem bench` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gitmem.app.bench.extraction import Find, Scored, figures
from gitmem.app.bench.figures import each, not_found
from gitmem.app.bench.figures import figures as recall_figures
from gitmem.app.bench.gold import Label
from gitmem.app.bench.recall import DEPTHS, Measured
from gitmem.cli.output import Output
from gitmem.core.text import counted, one_line

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


def show_extraction(
    out: Output, engine: str, scored: Sequence[Scored], seconds: float, *, verbose: bool
) -> None:
    """Prints how an engine did.

    Args:
        seconds: that it took for all sessions.
        verbose: whether each miss and false find is named.
    """
    total = figures(scored)
    if out.as_json:
        named = {"engine": engine, **total, "seconds": round(seconds, 3)}
        out.json({**named, "session_files": [_session(one) for one in scored]} if verbose else named)
        return
    if verbose:
        for one in scored:
            _show(out, one)
    size = f"{counted(total['sessions'], 'session')}, {counted(total['messages'], 'message')}"
    out.data(f"engine {engine}: {size}")
    for key, title in ROWS:
        out.data(f"{title:<36} {_shown(total[key])}")
    out.data(f"{'suggestions a session':<36} {total['suggested_a_session']}")
    out.data(f"{'candidates a session':<36} {total['candidates_a_session']}")
    out.data(f"{'excluded content kept':<36} {total['exclusion_violations']}")
    out.data(f"{'finds where nothing is to keep':<36} {total['finds_where_nothing_is_to_keep']}")
    out.say(f"{total['messages'] / max(seconds, 1e-6):.0f} messages a second")


def show_recall(out: Output, measured: Measured, *, verbose: bool) -> None:
    """Prints how recall did on a corpus.

    Args:
        verbose: whether each query is named of which not all was among the first five.
    """
    total = recall_figures(measured)
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
        for one in not_found(measured):
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


def _find(find: Find) -> dict[str, Any]:
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


def _show(out: Output, one: Scored) -> None:
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
