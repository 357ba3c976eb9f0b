"""Text that speaks to the model as its master would, or that a reader cannot see.

Memory is data, and must not smuggle orders in. Ordinary memory is full of imperatives ("Always run the
linter"), so an order is no finding. What counts is what no honest memory needs: orders about the reader's
own orders, text in the dress of a client's markup, secrecy towards the person, commands that carry secrets
away. Markup that is only named, in code within a line, is not counted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cached_property

from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.names import in_latin
from gitmem.core.text import find_invisible, line_at
from gitmem.rules.rule import Finding, Level, RuleFile, quote
from gitmem.values import dataclass

SHOWN = 5
"""Invisible characters that a finding names."""

_EMPHASIS = str.maketrans("", "", "*`~")
_NAMED = re.compile(r"(?<!`)`[^`\n]{1,80}`(?!`)")
_QUOTE = re.compile(r"^(?:[ \t]*>)+[ \t]?", re.MULTILINE)


@dataclass(frozen=True)
class Instruction:
    """One piece of text that addresses the model.

    Attributes:
        line: on which it begins, from 1.
        what: what it does, as a phrase for a person.
        text: the piece, in lower case and without emphasis; hostile text.
    """

    line: int
    what: str
    text: str
    level: Level = "error"


@dataclass(frozen=True)
class OrderPhrase:
    """One way to address a model: what it does, and how it is put.

    Attributes:
        source: a verbose regular expression.
    """

    what: str
    source: str
    level: Level = "error"

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """It, compiled: all of them take 20 ms, which most verbs need not spend."""
        return re.compile(self.source, re.MULTILINE | re.VERBOSE)


_ORDERS = r"(?:instructions?|prompts?|directives?|system\s+messages?|orders|guard-?rails)"
_PERSON = r"(?:the\s+)?(?:user|human|developer|operator|person)s?"
_READER = r"(?:ai|llm|language\s+model|assistant|agent|claude)s?"
_PRIVATE = r"""(?:secrets?|credentials?|api[ -]?keys?|(?:access|auth)\s+tokens?|passwords?
    |(?:ssh|private)\s+keys?
    |environment\s+variables?|env\s+vars?|\.env\b|/\.(?:ssh|aws)|id_rsa|system\s+prompt|conversation|transcript
    |chat\s+history)"""
_PRIVATE_FILE = r"""(?:\.env\b|\.ssh\b|id_rsa|id_ed25519|\.aws\b|\.netrc|\.npmrc|\.git-credentials
    |/etc/(?:passwd|shadow))"""
_NET = r"(?:curl|wget|nc|ncat|invoke-webrequest|iwr)"
_SHELL = r"(?:sudo\s+)?(?:ba|z|da)?sh\b"

_IGNORE = "tells the reader to ignore its instructions"
_ROLE = "gives the reader another role"
_POSE = "poses as orders to the reader"
_SECRECY = "asks for secrecy towards the person"
_CARRY = "would carry secrets away"

PHRASES = (
    OrderPhrase(
        _IGNORE,
        rf"""\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|override|bypass
        |(?:do\s+not|don['’]t)\s+(?:follow|obey)|stop\s+(?:following|obeying))\s+(?:\w+\s+){{0,3}}?
        (?:(?:previous|prior|above|earlier|preceding|foregoing|existing|current|initial|original)\s+
            (?:\w+\s+)?{_ORDERS}
        |your\s+(?:\w+\s+){{0,2}}(?:{_ORDERS}|rules|guidelines|training|programming|restrictions|safety)
        |(?:system|developer|safety)\s+(?:{_ORDERS}|rules|guidelines))\b""",
    ),
    OrderPhrase(
        _IGNORE,
        r"""\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget)\s+(?:all|everything|anything)\s+(?:of\s+)?
        (?:(?:that\s+)?(?:you\s+(?:were|have\s+been)|came)\s+(?:told|taught|instructed|before|above)
        |(?:the\s+)?(?:above|previous))\b""",
    ),
    OrderPhrase(
        _IGNORE,
        r"""\b(?:ignorier\w*\s+(?:alle\s+)?(?:vorherigen|bisherigen|vorigen)\s+(?:anweisungen|instruktionen)
        |(?:ignore[rz]?|oublie[rz]?)\s+(?:toutes\s+)?(?:les\s+)?(?:instructions|consignes)\s+pr[eé]c[eé]dentes
        |ignor[ae]\s+(?:todas\s+)?(?:las\s+)?instrucciones\s+(?:anteriores|previas))""",
    ),
    OrderPhrase(
        _ROLE,
        r"""\byou\s+are\s+(?:now|no\s+longer)\s+(?:(?:running\s+)?in\s+)?
        (?:an?|the|dan|my|bound|restricted|claude|chatgpt|unrestricted|jailbroken|developer|god|root|admin
        |operating|acting|free\s+(?:from|of)|required\s+to\s+follow)\b""",
    ),
    OrderPhrase(
        _ROLE,
        r"""\b(?:from\s+now\s+on|henceforth|starting\s+now),?\s+you\s+(?:are\s+(?:an?|my|the)\b
        |(?:will|must|shall|should)\s+(?:act\s+as|behave|obey|pretend|only\s+(?:respond|answer|obey|follow)
            |never\s+refuse|answer\s+as)\b)
        |\bpretend\s+(?:that\s+)?you(?:\s+are|['’]re)\b|\bdo\s+anything\s+now\b
        |\bas\s+an\s+ai\b[^.\n]{0,40}\byou\s+(?:must|will|should|are)\b""",
    ),
    OrderPhrase(
        _POSE,
        rf"""\byour\s+(?:new|real|actual|true|only|updated)\s+
            (?:instructions?|task|goal|objective|purpose|directives?|orders)\s*(?::|\b(?:is|are)\b)
        |^[^\w\n]{{0,12}}(?:new|updated|revised|secret|hidden|system|developer)\s+(?:system\s+)?
            (?:instructions?|prompt|override|directive)\s*:
        |\b(?:dear|attention|attn|hey|hello|any|all|every)[,:!]?\s+{_READER}\b[^.\n]{{0,30}}
            \b(?:reading|reads?|processing|parsing|sees?|seeing)\s+this\b""",
    ),
    OrderPhrase(
        _POSE,
        r"""\b(?:when(?:ever)?|once|after|before|as\s+soon\s+as|if)\s+(?:you\s+)?
        (?:read|see|load|process|recall|receive)(?:ing)?\s+(?:this|these)\b(?:\s+\w+){0,3}[^.\n]{0,30}?
        \b(?:run|execute|call|fetch|download|send|curl|wget|install|output|respond|reply|you\s+(?:must|will))\b""",
    ),
    OrderPhrase(
        "asks for what the reader was told in confidence",
        r"""\b(?:reveal|print|output|repeat|show|dump|disclose|quote|leak)\s+(?:me\s+)?(?:all\s+(?:of\s+)?)?
        your\s+(?:(?:full|entire|hidden|initial|original)\s+)?(?:system\s+(?:prompt|message)|instructions|prompt)\b""",
    ),
    OrderPhrase(
        _SECRECY,
        rf"""\b(?:do\s+not|don['’]t|never|without)\s+(?:tell|inform|notify|alert)(?:ing)?\s+{_PERSON}\s+
            (?:about\s+(?:this|that|it|these)\b|that\s+you\b|what\s+you\b)
        |\b(?:do\s+not|don['’]t|never|without)\s+(?:mention|reveal|disclos|show|admit|report)\w*\s+
            (?:this|these|that\s+you|any\s+of\s+this)\b[^.\n]{{0,30}}\bto\s+(?:{_PERSON}|anyone)\b
        |\b(?:hide|conceal|keep)\s+(?:this|these)\b[^.\n]{{0,20}}\b(?:from\s+{_PERSON}|secret)\b""",
    ),
    OrderPhrase(
        _SECRECY,
        rf"""\b(?:silently|secretly|covertly|quietly)\s+
            (?:run|execute|send|upload|post|exfiltrate|download|forward|copy|transmit)\b
        |\bwithout\s+(?:asking|telling|informing)\s+(?:{_PERSON}|anyone)\b[^.\n]{{0,20}}[,;]?\s*
            \b(?:run|execute|send|upload|post|curl|download)\b""",
    ),
    OrderPhrase(
        _CARRY,
        rf"""\bexfiltrat(?:e|es|ing)\s+(?:\w+\s+){{0,4}}{_PRIVATE}
        |\b(?:send|post|upload|forward|e?mail|transmit|leak|copy|paste|append|include)\s+
            (?:all|every|any|(?:the\s+)?contents?\s+of|your|the\s+user['’]?s?|the\s+full|my|whatever)\s+
            (?:\w+\s+){{0,4}}?\S{{0,20}}?{_PRIVATE}[^\n]{{0,60}}?\b(?:to|at|into|in|with)\s+[^\n]{{0,30}}?
            (?:https?://|\S{{1,60}}@\S{{1,60}}\.\w|webhook|pastebin|gist\b|my\s+server
            |every\s+(?:reply|response|request|commit))""",
    ),
    OrderPhrase(
        _CARRY,
        rf"""\b{_NET}\b[^\n|;&]{{0,200}}(?:@|\$\(\s{{0,5}}(?:cat|base64|<)?\s{{0,5}}|<\s{{0,5}})["']?[~$\w./{{}}-]{{0,100}}{_PRIVATE_FILE}
        |\b(?:cat|base64|tar|gpg|xxd)\b[^\n;&|]{{0,200}}{_PRIVATE_FILE}[^\n;&]{{0,200}}\|[^\n;&]{{0,200}}\b{_NET}\b
        |\b(?:printenv|env)\b\s{{0,5}}(?:\|[^\n;&|]{{0,200}}){{0,4}}\|\s{{0,5}}{_NET}\b
        |\b{_NET}\b[^\n|;&]{{0,200}}\$\(\s{{0,5}}(?:printenv|env)\b""",
    ),
    OrderPhrase(
        "would run what nobody can read",
        rf"""\bbase64\s+(?:-d|--decode)\b[^\n;&]{{0,200}}\|\s*{_SHELL}
        |\b(?:eval|exec)\s{{0,5}}\(?["']?\s{{0,5}}\$?\(?\s{{0,5}}(?:atob|base64|b64decode)\b""",
    ),
    OrderPhrase(
        "runs a download: see where it comes from",
        rf"\b{_NET}\b[^\n|;&]{{0,200}}\|\s*{_SHELL}",
        level="notice",
    ),
)
"""Imperatives that no honest memory needs. Emphasis and code marks are taken out of the text before.

Every repetition is bounded: text is hostile, and no search may take time that grows with its square.
"""

MARKUP = re.compile(
    r"""<\s{0,5}/?\s{0,5}(?:system[-_](?:reminder|prompt|message|instructions?)|function_(?:calls?|results?)
        |tool_(?:use|result|calls?|response)|antml:\w+|task-notification|local-command-\w+
        |command-(?:name|message|args)|user-prompt-submit-hook)\b[^<>\n]{0,200}>
    |</\s*system\s*>|^[ \t]*<\s*system\s*>|<\s*invoke\s+name\s*=
    |<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|start_header_id|end_header_id|eot_id)\|>
    |\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>
    |^\#{1,6}[ \t]*(?:system|developer)[ \t]+(?:prompt|message|instructions?|override)[ \t]*:?[ \t]*$
    |"type"\s*:\s*"tool_(?:use|result)"
    |^(?:human|assistant):[ \t]+\S""",
    re.MULTILINE | re.VERBOSE,
)
"""The dress of a client's or a model's own markup, in which others' text must not come."""


def find_instructions(text: str) -> Iterator[Instruction]:
    """Finds text that addresses the model: one for each line and kind."""
    whole = _as_read(text)
    spoken = whole.translate(_EMPHASIS)
    told: set[tuple[int, str]] = set()
    for phrase in PHRASES:
        for match in phrase.pattern.finditer(spoken):
            line = line_at(spoken, match.start())
            if (line, phrase.what) not in told:
                told.add((line, phrase.what))
                yield Instruction(line, phrase.what, match[0], phrase.level)
    shown = _NAMED.sub(lambda match: " " * len(match[0]), whole)
    for match in MARKUP.finditer(shown):
        line = line_at(shown, match.start())
        yield Instruction(line, "poses as the client's own markup", match[0])


def judge_instructions(text: RuleFile) -> Iterator[Finding]:
    """Finds text that addresses the model: one finding for each line and kind."""
    for found in find_instructions(text.text) if len(text.data) <= MEMORY_BYTES else ():
        what = f"{found.what}: {quote(found.text)}"
        yield Finding(text.path, found.line, "instruction", what, found.level)


def judge_hidden(text: RuleFile) -> Iterator[Finding]:
    """Finds bytes that are not UTF-8, and invisible or bidirectional characters: one finding a line."""
    try:
        text.data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = text.data.count(b"\n", 0, error.start) + 1
        yield Finding(text.path, line, "encoding", "is not UTF-8 text")
    if text.kind == "host" and b"\0" in text.data:
        return
    lines: dict[int, list[str]] = {}
    # A byte that is not UTF-8 was told already.
    for found in find_invisible(text.data.decode("utf-8", "replace").removeprefix("\ufeff")):
        lines.setdefault(found.line, []).append(f"{found.code} {found.name}")
    for line, names in lines.items():
        several = list(dict.fromkeys(names))
        more = f" and {len(several) - SHOWN} more kinds" if len(several) > SHOWN else ""
        what = f"holds what nobody can see: {', '.join(several[:SHOWN])}{more}"
        yield Finding(text.path, line, "invisible", what)


def _as_read(text: str) -> str:
    """The text as a model reads it: look-alikes, quotation marks of mail and what is hidden taken out.

    Lines stay where they are.
    """
    if not text.isascii():
        hidden = {found.offset for found in find_invisible(text)}
        if hidden:
            text = "".join(char for at, char in enumerate(text) if at not in hidden)
        text = in_latin(unicodedata.normalize("NFKC", text))
    return _QUOTE.sub("", text.lower())
