"""From messages to proposed changes: judge each sentence, compare with what is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gitmem.core.change import Change, Header, Origin
from gitmem.core.dates import annotate, relative_dates, unclear
from gitmem.engines.engine import Considered, ExtractInput
from gitmem.engines.offline import prose, wording
from gitmem.engines.offline.judge import Find, Refusal, asks_for_several, judge
from gitmem.engines.offline.likeness import Gist, gist, near, same, says_all, stated_in
from gitmem.engines.offline.repeats import Stated, earlier, takes_back
from gitmem.engines.offline.sentences import Sentence, sentences
from gitmem.transcripts.model import Message


@dataclass(frozen=True)
class _Said:
    message: Message
    sentence: Sentence
    verdict: Find | Refusal


def _judged(given: ExtractInput) -> Iterator[_Said]:
    for message in given.messages:
        if message.role != "person" or message.source == "reply":
            continue
        opening = ""
        for paragraph in prose.paragraphs(message.text):
            for sentence in sentences(paragraph):
                opening = opening or sentence.text
                if not asks_for_several(sentence.opening):
                    sentence = replace(sentence, opening=opening)
                verdict = judge(sentence, message.source)
                if verdict is not None:
                    yield _Said(message, sentence, verdict)


def _dated(text: str, message: Message) -> str:
    return annotate(text, message.time) if text and message.time is not None else text


SHORT_ANSWER = 8
"""Words of an answer that is not understood without its question, at most."""

QUESTION = 160
"""Characters of a question that are kept beside its answer."""


def _with_question(said: str, message: Message) -> str:
    """A short answer with what it answers."""
    question = " ".join(message.context.split())
    if message.source != "answer" or not question or len(said.split()) > SHORT_ANSWER:
        return said
    return f"{said.rstrip('.')} (asked: “{question[:QUESTION]}”)"


def _change(find: Find, message: Message, session: str, taken: frozenset[str]) -> Change:
    said, why, how = (_dated(t, message) for t in (find.said, find.why, find.how))
    open_date = bool(unclear(said, message.time) if message.time is not None else relative_dates(said))
    reason = f"{find.label}: {wording.description(find.said)}"
    if open_date and find.asked:
        reason += " (the date it speaks of is unclear)"
    return Change(
        op="add",
        name=wording.slug(find.said, taken),
        description=wording.description(said),
        type=find.type,
        body=wording.body(_with_question(said, message), why, how),
        reason=reason,
        confidence=find.confidence,
        asked=find.asked and not open_date,
        origin=Origin(session=session, first=message.uuid, last=message.uuid, time=message.time),
    )


def _header_gist(header: Header) -> Gist:
    return gist(f"{header.name.replace('-', ' ').replace('_', ' ')} {header.description}")


def _against_manifest(change: Change, new: Gist, manifest: tuple[Header, ...]) -> Change:
    """Turns an add into an update or a noop where a memory says nearly the same."""
    best: tuple[float, Header, Gist] | None = None
    for header in manifest:
        known = gist(header.description) if header.description else _header_gist(header)
        if near(new, known) or near(new, _header_gist(header)):
            score = len(new.words & known.words) / len(new.words | known.words)
            if best is None or score > best[0]:
                best = (score, header, _header_gist(header))
    if best is None:
        return change
    _, header, known = best
    found = replace(change, agent=header.agent, file=header.file, name=header.name)
    if says_all(new, known) if change.asked else same(new, known):
        return replace(found, op="noop", reason=f"known already ({header.name}): {change.description}")
    return replace(found, op="update", reason=f"says more or otherwise than {header.name}: {change.reason}")


def _joined(old: Change, change: Change, *, replaces: bool, message: Message) -> Change:
    """One change for what was said twice: the later words where they replace, the earlier name."""
    return replace(
        change if replaces else old,
        name=old.name,
        asked=old.asked or change.asked,
        confidence=max(old.confidence, change.confidence),
        origin=replace(old.origin, last=message.uuid, time=message.time or old.origin.time),
    )


def _walk(given: ExtractInput) -> tuple[list[Change], list[Considered]]:
    stated: list[Stated] = []
    found: list[Change] = []
    seen: list[Considered] = []
    taken = {h.name for h in given.manifest}
    for said in _judged(given):
        uuid, sentence = said.message.uuid, said.sentence
        if isinstance(said.verdict, Refusal):
            seen.append(Considered(uuid, sentence.text, "refused", said.verdict.reason))
            continue
        find = said.verdict
        new = Stated(wording.statement(find.said), gist(find.said), find.asked)
        if stated_in(new.gist, given.rules, wholly=find.asked):
            seen.append(Considered(uuid, sentence.text, "known", "the project's instruction files say so"))
            continue
        change = _change(find, said.message, given.session, frozenset(taken))
        before = earlier(new, stated, corrects=takes_back(sentence.text, sentence.before))
        if before is None:
            stated.append(new)
            found.append(change)
            taken.add(change.name)
            seen.append(
                Considered(uuid, sentence.text, "asked" if change.asked else "suggested", find.label)
            )
            continue
        old = stated[before.at]
        replaces = before.how != "repeats"
        stated[before.at] = replace(new if replaces else old, asked=old.asked or new.asked)
        found[before.at] = _joined(found[before.at], change, replaces=replaces, message=said.message)
        reason = (
            "corrects what was said before" if before.how == "corrects" else "said before in this session"
        )
        seen.append(Considered(uuid, sentence.text, "known", reason))
    return [
        _against_manifest(change, new.gist, given.manifest)
        for new, change in zip(stated, found, strict=True)
    ], seen


def extract(given: ExtractInput) -> tuple[Change, ...]:
    """Proposes memories from what people plainly stated.

    Args:
        given: messages, what is known, and the instruction files.

    Returns:
        adds, updates and noops, in the order in which they were first said; deterministic.
    """
    return tuple(_walk(given)[0])


def explain(given: ExtractInput) -> tuple[Considered, ...]:
    """Tells which sentences sounded lasting, and what became of each.

    Args:
        given: as for `extract`.

    Returns:
        kept ones and near-misses, in order; sentences without any such sound are left out.
    """
    return tuple(_walk(given)[1])


@dataclass(frozen=True)
class Candidate:
    """A sentence that may be worth keeping.

    Attributes:
        message: uuid of the message that holds it.
        text: the sentence, in a form that reads alone.
        score: how likely it lasts, 0 to 1.
        asked: whether the person plainly asked to remember it.
    """

    message: str
    text: str
    score: float
    asked: bool


_SCORES = {"asked": 0.95, "suggested": 0.6, "refused": 0.3}


def candidates(given: ExtractInput) -> tuple[Candidate, ...]:
    """Lists what may last of what people said, wide, best first.

    Args:
        given: as for `extract`.
    """
    found = [
        Candidate(seen.message, seen.sentence, _SCORES[seen.verdict], seen.verdict == "asked")
        for seen in explain(given)
        if seen.verdict in _SCORES
    ]
    return tuple(sorted(found, key=lambda one: -one.score))
