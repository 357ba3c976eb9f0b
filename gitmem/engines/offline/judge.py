"""One sentence at a time: kept, refused with a reason, or of no interest."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from gitmem.core.change import MemoryType
from gitmem.engines.offline import gates, wording
from gitmem.engines.offline.asked import asked, reminder
from gitmem.engines.offline.clauses import clauses, laid_down
from gitmem.engines.offline.contractions import spelled
from gitmem.engines.offline.facts import FACTS, PERSON
from gitmem.engines.offline.purposes import PURPOSES
from gitmem.engines.offline.sentences import Sentence, masked
from gitmem.engines.offline.signals import CONFIRMED, IDENTITY, STATED, Signal
from gitmem.transcripts.model import Source

# What was plainly asked is as sure as a rule can be of prose.
ASKED_CONFIDENCE = 0.95
# A statement that says why is meant to last more often than one that does not.
REASON_BONUS = 0.1
LONGEST = 400
# A sentence of this many words is looked at by clauses, of which each has this many at least.
LONG_SENTENCE = 8
SHORTEST_CLAUSE = 4
_FOR_NOW = re.compile(r"\b(?:anything|else|just|only|ask|wait|the|more)\b")
_FRAME = re.compile(r"(?:for|in|on|with|when|while|before|after|during|if)\b")
_OF_THE_WHOLE = (
    "somebody else's words",
    "for the list of tasks at hand",
)
# A correction that is a whole message has this many words at most.
SHORT_CORRECTION = 6

_ANAPHORIC = re.compile(
    r"^(?:please )?(?:stop|quit|avoid|keep|do|don't|never|always) (?:do|doing) (?:that|this|it|so)\b"
    r"|^(?:please )?(?:do|don't do) (?:it|this|that)\b"
    r"|^(?:from now on,? )?(?:do|keep) (?:it|that|this)\b|^(?:exactly )?(?:how|what) i (?:like|want)\b"
)

# After who they are: what they want now, and that the code at hand is new to them.
_THEN_ASKS = re.compile(
    r"(?:[,;:—–]| -) ?(?:and |but |so )*(?:what|where|which|how|who|why|when|can|could|would|will"
    r"|please"
    r"|show|is there|are there|do|does|tell|explain|help)\b.*$"
)
_NEW_TO_THIS = re.compile(
    r",? (?:and |but )*(?:also )?(?:(?:completely |quite |fairly |pretty )?new )?to (?:this|that|the"
    r"|your)"
    r" (?:code|module|file|service|part|area|script|library|package|tool)(?= *[.!,;]*$)"
)

# A request beside a fact: "…, use that in the footer"; "can you make it darker, I use a light theme".
_LEANS_ON_IT = re.compile(
    r"[,;] (?:so |and |then |please |just )*(?:use|follow|change|put|do|adjust|mention|show"
    r"|update) (?:that|it|this"
    r"|them)\b.*$"
)
_REQUEST_BEFORE = re.compile(r"^(?:can|could|would|will) (?:you|we)\b.*, (?:as |since |because )?$")

# "The goal is …, how can we get there?"
_ASKS_AFTER = re.compile(
    r" ?(?:,|;| [-–—]+) ?(?:so |and |but )?(?:how|what|where|which|can (?:you|we)|could (?:you|we)|do you"
    r"|is"
    r" (?:that|this|it|there)|does (?:that|this|it))\b[^,;]*\?$"
)

# "Can you stop adding …?" asks for no answer.
_CAN_YOU = re.compile(
    r"^(?:can|could|would|will) you (?:please |just |maybe )*(?=(?:stop|quit|avoid|always|never|not)\b)",
    re.I,
)

# What follows in the paragraph says how these are to be done.
_LIST_OF_TASKS = re.compile(
    r"^(?:ok(?:ay)?,? |now |please |then |next,? |can you |could you |let's |go ahead and )*(?:make|do"
    r"|implement|apply"
    r"|fix|address|complete|carry out|perform|work (?:on|through)|go through|execute|resolve|tackle"
    r"|handle|start)"
    r" (?:(?:on|with) )?(?:all |each |only )?(?:of )?(?:the (?:following|remaining|rest)|these|those"
    r"|(?:phase|step|task|item|milestone)s? \d)\b"
)

_PERSON = Signal("about the person", re.compile(""), "user", ASKED_CONFIDENCE)


@dataclass(frozen=True)
class Find:
    """A statement worth keeping, before it is compared with what is known.

    Attributes:
        said: the statement in the person's words.
        why, how: what they gave as reason and as use; may be empty.
        type, label, confidence: from the signal.
        asked: they plainly asked to remember it.
    """

    said: str
    why: str
    how: str
    type: MemoryType
    label: str
    confidence: float
    asked: bool


@dataclass(frozen=True)
class Refusal:
    """A sentence that sounds lasting and is not kept, with the reason."""

    reason: str


def _requested(text: str) -> str:
    """Makes an instruction of a request for a way of working that is put as a question."""
    m = _CAN_YOU.match(text)
    if m is None:
        return text
    rest = text[m.end() :].rstrip("?")
    return f"don't {rest[4:]}" if rest[:4].lower() == "not " else rest


def asks_for_several(opening: str) -> bool:
    """Says whether a sentence announces tasks: what is said below it is about how those are to be done."""
    return _LIST_OF_TASKS.match(masked(opening)) is not None


def _signals(low: str) -> list[tuple[Signal, int]]:
    found = ((signal, signal.pattern.search(low)) for signal in STATED + FACTS)
    return [(signal, m.start()) for signal, m in found if m]


def _find(said: str, sentence: Sentence, signal: Signal | None, *, is_asked: bool) -> Find:
    said, why = wording.split_why(said)
    how = wording.how_clause(said) if signal is not None and signal.type == "feedback" else ""
    if not why and sentence.after and wording.gives_reason(sentence.after):
        why = sentence.after
    if (
        signal is not None
        and signal.type == "feedback"
        and sentence.after
        and wording.gives_how(sentence.after)
    ):
        how = sentence.after
    confidence = ASKED_CONFIDENCE if is_asked or signal is None else signal.confidence
    if why and not is_asked:
        confidence = min(0.9, confidence + REASON_BONUS)
    label = "plainly asked to remember" if signal is None else signal.label
    kind: MemoryType = "project" if signal is None else signal.type
    return Find(said, why, how, kind, label, round(confidence, 2), is_asked)


def _kind_of_asked(rest: str) -> Signal | None:
    """Finds the signal that a statement opens with: it gives the type, nothing else."""
    low = masked(rest)
    found = next(iter(_signals(low)), None)
    if re.search(r"\bi (?:always|usually|prefer|like)\b", low):
        return _PERSON
    if found and (found[1] <= 3 or found[0].type in ("reference", "user")):
        return found[0]
    if re.match(r"(?:i|i'm|i've|my)\b", low):
        return _PERSON
    return None


def judge(sentence: Sentence, source: Source = "prompt") -> Find | Refusal | None:
    """Decides about one sentence.

    Args:
        sentence: a person's sentence, with its neighbours.
        source: how it was said. Who refuses a tool call speaks of how to work more often than not.

    Returns:
        a find; a refusal where it only sounds like one; None where it does not even sound so.
    """
    text = _requested(wording.without_opening(spelled(sentence.text)))
    low = masked(text)
    asks = _ASKS_AFTER.search(low)
    if asks and len(low[: asks.start()].split()) >= 5:
        text, low = text[: asks.start()], low[: asks.start()]
    request = asked(low)
    if request is not None:
        said = text[request.start :]
        if request.points_back:
            said = wording.without_opening(sentence.before)
            low = masked(said)
            if len(said.split()) < 3:
                return Refusal("nothing before it to remember")
        refused = gates.why_not(said if request.points_back else text, low, 0, None)
        if refused:
            return Refusal(refused)
        if len(said) > LONGEST:
            return Refusal("too long for one statement")
        find = _find(said, sentence, _kind_of_asked(said), is_asked=True)
        if gates.doubtful(masked(said)):
            return replace(
                find, asked=False, confidence=0.5, label="asked to remember, but perhaps the code tells it"
            )
        return find
    if reminder(low) and not re.search(r"\b(?:always|never|every|each|from now on|whenever)\b", low):
        return Refusal("a reminder for the task at hand")

    found = _signals(low)
    if not found:
        return _clause(text, low, sentence, source)
    verdict = _decide(text, low, sentence, source, *found[0])
    for signal, at in found[1:]:
        # A weak one that is refused as one step leaves room for a plainer one in the same sentence.
        if isinstance(verdict, Find) or found[0][0].weight == "strong" or signal not in FACTS:
            break
        verdict = _decide(text, low, sentence, source, signal, at)
    if (
        isinstance(verdict, Refusal)
        and len(low.split()) >= LONG_SENTENCE
        and verdict.reason not in _OF_THE_WHOLE
    ):
        # What speaks against one part of a long sentence does not speak against the others.
        return _clause(text, low, sentence, source) or verdict
    return verdict


def _clause(text: str, low: str, sentence: Sentence, source: Source) -> Find | None:
    """Looks for what is told or laid down within a sentence that as a whole tells nothing."""
    frame = -1
    for start, end in clauses(low):
        said, part = text[start:end], low[start:end]
        if len(part.split()) >= SHORTEST_CLAUSE and (start, end) != (0, len(low)):
            for signal in PURPOSES + PERSON:
                m = signal.pattern.search(part)
                verdict = _decide(said, part, Sentence(said), source, signal, m.start()) if m else None
                if isinstance(verdict, Find):
                    return replace(verdict, asked=False)
        label = laid_down(said, part)
        if label and not asks_for_several(sentence.opening):
            signal = Signal(label, re.compile(""), "feedback", 0.45)
            if not gates.why_not(said, part, 0, signal):
                # "for the tests, do not mock": without what goes before it would say too much.
                said = text[frame:end] if frame >= 0 else said
                return _find(said, sentence, signal, is_asked=False)
        frame = start if _FRAME.match(part) and len(part.split()) < LONG_SENTENCE else -1
    return None


def _decide(
    text: str, low: str, sentence: Sentence, source: Source, signal: Signal, at: int
) -> Find | Refusal:
    said = text
    if signal in IDENTITY:
        text, low = _who(text, low, signal)
        said = text
    if _ANAPHORIC.match(low) or (signal in CONFIRMED and len(low.split()) < 6):
        if not sentence.before or sentence.before.endswith("?"):
            return Refusal("says nothing on its own")
        before = wording.without_opening(sentence.before)
        refused = gates.why_not(before, masked(before), 0, None)
        if refused:
            return Refusal(refused)
        said = f"{wording.statement(before)} {text}"
    elif signal in CONFIRMED and not _has_content(low):
        return Refusal("confirms without saying what")
    alone = not sentence.before and not sentence.after and sentence.opening == sentence.text
    supported = bool(wording.split_why(text)[1]) or (
        bool(sentence.after) and wording.gives_reason(sentence.after)
    )
    short = len(low.split()) <= SHORT_CORRECTION and not _FOR_NOW.search(low)
    if alone and short and signal.weight == "weak":
        # Nothing but "do not commit": it corrects what the agent just did, and will do again.
        supported = True
    if signal in FACTS:
        text, low, at = _told(text, low, at)
        said = text
    refused = gates.why_not(text, low, at, signal, supported=supported, refusing=source == "refusal")
    if refused:
        return Refusal(refused)
    if len(said) > LONGEST:
        return Refusal("too long for one statement")
    if len(said.split()) < 3:
        return Refusal("too little said")
    if signal.weight == "weak" and asks_for_several(sentence.opening):
        return Refusal("for the list of tasks at hand")
    standing = said is text and signal.type == "feedback" and gates.for_good(low)
    standing = standing and not gates.for_a_task(low, masked(sentence.opening))
    return _find(said, sentence, signal, is_asked=standing)


def _who(text: str, low: str, signal: Signal) -> tuple[str, str]:
    """Keeps of a sentence what says who they are, where that is told by its form; else all of it."""
    for passing in (_THEN_ASKS, _NEW_TO_THIS):
        m = passing.search(low)
        if m and len(low[: m.start()].split()) >= 3 and signal.pattern.search(low[: m.start()]):
            text, low = text[: m.start()], low[: m.start()]
    return text, low


def _told(text: str, low: str, at: int) -> tuple[str, str, int]:
    """Keeps of a sentence the fact that it tells, without the request before or after that leans on it."""
    after = _LEANS_ON_IT.search(low, at)
    if after and len(low[: after.start()].split()) >= 4:
        text, low = text[: after.start()], low[: after.start()]
    if at and _REQUEST_BEFORE.match(low[:at]) and len(low[at:].split()) >= 4:
        text, low, at = text[at:], low[at:], 0
    return text, low, at


def _has_content(low: str) -> bool:
    """Says whether a confirmation names what it confirms."""
    bare = re.sub(
        r"\b(?:yes|yep|yeah|exactly|perfect|that|this|it|was|is|'s|the|right|call|approach|choice|way"
        r"|move|here|what|how|i|want|like|need"
        r"|every|time|each|always|keep|doing|do|for|all|so|great|good|thanks|please|a|of|just|continue"
        r"|next|now|go|ahead|also|then)\b",
        " ",
        low,
    )
    return len(re.findall(r"[a-z]{3,}", bare)) >= 1
