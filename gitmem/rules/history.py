"""What stays in history although the end does not show it: every commit is judged, not only the last tree.

A file that a later commit of the same request mends or takes away is told as a notice, unless to have it in
history is the harm. Credentials are `credentials`' part.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from gitmem.core.account import claims_at, is_memory
from gitmem.core.claim import with_dispute
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.text import find_invisible, line_at
from gitmem.core.trailers import ASKING, parse, tellings
from gitmem.rules.instructions import find_instructions, judge_hidden, judge_instructions
from gitmem.rules.paths import EXECUTABLE, check_path, odd_mode
from gitmem.rules.rule import PLAIN, Finding, Level, Revision, RuleContext, RuleFile, Side, quote


def judge_commits(_before: Side | None, _after: Side, context: RuleContext) -> Iterator[Finding]:
    """Finds what nobody can see, or what speaks to the model, in messages and names of people."""
    for revision in context.revisions:
        for where, text in [
            ("message", revision.message),
            *(("name of a person", person) for person in dict.fromkeys(revision.people)),
        ]:
            behind = f" ({revision.oid[:12]})"
            names = dict.fromkeys(f"{found.code} {found.name}" for found in find_invisible(text))
            if names:
                what = f"the {where} holds what nobody can see: {', '.join(list(names)[:5])}{behind}"
                yield Finding("", 1, "invisible", what, commit=revision.oid)
            for found in find_instructions(text):
                what = f"the {where} {found.what}: {quote(found.text)}{behind}"
                yield Finding("", 1, "instruction", what, found.level, commit=revision.oid)


def judge_signatures(_before: Side | None, _after: Side, context: RuleContext) -> Iterator[Finding]:
    """Finds commits that nobody trusted signed, where that is required.

    Merges are none of them: hosts make them, and what they say that no parent says is found by itself.
    """
    if why := context.unsigned.get(""):
        yield Finding("", 1, "unsigned", f"whether commits are signed cannot be told: {why}")
    for revision in context.revisions:
        if revision.oid in context.unsigned and len(revision.parents) < 2:
            people = " and ".join(dict.fromkeys(revision.people))
            what = f"{context.unsigned[revision.oid]}; claims to be by {quote(people)}"
            yield Finding("", 1, "unsigned", f"{what} ({revision.oid[:12]})", commit=revision.oid)


def judge_questions(_before: Side | None, _after: Side, context: RuleContext) -> Iterator[Finding]:
    """Finds questions of a dream that nobody answered: a host lands what they only ask about.

    The commit by which a person accepts one names its subject. A squash has it behind blanks or a star.
    """
    answered = {
        line.partition(". ")[2]
        for one in context.revisions
        if (said := parse(one.message)).reviewed and said.writer == "dream"
        for line in one.message.splitlines()
    }
    for one in context.revisions:
        lines = (line.strip().removeprefix("* ") for line in one.message.splitlines())
        subject = next((line for line in lines if line.startswith(ASKING) and line not in answered), "")
        if subject and any(told.provenance.op == "dream" for told in tellings(one.message)):
            what = f"nobody answered what a dream asks, and merging it would: {quote(subject)}"
            what += f" ({one.oid[:12]}); answer it where the dream is, and open the request again"
            yield Finding("", 1, "account", what, commit=one.oid)


def judge_between(_before: Side | None, after: Side, context: RuleContext) -> Iterator[Finding]:
    """Finds files that stood on the way to the end and may not, or that a person should know of."""
    for revision in context.revisions:
        for path, file in revision.files.items():
            if after.files.get(path) == file:
                continue
            known = {parent[path].mode for parent in revision.parents if path in parent}
            if not any(path in parent for parent in revision.parents) and (reason := check_path(path)):
                yield _between(revision, path, 1, "path", reason, "error")
            if file.mode != PLAIN and file.mode not in known:
                level: Level = "notice" if file.mode == EXECUTABLE else "error"
                yield _between(revision, path, 1, "path", odd_mode(file), level)
            if file.size > MEMORY_BYTES:
                unread: Level = "notice" if file.data is not None else "error"
                what = f"is larger than {MEMORY_BYTES:,} bytes"
                yield _between(revision, path, 1, "limit", what, unread)
        for text, former in revision.texts():
            now = after.texts.get(text.path)
            old = (*former, now) if now else former
            if now is None or now.data != text.data:
                for found in _read(text, {line for one in old for line in one.data.split(b"\n")}):
                    yield _between(revision, text.path, found.line, found.rule, found.message, "notice")


def judge_merges(_before: Side | None, _after: Side, context: RuleContext) -> Iterator[Finding]:
    """Finds claims that a merge commit says and none of its parents does.

    Whoever resolves a conflict may write something new, so a person is only shown it. A merge that says it
    was made by a program has no such reason.
    """
    for revision in context.revisions:
        if len(revision.parents) < 2:
            continue
        said = parse(revision.message)
        level: Level = "notice" if said.writer == "human" and not said.claims else "error"
        texts = list(revision.texts())
        sides = [one for _, former in texts for one in former]
        known = {claim.key for one in sides for claim in claims_at(one.path, one.data)}
        for text, _ in texts:
            if not is_memory(text.path) or len(text.data) > MEMORY_BYTES:
                continue
            for claim in claims_at(text.path, text.data):
                # A value of the frontmatter that lost becomes a claim `<key>: <value>`.
                value = with_dispute(claim.text, "").partition(": ")[2]
                lost = bool(claim.dispute and value) and any(value in one.text for one in sides)
                if claim.key not in known and not lost:
                    line = line_at(text.text, text.text.find(claim.text))
                    what = f"a merge says what none of its parents says: {quote(claim.text)}"
                    yield _between(revision, text.path, line, "merge", what, level)


def _read(text: RuleFile, known: Set[bytes]) -> Iterator[Finding]:
    """What is wrong with those lines of a file that stand nowhere else."""
    fresh = [(number, line) for number, line in enumerate(text.data.split(b"\n"), 1) if line not in known]
    lines = replace(text, data=b"\n".join(line for _, line in fresh))
    for found in (*judge_hidden(lines), *judge_instructions(lines)) if fresh else ():
        yield replace(found, line=fresh[found.line - 1][0])


def _between(revision: Revision, path: str, line: int, rule: str, what: str, level: Level) -> Finding:
    return Finding(path, line, rule, f"{what} ({revision.oid[:12]})", level, commit=revision.oid)
