"""What a person typed, without what they pasted: code, logs, quotes, reviews, markup."""

from __future__ import annotations

import re

# Beyond this a message is mostly pasted: only its first and last paragraph can be the person's own
# words, and only when they are short.
LONG_MESSAGE = 1_800
OWN_PARAGRAPH = 600
# A line as long as this was wrapped by a program, or never.
LONG_LINE = 1_000

DOCUMENT_HEADINGS = 2
"""Markdown headings from which a message is a document."""

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.M | re.S)
_BLOCK_TAG = re.compile(r"<([A-Za-z][\w.-]*)(?:\s[^<>]*)?>.*?(?:</\1>|\Z)", re.S)
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
# What goes on below a line of a copied screen.
_INDENTED = re.compile(r"^ {3,}\S")
_SLASH = re.compile(r"^\s*/[\w:-]+(?:\s|$)")


def _line_is_pasted(line: str) -> bool:
    if _PASTED_LINE.match(line) or len(line) > LONG_LINE:
        return True
    indented = line.startswith(("    ", "\t"))
    if _CODE_LINE.search(line):
        return indented or len(line.split()) < 6
    letters = sum(c.isalpha() or c.isspace() for c in line)
    return bool(line.strip()) and letters < 0.6 * len(line)


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
    headings = list(_HEADING.finditer(text))
    if len(headings) >= DOCUMENT_HEADINGS:
        # A plan or a document: what the person says of it goes before.
        text = text[: headings[0].start()]
    found: list[tuple[str, ...]] = []
    own: list[str] = []
    pasted = 0
    for line in [*text.split("\n"), ""]:
        if not line.strip():
            if own:
                found.append(tuple(own))
                own = []
            continue
        if _line_is_pasted(line) or (pasted and not own and _INDENTED.match(line)):
            pasted += 1
            continue
        own.append(line.strip())
        if _INTRODUCES_PASTE.search(line):
            found.append(tuple(own))
            own = []
            break
    if pasted > 3 and pasted > sum(len(p) for p in found):
        # What is left of a log after its tell-tale lines are gone is still a log.
        found = [p for p in found if len(p) <= 2]
    if sum(len(line) for p in found for line in p) > LONG_MESSAGE:
        ends = found[:1] + (found[-1:] if len(found) > 1 else [])
        found = [p for p in ends if sum(map(len, p)) <= OWN_PARAGRAPH]
    return tuple(found)
