"""What `git mem recall` prints, also without the command line's parser.

Loading that takes a quarter as long again as the answer. Only words and `--json` are known here; whatever
else stands in the line is the parser's, so that there is one help and one wording of errors.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from textwrap import indent
from typing import TYPE_CHECKING, Any

from gitmem.cli.context import CommandContext, make_context
from gitmem.cli.output import Output
from gitmem.core.errors import UsageError
from gitmem.core.limits import PATIENT_SECONDS
from gitmem.core.text import one_line
from gitmem.flows import last_recalls
from gitmem.flows.recall import RecallRequest, ask
from gitmem.ledger.files import COMMITS
from gitmem.search.gate import LeftOut
from gitmem.search.recall import KNOWN_CHARS, Recall, RecallItem, told_by
from gitmem.search.recall import as_json as as_value

if TYPE_CHECKING:
    from gitmem.flows.code_commits import ToldCommit
    from gitmem.ledger.workspace import Workspace

SOURCES = ("memory", "commits", "all")

LONGEST = 65_536
"""Characters of a question that are read from standard input."""

EXPLAINED = 8
"""Candidates left out of which --explain tells; --json tells of all."""


def answer(
    run: CommandContext, asked: RecallRequest, source: str | None = None, *, explain: bool = False
) -> None:
    """Answers a question on the output of a command.

    Args:
        source: one of `SOURCES`; None as the setting says, and without commits where only some memories
            are asked for, or those of then.
        explain: also what each was found by, and why others are left out.
    """
    workspace = run.workspace  # it is opened anew by whoever asks
    commits = _commits(workspace, asked, source)
    if source == "commits":
        _answer_by_commits(run, asked.text, commits)
        return
    found = ask(workspace, run.edges, asked)
    last_recalls.keep(workspace, run.edges, found)
    for note in found.notes:
        run.out.say(note)
    if run.out.as_json:
        run.out.json(_value(found, explain) | {"commits": [asdict(one) for one in commits]})
        return
    for number, item in enumerate(found.items):
        if number:
            run.out.data()
        _print(run, item, explain)
    for number, commit in enumerate(commits):
        if number or found.items:
            run.out.data()
        _print_commit(run, commit)
    if not found.items:
        run.out.say(_none_fits(found))
    for left in found.unmerged:
        run.out.say(f"not shown here: {one_line(left.candidate.name, 60)}: {_elsewhere(left.detail)}")
    if explain:
        _explain(run, found)


def _commits(workspace: Workspace, asked: RecallRequest, source: str | None) -> tuple[ToldCommit, ...]:
    """The commits that answer; whoever names the source may wait for the index to be brought up to date."""
    narrow = any(each is not None for each in (asked.scope, asked.agent, asked.type))
    if source is not None and source not in SOURCES:
        raise UsageError(f"There is no source {source!r}", f"Choose one of: {', '.join(SOURCES)}.")
    if narrow and source in ("commits", "all"):
        raise UsageError(
            "Commits of the code have no scope, agent or type",
            "Leave --source away, or the others.",
        )
    if asked.at and source in ("commits", "all"):
        raise UsageError(
            "Commits of the code answer as of now alone",
            "Those of then: git log --grep WORD --until DATE",
        )
    there = (workspace.state / COMMITS).is_file() and workspace.settings.flag("recallCommits")
    if source == "memory" or narrow or asked.at or not (source or there):
        return ()
    from gitmem.flows import code_commits  # a new clone has no index of its commits yet
    from gitmem.flows.redaction import credentials

    if source:
        code_commits.follow_commits(workspace, PATIENT_SECONDS)
    return code_commits.find_commits(workspace, asked.text, credentials, unasked=False)


def _answer_by_commits(run: CommandContext, question: str, commits: Sequence[ToldCommit]) -> None:
    if run.out.as_json:
        run.out.json({"query": question, "items": [], "commits": [asdict(one) for one in commits]})
        return
    for number, commit in enumerate(commits):
        if number:
            run.out.data()
        _print_commit(run, commit)
    if not commits:
        from gitmem.flows.code_commits import nearest_commits
        from gitmem.flows.redaction import credentials

        near = ", ".join(nearest_commits(run.workspace, question, credentials))
        run.out.say("no commit fits" + (f"; nearest: {near}" if near else ""))


def _print_commit(run: CommandContext, commit: ToldCommit) -> None:
    out = run.out
    subject = out.paint(one_line(commit.subject, 100), "bold")
    out.data(f"{subject}  (commit {commit.commit[:12]}, {commit.time[:10]})")
    if commit.undone:
        out.data(out.paint(f"  note: {one_line(commit.undone, KNOWN_CHARS)}", "yellow"))
    if commit.text:
        out.data(indent(commit.text, "    "))


def question(words: Sequence[str]) -> str:
    """A question as a person gives it: its words, or `-` alone for standard input.

    Raises:
        UsageError: there is none.
    """
    if list(words) == ["-"]:
        text = sys.stdin.read(LONGEST)
        if not text.strip():
            raise UsageError(
                "Standard input holds no question", "Give it as words: git mem recall QUESTION"
            )
        return text
    text = " ".join(words)
    if not text.strip():
        raise UsageError("The question is empty", "Give it as words, or as - on standard input.")
    return text


def _none_fits(found: Recall) -> str:
    nearest = ", ".join(one_line(one.name, 60) for one in found.nearest)
    return "no memory fits" + (f"; nearest: {nearest}" if nearest else "")


def _elsewhere(branch: str) -> str:
    return f"taught on branch {branch}, not merged here"


def _print(run: CommandContext, item: RecallItem, explain: bool) -> None:
    out = run.out
    place = one_line(f"{item.scope}/{item.agent}", 60)
    age = "age unknown" if item.age_days is None else "today" if not item.age_days else _days(item.age_days)
    then = f", as of {item.commit[:12]}" if item.commit else ""
    out.data(f"{out.paint(one_line(item.name, 80), 'bold')}  ({item.type}, {place}, {age}{then})")
    if item.description and not told_by(item.description, item.text):
        out.data(f"  {one_line(item.description, 160)}")
    if item.note:
        out.data(out.paint(f"  note: {one_line(item.note, KNOWN_CHARS)}", "yellow"))
    if explain:
        out.data(f"  found by: {_figures(item.score, item.why)}")
        for fact in item.checked:
            out.data(f"  in HEAD: {one_line(fact, 200)}")
    out.data(indent(item.text, "    "))


def _explain(run: CommandContext, answer: Recall) -> None:
    out = run.out
    if not answer.items and not answer.left:
        out.data("no memory here has a distinctive word of it")
        return
    if answer.items:
        out.data()
    out.data(f"chosen by {answer.engine}: {len(answer.items)} of {_considered(answer)}")
    for left in answer.left[:EXPLAINED]:
        one = left.candidate
        place = one_line(f"{one.agent}/{one.file}", 80)
        out.data(f"  left out: {place}: {one_line(left.words, 120)}; {_figures(one.score, one.why)}")
    if len(answer.left) > EXPLAINED:
        out.data(f"  and {len(answer.left) - EXPLAINED} more")


def _considered(answer: Recall) -> str:
    count = len(answer.items) + len(answer.left)
    return f"{count} candidate{'' if count == 1 else 's'}"


def _figures(score: float, why: Mapping[str, float]) -> str:
    if not score:
        return "no word of it"
    parts = ", ".join(f"{one_line(name, 30)} {share:.2f}" for name, share in why.items())
    return f"score {score:.2f}" + (f" ({parts})" if parts else "")


def _value(answer: Recall, explain: bool) -> dict[str, Any]:
    value = as_value(answer) | {"engine": answer.engine, "notes": list(answer.notes)}
    value["unmerged"] = [_left(one) for one in answer.unmerged]
    return value | ({"left": [_left(one) for one in answer.left]} if explain else {})


def _left(left: LeftOut) -> dict[str, Any]:
    one = left.candidate
    texts = {
        "ref": one.ref,
        "agent": one.agent,
        "file": one.file,
        "name": one.name,
        "reason": left.why,
        "detail": left.detail,
    }
    sound = {key: text.encode("utf-8", "replace").decode() for key, text in texts.items()}
    return sound | {"score": one.score, "why": dict(one.why), "parts": dict(one.parts)}


def _days(count: int) -> str:
    return f"{count} day{'' if count == 1 else 's'} old"


AS_JSON = "--json"


def recall(argv: Sequence[str]) -> int:
    """Answers a question.

    Args:
        argv: what follows `gitmem recall`: words, none of which begins with `-` but `--json`.
    """
    run = make_context(None, Output()).with_output(as_json=AS_JSON in argv)
    asked = question([word for word in argv if word != AS_JSON])
    answer(run, RecallRequest(asked, engine=None, patience=PATIENT_SECONDS))
    return 0
