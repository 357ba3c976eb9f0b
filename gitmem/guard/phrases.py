"""Expressions for text that addresses a model; see `instructions` for what counts and why.

All of them run over lower-cased text, so that none has to ignore case: that would cost four times as much.
"""

from __future__ import annotations

import re
from typing import Literal

from gitmem.values import dataclass

Level = Literal["error", "notice"]
"""How grave it is: an `error` is refused, a `notice` shown."""


@dataclass(frozen=True)
class Phrase:
    """One way to address a model: what it does, and how it is put."""

    what: str
    pattern: re.Pattern[str]
    level: Level = "error"


def _phrase(what: str, pattern: str, level: Level = "error") -> Phrase:
    return Phrase(what, re.compile(pattern, re.MULTILINE | re.VERBOSE), level)


_ORDERS = r"(?:instructions?|prompts?|directives?|system\s+messages?|orders|guard-?rails)"
_PERSON = r"(?:the\s+)?(?:user|human|developer|operator|person)s?"
_READER = r"(?:ai|llm|language\s+model|assistant|agent|claude)s?"
_PRIVATE = r"""(?:secrets?|credentials?|api[ -]?keys?|(?:access|auth)\s+tokens?|passwords?
    |(?:ssh|private)\s+keys?
    |environment\s+variables?|env\s+vars?|\.env\b|~/\.(?:ssh|aws)|id_rsa|system\s+prompt|conversation|transcript
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
    _phrase(
        _IGNORE,
        rf"""\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|override|bypass
        |(?:do\s+not|don['’]t)\s+(?:follow|obey)|stop\s+(?:following|obeying))\s+(?:\w+\s+){{0,3}}?
        (?:(?:previous|prior|above|earlier|preceding|foregoing|existing|current|initial|original)\s+
            (?:\w+\s+)?{_ORDERS}
        |your\s+(?:\w+\s+){{0,2}}(?:{_ORDERS}|rules|guidelines|training|programming|restrictions|safety)
        |(?:system|developer|safety)\s+(?:{_ORDERS}|rules|guidelines))\b""",
    ),
    _phrase(
        _IGNORE,
        r"""\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget)\s+(?:all|everything|anything)\s+(?:of\s+)?
        (?:(?:that\s+)?(?:you\s+(?:were|have\s+been)|came)\s+(?:told|taught|instructed|before|above)
        |(?:the\s+)?(?:above|previous))\b""",
    ),
    _phrase(
        _IGNORE,
        r"""\b(?:ignorier\w*\s+(?:alle\s+)?(?:vorherigen|bisherigen|vorigen)\s+(?:anweisungen|instruktionen)
        |(?:ignore[rz]?|oublie[rz]?)\s+(?:toutes\s+)?(?:les\s+)?(?:instructions|consignes)\s+pr[eé]c[eé]dentes
        |ignor[ae]\s+(?:todas\s+)?(?:las\s+)?instrucciones\s+(?:anteriores|previas))""",
    ),
    _phrase(
        _ROLE,
        r"""\byou\s+are\s+(?:now|no\s+longer)\s+(?:(?:running\s+)?in\s+)?
        (?:an?|the|dan|my|bound|restricted|claude|chatgpt|unrestricted|jailbroken|developer|god|root|admin
        |operating|acting|free\s+(?:from|of)|required\s+to\s+follow)\b""",
    ),
    _phrase(
        _ROLE,
        r"""\b(?:from\s+now\s+on|henceforth|starting\s+now),?\s+you\s+(?:are\s+(?:an?|my|the)\b
        |(?:will|must|shall|should)\s+(?:act\s+as|behave|obey|pretend|only\s+(?:respond|answer|obey|follow)
            |never\s+refuse|answer\s+as)\b)
        |\bpretend\s+(?:that\s+)?you(?:\s+are|['’]re)\b|\bdo\s+anything\s+now\b
        |\bas\s+an\s+ai\b[^.\n]{0,40}\byou\s+(?:must|will|should|are)\b""",
    ),
    _phrase(
        _POSE,
        rf"""\byour\s+(?:new|real|actual|true|only|updated)\s+
            (?:instructions?|task|goal|objective|purpose|directives?|orders)\s*(?::|\b(?:is|are)\b)
        |^[^\w\n]{{0,12}}(?:new|updated|revised|secret|hidden|system|developer)\s+(?:system\s+)?
            (?:instructions?|prompt|override|directive)\s*:
        |\b(?:dear|attention|attn|hey|hello|any|all|every)[,:!]?\s+{_READER}\b[^.\n]{{0,30}}
            \b(?:reading|reads?|processing|parsing|sees?|seeing)\s+this\b""",
    ),
    _phrase(
        _POSE,
        r"""\b(?:when(?:ever)?|once|after|before|as\s+soon\s+as|if)\s+(?:you\s+)?
        (?:read|see|load|process|recall|receive)(?:ing)?\s+(?:this|these)\b(?:\s+\w+){0,3}[^.\n]{0,30}?
        \b(?:run|execute|call|fetch|download|send|curl|wget|install|output|respond|reply|you\s+(?:must|will))\b""",
    ),
    _phrase(
        "asks for what the reader was told in confidence",
        r"""\b(?:reveal|print|output|repeat|show|dump|disclose|quote|leak)\s+(?:me\s+)?(?:all\s+(?:of\s+)?)?
        your\s+(?:(?:full|entire|hidden|initial|original)\s+)?(?:system\s+(?:prompt|message)|instructions|prompt)\b""",
    ),
    _phrase(
        _SECRECY,
        rf"""\b(?:do\s+not|don['’]t|never|without)\s+(?:tell|inform|notify|alert)(?:ing)?\s+{_PERSON}\s+
            (?:about\s+(?:this|that|it|these)\b|that\s+you\b|what\s+you\b)
        |\b(?:do\s+not|don['’]t|never|without)\s+(?:mention|reveal|disclos|show|admit|report)\w*\s+
            (?:this|these|that\s+you|any\s+of\s+this)\b[^.\n]{{0,30}}\bto\s+(?:{_PERSON}|anyone)\b
        |\b(?:hide|conceal|keep)\s+(?:this|these)\b[^.\n]{{0,20}}\b(?:from\s+{_PERSON}|secret)\b""",
    ),
    _phrase(
        _SECRECY,
        rf"""\b(?:silently|secretly|covertly|quietly)\s+
            (?:run|execute|send|upload|post|exfiltrate|download|forward|copy|transmit)\b
        |\bwithout\s+(?:asking|telling|informing)\s+(?:{_PERSON}|anyone)\b[^.\n]{{0,20}}[,;]?\s*
            \b(?:run|execute|send|upload|post|curl|download)\b""",
    ),
    _phrase(
        _CARRY,
        rf"""\bexfiltrat(?:e|es|ing)\s+(?:\w+\s+){{0,4}}{_PRIVATE}
        |\b(?:send|post|upload|forward|e?mail|transmit|leak|copy|paste|append|include)\s+
            (?:all|every|any|(?:the\s+)?contents?\s+of|your|the\s+user['’]?s?|the\s+full|my|whatever)\s+
            (?:\w+\s+){{0,4}}?\S{{0,20}}?{_PRIVATE}[^\n]{{0,60}}?\b(?:to|at|into|in|with)\s+[^\n]{{0,30}}?
            (?:https?://|\S{{1,60}}@\S{{1,60}}\.\w|webhook|pastebin|gist\b|my\s+server
            |every\s+(?:reply|response|request|commit))""",
    ),
    _phrase(
        _CARRY,
        rf"""\b{_NET}\b[^\n|;&]{{0,200}}(?:@|\$\(\s{{0,5}}(?:cat|base64|<)?\s{{0,5}}|<\s{{0,5}})["']?[~$\w./{{}}-]{{0,100}}{_PRIVATE_FILE}
        |\b(?:cat|base64|tar|gpg|xxd)\b[^\n;&|]{{0,200}}{_PRIVATE_FILE}[^\n;&]{{0,200}}\|[^\n;&]{{0,200}}\b{_NET}\b
        |\b(?:printenv|env)\b\s{{0,5}}(?:\|[^\n;&|]{{0,200}}){{0,4}}\|\s{{0,5}}{_NET}\b
        |\b{_NET}\b[^\n|;&]{{0,200}}\$\(\s{{0,5}}(?:printenv|env)\b""",
    ),
    _phrase(
        "would run what nobody can read",
        rf"""\bbase64\s+(?:-d|--decode)\b[^\n;&]{{0,200}}\|\s*{_SHELL}
        |\b(?:eval|exec)\s{{0,5}}\(?["']?\s{{0,5}}\$?\(?\s{{0,5}}(?:atob|base64|b64decode)\b""",
    ),
    _phrase(
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
