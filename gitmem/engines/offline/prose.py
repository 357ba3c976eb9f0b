"""What a person typed, without what they pasted, cut into sentences with the neighbours they lean on."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Beyond this a message is mostly pasted: only short paragraphs can be the person's own words, the first
# and the last of them and those in which somebody speaks.
LONG_MESSAGE = 1_800
OWN_PARAGRAPH = 600
# Up to this, a paragraph of a long message counts where somebody speaks in it.
LONGEST_OWN = 5_000
# A line as long as this was wrapped by a program, or never.
LONG_LINE = 3_000

DOCUMENT_HEADINGS = 2
"""Markdown headings from which a message is a document."""

DOCUMENT_TITLES = 3
"""Titles without a mark (a short line alone above a list or a paragraph) from which it is one."""

COPIED_LINES = 4
"""Indented lines from which what is indented was copied from a screen."""

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.M | re.S)
_BLOCK_TAG = re.compile(r"<([A-Za-z][\w.-]*)(?:\s[^<>]*)?(?<!/)>.*?(?:</\1>|\Z)", re.S)
_AGENT_PROMPT = re.compile(
    r"(?:you are (?:now )?(?:a|an|the|my|claude|chatgpt)\b(?! (?:bit|little))"
    r"|your (?:task|job|role|goal) is\b|act as (?:a|an)\b|continue from where"
    r"|this session is being continued|base directory for this skill|caveat: the messages below"
    r"|operation stopped by hook|\[request interrupted)",
    re.I,
)
_INTRODUCES_PASTE = re.compile(
    r"\b(?:reviews?|reviewers?|logs?|output|errors?|traceback|feedback|comments?|tickets?|e-?mails?"
    r"|prompts?"
    r"|issues?|messages?|specs?|docs?|says?|said|wrote|writes|transcripts?|conversation|chat|diff|code|text"
    r"|this is what|i (?:now )?(?:get|got|see)|getting|looks? like this|pasted?|following)\b[^\n]*:\s*$",
    re.I,
)
_PASTED_LINE = re.compile(
    r"^\s*(?:"
    r">|\||❯|\$ |# |#!|//|/\*|\*/|\+\+\+ |--- |@@|[+-](?=[^\s-])|diff --git|index [0-9a-f]{7}"
    r"|(?:\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d)"
    r"|\[?(?:ERROR|ERR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|CRITICAL|NOTICE)\b\]?\s*[:\[(|-]?"
    r"|(?:error|fatal|warning|remote|hint|panic|exception|caused by)(?:\[\w+\])?: "
    r"|(?:\w+\.)*\w*(?:Error|Exception)\b:? |at \S+\(|File \"|Traceback |commit [0-9a-f]{7,}|Author: "
    r"|Date:   "
    r"|[{}\[\]();]+\s*$"
    r"|[│├╭╰└●⎿✓✗✔✘]"
    r")"
)
_CODE_LINE = re.compile(
    r"(?:[;{}]\s*$|=>|\w\(.*\)\s*[;{:]?\s*$|^\s*(?:def|class|import|from \w+ import|func|const|let|var"
    r"|return)\s"
    r"|^\s*[\w.\"'-]+\s*(?:=|:=|\+=)\s*\S|^\s*</?\w+[^>]*>)"
)
_HEADING = re.compile(r"^#{1,4} \S", re.M)
_FOLLOWING = re.compile(
    r"\b(?:the |these )following(?: \w+){0,2}:\s*$|\bfollowing (?:aspect|way|thing|point|rule)s?:", re.I
)
_SPEAKS = re.compile(r"\b(?:I|I'm|I'd|I've|i|im|my|me|we|our|us|you|your|please|pls)\b")
_LIST_ITEM = re.compile(r"^\s*(?:[-*•+]|\(?\d{1,2}[.)])\s")
_TITLE = re.compile(r"^(?!.*\b(?:I|I'm|we|you|please)\b)[A-Z\d][^.?!,;]{2,50}$")
# What goes on below a line of a copied screen.
_INDENTED = re.compile(r"^ {3,}\S")
_SLASH = re.compile(r"^\s*/[\w:-]+(?:\s|$)")


def _line_is_pasted(line: str) -> bool:
    if _PASTED_LINE.match(line) or len(line) > LONG_LINE:
        return True
    if line.count("\t") >= 2:
        return True
    indented = line.startswith(("    ", "\t"))
    if _CODE_LINE.search(line):
        return indented or len(line.split()) < 6
    letters = sum(c.isalpha() or c.isspace() for c in line)
    return bool(line.strip()) and letters < 0.6 * len(line)


def _titles(lines: list[str]) -> list[int]:
    """Finds the lines that stand as titles: short, without an end, alone above what they name."""
    found = []
    for i, line in enumerate(lines):
        below = lines[i + 1 : i + 2]
        if not _TITLE.match(line.strip()) or len(line.split()) > 6 or (i and lines[i - 1].strip()):
            continue
        if below and (not below[0].strip() or _LIST_ITEM.match(below[0]) or below[0].startswith("  ")):
            found.append(i)
    return found


def _before_document(text: str) -> str:
    """Cuts a document off, and what was copied indented from an agent's screen."""
    headings = list(_HEADING.finditer(text))
    if len(headings) >= DOCUMENT_HEADINGS:
        # A plan or a document: what the person says of it goes before.
        text = text[: headings[0].start()]
    lines = text.split("\n")
    titles = _titles(lines)
    if len(titles) >= DOCUMENT_TITLES:
        lines = lines[: titles[0]]
    indented = [line for line in lines[1:] if line.startswith("  ") and line.strip()]
    if len(indented) >= COPIED_LINES and 2 * len(indented) > sum(bool(line.strip()) for line in lines):
        lines = [line for line in lines if not line.startswith("  ")]
    return "\n".join(lines)


def _own(paragraphs: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Keeps of a long message its ends, and the paragraphs in which somebody speaks."""
    if sum(len(line) for p in paragraphs for line in p) > LONGEST_OWN:
        inner = []
    else:
        inner = [p for p in paragraphs[1:-1] if _SPEAKS.search(" ".join(p))]
    ends = paragraphs[:1], paragraphs[-1:] if len(paragraphs) > 1 else []
    return [p for p in (*ends[0], *inner, *ends[1]) if sum(map(len, p)) <= OWN_PARAGRAPH]


def _own_list(below: list[str]) -> bool:
    """Says whether a list stands next: "the following: 1. …" announces the person's own points."""
    following = next((line for line in below if line.strip()), "")
    return _LIST_ITEM.match(following) is not None


def why_not_prose(text: str) -> str:
    """Says why a whole message is not a person's own prose.

    Args:
        text: the message.

    Returns:
        the reason; empty where it may hold a person's words.
    """
    start = text.lstrip()
    if _AGENT_PROMPT.match(start):
        return "a prompt for an agent, not a person's statement"
    if _SLASH.match(start):
        return "a command of the client"
    return ""


def paragraphs(text: str) -> tuple[tuple[str, ...], ...]:
    """Gives the lines a person wrote themselves, by paragraph.

    Drops fences, markup blocks, quotes, diffs, logs, code, and all that follows a line which introduces
    something pasted ("here is the review:"). Best effort: prose pasted without any mark passes.

    Args:
        text: one message.

    Returns:
        paragraphs, each as its lines, in order; empty where nothing is the person's own.
    """
    if why_not_prose(text):
        return ()
    text = _FENCE.sub("\n\n", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = _BLOCK_TAG.sub("\n\n", text)
    text = _before_document(text)
    found: list[tuple[str, ...]] = []
    own: list[str] = []
    pasted = 0
    lines = [*text.split("\n"), ""]
    for number, line in enumerate(lines):
        if not line.strip():
            if own:
                found.append(tuple(own))
                own = []
            continue
        if _line_is_pasted(line) or (pasted and not own and _INDENTED.match(line)):
            pasted += 1
            continue
        own.append(line.strip())
        if _INTRODUCES_PASTE.search(line) and not (
            _FOLLOWING.search(line) and _own_list(lines[number + 1 :])
        ):
            found.append(tuple(own))
            own = []
            break
    if pasted > 3 and pasted > sum(len(p) for p in found):
        # What is left of a log after its tell-tale lines are gone is still a log.
        found = [p for p in found if len(p) <= 2]
    if sum(len(line) for p in found for line in p) > LONG_MESSAGE:
        found = _own(found)
    return tuple(found)


_ITEM = re.compile(r"^\s*(?:[-*•+]|\(?\d{1,2}[.):]|[a-z]\))\s+")
_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|approx|incl|resp|mr|mrs|dr|no|nr|st|cf)|(?:^|[\s,])\d{1,2})\.$", re.I
)
# A program wraps lines at a width; a person who types in lower case begins a new line for a new sentence.
WRAPPED = range(45, 131)

_QUOTED = re.compile(
    r"\"[^\"\n]{2,}\"|“[^”\n]+”|«[^»\n]+»|`[^`\n]+`|(?<!\w)'[^'\n]{2,}'(?!\w)|(?<!\w)‘[^’\n]+’(?!\w)"
)

QUOTE_MARK = "¤"


def _units(lines: tuple[str, ...]) -> list[tuple[bool, list[str]]]:
    """Joins soft-wrapped lines, and says of each unit whether it is a list item."""
    units: list[tuple[bool, list[str]]] = []
    for line in lines:
        bare = _ITEM.sub("", line)
        wrapped = (
            units
            and bare == line
            and line[:1].islower()
            and units[-1][1][-1][-1:] not in ".!?:"
            and len(units[-1][1][-1]) in WRAPPED
        )
        if wrapped:
            units[-1][1].append(line)
        else:
            units.append((bare != line, [bare]))
    return units


def _split(text: str) -> list[str]:
    parts: list[str] = []
    start = 0
    blank = mask_quotes(text)
    for m in _END.finditer(text):
        quoted = blank[m.end() - 1] == QUOTE_MARK
        if quoted or _ABBREVIATION.search(text[start : m.start()].rstrip("\"'”’)]")):
            continue
        parts.append(text[start : m.end()].strip())
        start = m.end()
    parts.append(text[start:].strip())
    return [p for p in parts if p]


@dataclass(frozen=True)
class ProsePassage:
    """Sentences that belong together.

    Attributes:
        sentences: one line each, apostrophes put back (`spelled`).
        paragraph: number of the paragraph that they stand in, from 0.
        item: it is an item of a list.
    """

    sentences: tuple[str, ...]
    paragraph: int = 0
    item: bool = False


def placed(text: str) -> tuple[ProsePassage, ...]:
    """Gives what a person wrote themselves, cut into passages of sentences, with their places.

    Args:
        text: one message.

    Returns:
        passages in order; a list item is one of its own.
    """
    found: list[ProsePassage] = []
    for number, paragraph in enumerate(paragraphs(text)):
        begun: list[str] = []
        item = False
        for is_item, unit in _units(paragraph):
            if is_item:
                found.append(ProsePassage(tuple(begun), number, item))
                begun, item = [], True
            begun += [spelled(one) for one in _split(" ".join(" ".join(unit).split()))]
        found.append(ProsePassage(tuple(begun), number, item))
    return tuple(passage for passage in found if passage.sentences)


def passages(text: str) -> tuple[tuple[str, ...], ...]:
    """Gives the sentences of `placed` alone, by passage.

    Args:
        text: one message.
    """
    return tuple(passage.sentences for passage in placed(text))


# A mail's header or end, and a line of a chat. A word that labels one's own line is no name.
_MAIL = re.compile(
    r"^(?:from|to|cc|subject|sent|date|von|an|betreff|objet): |^(?:best |kind )?regards\b", re.I
)
_CHAT = re.compile(r"^[A-Za-z][\w.@-]*(?: [A-Z][\w.@-]*)?(?: \([^)]*\))?: \S")
_LABEL = re.compile(
    r"^(?:(?:p\.?s|n\.?b|btw|fyi|todo|note|hint|tip|rule|remember|important|warning|correction|update|edit"
    r"|context|background|question|answer|goal|task|example|reason|why|fix|bug|feat|docs?|test|chore"
    r"|first|second|third|also|then|finally|next|so|ok|okay|yes|no|sorry|one|two|new|last|house|my|our|the|please"
    r"|step|option|error|result|expected|actual|problem|solution|idea|memory|reminder|https?|file|merk)\b)",
    re.I,
)


def from_others(sentence: str) -> bool:
    """Says whether a line looks like one of a mail or a chat: a header, "alice: ok".

    Args:
        sentence: as in `placed`.
    """
    chat = _CHAT.match(sentence) is not None and _LABEL.match(sentence) is None
    return chat or _MAIL.match(sentence) is not None


def mask_quotes(text: str) -> str:
    """Gives the text in lower case with whatever stands in quotes or code marks blanked.

    Args:
        text: one sentence.

    Returns:
        a string of the same length, so that positions agree; typographic apostrophes become plain ones.
    """
    blanked = _QUOTED.sub(lambda m: QUOTE_MARK * len(m.group()), text.replace("’", "'"))
    low = blanked.lower()
    return low if len(low) == len(text) else blanked


# Only those that are no words without their apostrophe ("its", "were" and "well" are).
_BARE = re.compile(
    r"\b(do|does|did|is|are|was|should|must|have|has|could|would|ca|wo)nt\b"
    r"|\b(i)(m|ve)\b|\b(you|they|we)(ve)\b|\b(you|they)(re)\b|\b(that|there|what|who|here)(s)\b",
    re.IGNORECASE,
)
_SHORT_WORD = re.compile(r"\b(?:pls|plz)\b", re.IGNORECASE)


def spelled(text: str) -> str:
    """Gives a sentence with the apostrophes put back ("dont" → "don't"), outside of quotes and code.

    Args:
        text: one sentence as typed.
    """

    def put(m: re.Match[str]) -> str:
        if m[1]:
            return f"{m[1]}n't"
        stem, end = (part for part in m.groups()[1:] if part)
        return f"{stem}'{end}"

    parts = re.split(r"(`[^`]*`|\"[^\"]*\")", text)
    parts[::2] = [_SHORT_WORD.sub("please", _BARE.sub(put, part)) for part in parts[::2]]
    return "".join(parts)
