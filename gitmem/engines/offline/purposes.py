"""The ways in which people tell what a product is for, what matters in it, and where the work runs."""

from __future__ import annotations

import re

from gitmem.core.change import MemoryType
from gitmem.engines.offline.signals import Signal
from gitmem.engines.offline.vocabulary import PRODUCT, START

GOAL_LABEL = "a goal"
CLEAR_LABEL = "a clarification"

_POINTING = r"(?:this|that|these|those|it|them|the following)"
_ARTICLE = r"(?:the|an?|one|two|three|another|more|some|your|my|both|option)"
_ENVIRONMENT = (
    r"(?:machine|container|devcontainer|docker|vm|virtual machine|server|box|laptop|sandbox|wsl|cluster"
    r"|desktop|raspberry pi|host|linux|mac|macos|windows|ubuntu|debian|fedora|nixos)"
)
# What a thing turned out to be is praise or blame; what it is says a noun.
_BLAME = (
    r"(?:mess|bit|little|lot|disaster|pain|joke|problem|good|great|bad|nice|huge|big|failure|success|better"
    r"|worse|new|different|separate|similar|same|partially|existing|finished|working|broken|complete)"
)
_QUALITY = (
    r"(?:able|compatible|accessible|usable|deterministic|fast|secure|safe|idempotent|reproducible"
    r"|self-contained|standalone|portable|backwards?|readable|maintainable|simple|small|lightweight|generic"
    r"|configurable|extensible|testable)"
)
# An aim of the next hour is a task, whatever it is called.
_TASK_AIM = (
    r"(?: (?:just|only|simply|now))* to (?:just )?(?:check|confirm|complete|fix|find|finish|see|test|verify"
    r"|get|figure|read|understand|reach|move|remove|rename|add|update)\b"
)


def _signal(label: str, pattern: str, kind: MemoryType, confidence: float, *, weak: bool = False) -> Signal:
    return Signal(label, re.compile(pattern), kind, confidence, "weak" if weak else "strong")


PURPOSES: tuple[Signal, ...] = (
    _signal(
        "what it is",
        rf"^(?:this is|it(?:'s| is)(?= (?:just |only )?an? (?:[\w-]+ )?(?:monorepo|fork|wrapper|port"
        rf"|rewrite)\b)) (?:just |only |basically |still |meant to be "
        rf"|supposed to be )*an? (?!{_BLAME}\b)"
        rf"(?:[\w-]+ ){{0,3}}(?:{PRODUCT}|monorepo|fork|wrapper|port|rewrite|template|demo|toy)\b(?! (?:i"
        f"|we|that|which|where|issue|problem"
        r"|bug|error|thing|file|change|test|name|id))",
        "project",
        0.5,
    ),
    _signal(
        "what it has to do",
        rf"\b(?:it|this|everything|(?:the|our) (?:\w+ )?{PRODUCT}) should (?:also |still |always "
        f"|be able to )*(?:work|run"
        r"|be usable|function) (?:without|offline|on|across|with|under|behind)\b(?!.*\b(?:too|as well"
        r"|again|now)\b)"
        rf"|\b(?:i|we) want to (?:keep|avoid|support|preserve|maintain|minimi[sz]e|encourage|allow|prevent"
        rf"|make it (?:easy|possible|hard|simple)|stay|remain|be able to) (?!{_POINTING}\b)[a-z]",
        "project",
        0.5,
    ),
    _signal(
        "how the team is",
        r"\b(?:nobody|no one|everyone|everybody|most people|half|none|all) (?:of |on |in )(?:us|(?:the"
        r"|our|my)"
        r" (?:\w+ )?(?:team|company|group|office|department))\b \w+"
        r"|\bwe have (?:about |around |over |only |roughly |nearly |~)*(?:\d[\w.,]*|two|three|four|five"
        r"|ten|dozens of"
        r"|hundreds of|thousands of) (?:\w+ )?(?:engineers|developers|devs|people|employees|teams"
        r"|services|servers"
        r"|instances|repos|repositories|stores|sites|offices|plugins|integrations)\b"
        rf"|{START}our (?:[\w-]+ )?[\w-]+ (?:takes?|costs?|lasts?|serves?|depends?|relies|consists?"
        rf"|covers?|handles?) \w+",
        "project",
        0.5,
    ),
    _signal(
        GOAL_LABEL,
        r"\b(?:the|our|one|another) (?:\w+ ){0,2}(?:goal|aim|purpose|intention|objective|philosophy|vision"
        r"|mission|priority|priorities)(?: (?:here|of|for|behind|with) (?!(?:this|that|these|those)\b)"
        rf"[^,.;:]{{1,60}}?)? (?:is|are)\b(?!{_TASK_AIM})(?! (?:done|clear|unclear|fine|missing|the same"
        f"|that$"
        r"|this|these|those|it|them|the following)\b)"
        r"|\b(?:this|the|our) (?:\w+ )?(?:idea|point) (?:of|behind) (?:the|our|this) (?:\w+ )?"
        rf"{PRODUCT} is\b",
        "project",
        0.6,
    ),
    _signal(
        "what matters",
        rf"^(?:please )?(?:always )?(?:prioriti[sz]e|optimi[sz]e for|favou?r|err on the side of|strive for)"
        rf" (?!{_POINTING}\b|{_ARTICLE}\b)[a-z]"
        r"|\b(?:i|we) care (?:more|most|a lot|deeply|mainly|mostly|only)\b"
        rf"|{START}(?!(?:it|this|that|what|which|these|those|there|here|one|the (?:next|first|last))\b)"
        r"(?:the |our )?[a-z][\w'/-]*(?: [\w'/-]+){0,4} (?:is|are) (?:also |very |really |super |extremely"
        r" |more |most |always )*(?:an? |the )?(?:very |really |most |top )?(?:important|essential|critical"
        r"|crucial|non-negotiable|priority|must-have)\b(?! (?:here )?(?:to (?:fix|check|read|know)))",
        "project",
        0.55,
    ),
    _signal(
        "what it is to be",
        rf"{START}we (?:really |just )?(?:only )?want (?!{_POINTING}\b|{_ARTICLE}\b|to\b|you\b|all\b|any\b)"
        rf"[a-z]|{START}we only want\b"
        rf"|{START}(?:i|we)(?: really| just| mostly)? want (?:it|everything|users?|people|(?:the|our|this)"
        rf" (?:\w+ )?{PRODUCT}) to (?:feel|behave|act|read|just work|always|never|only|remain|stay"
        rf"|be (?:as \w+ as|like|{_QUALITY}))\b"
        r"|\b(?:i|we) (?:don't|do not|never) want (?:the|our|any|users?|people|anyone|anybody) [^,.;]*?\bto"
        r" (?!be (?:fixed|changed|here)\b)[a-z]+"
        rf"|\b(?:it|everything|(?:the|our|this) (?:\w+ )?{PRODUCT}) (?:also )?(?:has to|needs to|must)"
        r" (?:also |always )?(?:respect|follow|comply|obey|adhere|stick to|conform|remain|fit|be"
        rf" {_QUALITY})\b",
        "project",
        0.5,
    ),
    _signal(
        "what it is",
        rf"^(?:right now,? |currently,? )?(?:this|the|our|my) (?:[\w-]+ )?{PRODUCT}(?:'s| is| will be)"
        r" (?:actually |only |just |mainly |mostly |primarily |really |basically |also |going to be )*"
        rf"(?:an? (?!{_BLAME}\b)[a-z]|about|based on|part of|for (?!now\b|{_POINTING}\b)|intended|meant"
        f"|designed (?:for|to)|aimed"
        r"|targeted|written for|(?:be )?run\b|hosted|deployed|used (?:by|for|in|on)|maintained|internal"
        r"|public"
        r"|open[- ]source|closed[- ]source|private)"
        rf"|\b(?:this|the|our) {PRODUCT} is (?:only |mainly |mostly |primarily )*(?:intended|meant"
        f"|designed)"
        r" (?:for|to be)\b",
        "project",
        0.55,
    ),
    _signal(
        "what it is",
        r"\b(?:that|this|it|which)(?:'s| is) (?:our|my) (?!fault|mistake|bad\b|point|question|concern"
        r"|goal|plan\b|idea"
        r"|first|last|next|only|problem|guess|understanding|turn|preference|favou?rite)[a-z]"
        r"|\b(?:is|are|will be) (?:the|our|my) (?:main|primary|principal|most important) (?!one\b"
        "|problem|issue|thing"
        r"|difference|reason|error|question|cause|concern)\w+"
        r"|\b(?:is|was|are) (?:partially |partly |largely |loosely |mostly )?based on (?:my|our)\b"
        r"|\b(?:i'm|i am|we're|we are) trying to (?:keep|avoid|(?:build|make|create|have) an?)\b",
        "project",
        0.5,
    ),
    _signal(
        "how the person works",
        r"\bi (?:will |'ll )?personally\b(?! (?:think|feel|prefer|find|like|would|believe))"
        r"|\bi (?:don't|do not|barely|hardly) (?:really )?know (?!if\b|what|how|why|where|when|whether"
        r"|which|that|this"
        r"|about|the\b|it\b)[^.;,?]{1,40}\b(?:well|much|at all|a (?:bit|little))\b",
        "user",
        0.55,
    ),
    _signal(
        "where the work runs",
        r"\byou(?:'re| are) (?:currently |now |actually |already )*(?:on|running (?:on|in|inside|under)"
        r"|inside"
        rf"|working (?:on|in)) (?:an? |my |the )?(?:[\w.-]+ ){{0,3}}{_ENVIRONMENT}\b"
        r"|\byou (?:don't |do not |won't |only )?have (?:no |full |read-only |read |write )*(?:access to"
        r" (?!the (?:file|code|output|log)|this|that|it\b)|sudo|root|internet)",
        "project",
        0.55,
    ),
    _signal(
        "a decision",
        r"\bi(?:'ve| have)? (?:now |finally )?decided (?:to|that|on|against|not to)\b",
        "project",
        0.55,
    ),
    _signal(
        "what does not matter",
        r"\b(?:i|we) (?:don't|do not) (?:really |actually )?care (?:about|for) (?!this\b|that\b|it\b"
        r"|those\b|these\b)"
        r"|\bwe can (?:safely |always |just )?(?:assume|rely on|break|ignore|drop support)\b(?! (?:this"
        r"|that|it)\b)"
        rf"|{START}(?!(?:it|this|that|what|which|these|those)\b)[a-z][\w'/-]*(?: [\w'/-]+){{0,4}} (?:is"
        f"|are)"
        r" (?:a non-goal|not (?:a|our) (?:goal|priority|concern)|not important|low priority)\b"
        r"|\bwe(?:'re| are) (?:still |stuck )?on [a-z][a-z.+#]* ?v?\d",
        "project",
        0.5,
    ),
    _signal(
        "what matters",
        r"\bit(?:'s| is) (?:very |really |super |extremely )?(?:important|crucial|critical|essential"
        r"|vital|key)"
        r" (?:that|for us|to us|to (?!fix|check|read|know|see|note|understand|test)[a-z])",
        "feedback",
        0.55,
    ),
    _signal(
        "who uses it",
        rf"{START}(?:end[- ])?users (?:can't|cannot|don't|never|only)\b"
        r"|\bi(?:'m| am) the only (?:one|person|user|developer|dev|maintainer|contributor)\b(?! (?:in|on"
        r" this|left))",
        "project",
        0.5,
    ),
)

MANNERS: tuple[Signal, ...] = (
    _signal(
        "what goes before what",
        r"\b(?:matters?|counts?|weighs?) more (?:to (?:me|us) )?than\b|\b(?:is|are) (?:far |much "
        r"|way )?more important"
        r" than\b",
        "feedback",
        0.55,
    ),
    _signal(
        "a way to work",
        rf"^(?:please )?(?:prefer|avoid|minimi[sz]e) (?!{_POINTING}\b|{_ARTICLE}\b|option\b)[a-z]"
        rf"|{START}let's (?:not|never|avoid|only|always) (?!{_POINTING}\b|worry|forget|go|get|do\b|start"
        f"|continue|move"
        r"|focus|look|run|try|wait)[a-z]+",
        "feedback",
        0.5,
        weak=True,
    ),
    _signal(
        "what is not to be touched",
        r"\b(?:is|are) (?:auto-?|code-?|auto |code )?generated(?: (?:code|files?))?,? (?:so "
        r"|and )?(?:please )?(?:never"
        r"|don't|do not)\b",
        "feedback",
        0.6,
    ),
    _signal(
        "where things go",
        rf"^(?:all |our |the )?(?!{_POINTING}\b)[a-z-]+(?: [a-z-]+)?(?<!s)s (?:always )?(?:live|belong|go"
        f"|sit|stay)"
        r" (?:in|to|under|next to|beside|alongside|with|into|together)\b",
        "feedback",
        0.5,
        weak=True,
    ),
    _signal(
        "a principle",
        r"\b(?:principle|convention|guideline|constraint|restriction|ground rule|rule of thumb|hard rule)s?"
        r"(?: (?:for|of|in) [^,.;:]{1,40})?: (?!$)\w+",
        "feedback",
        0.6,
    ),
    _signal(
        "a rule of how work is done",
        r"\b(?:commit|push|pause|stop|ask|test|update|document|report|tell|show|check|verify|summari[sz]e"
        r"|log|explain"
        r"|wait|confirm|review|lint)\b[^.;]{0,40}\b(?:after|at|before|once) (?:you \w+ |we \w+ )?(?:each"
        r"|every)"
        r" (?!of (?:the|these|those)\b)\w+"
        rf"|{START}(?:the |all |our )?(?:development|testing|workflow|process|all code) (?:should|must"
        f"|has to|needs to)"
        r" be\b"
        r"|^(?:please )?keep (?:the |our |your )?[a-z]+(?:,? (?:and )?[a-z]+){0,2} (?:separate|separated"
        r"|modular|simple"
        r"|small|clean|readable|dry|minimal|consistent|independent|stable|secure|testable|maintainable"
        r"|in sync"
        r"|decoupled|up to date)\b"
        rf"|^(?:all |our |the )?(?!{_POINTING}\b|we\b|you\b|they\b)[\w -]{{3,50}}s never (?!see|get|seem"
        f"|been|had)"
        r"[a-z]+(?<!ed)(?<!s)\b",
        "feedback",
        0.55,
    ),
    _signal(
        "a rule of how work is done",
        r"\bcommit(?:ting|s)? (?:your |the |all |our )?(?:changes? |work |code )?(?:often|frequently|early"
        r"|regularly|as (?:you|we) go|(?:after|as|once|when|with) (?:each|every)\b)"
        r"|\b(?:frequent|small|atomic|meaningful|granular|regular)(?:,? (?:and )?(?:frequent|small|atomic"
        r"|meaningful|granular|regular))* commits\b",
        "feedback",
        0.6,
    ),
    _signal(
        "what must not be",
        r"\bwe (?:really )?(?:shouldn't|should not|must not|mustn't|don't want to|do not want to"
        r"|never want to)"
        r" (?!be able|forget|worry|see\b|look\b)[a-z]+"
        rf"|^(?:and |but |also )?(?:all |any |our )?(?!{_POINTING}\b|{_ARTICLE}\b|things\b|we\b|you\b"
        rf"|they\b)"
        r"[a-z][\w-]*(?: [\w-]+){0,2}s (?:should|must|may|can) never\b",
        "feedback",
        0.5,
        weak=True,
    ),
    _signal(
        "how something is run",
        rf"{START}(?:use|run) ¤+ (?:to|for|when) (?:you )?(?:run|test|build|lint|start|format|deploy"
        f"|check|generate"
        r"|install|releas|compil|migrat|typecheck|commit)\w*"
        r"|\b(?:run|start|build|lint|format|test|deploy|execute) (?:the |our |all |your )?(?:unit "
        r"|integration )?"
        r"(?:tests?|linters?|formatter|app|server|project|suite|everything|stack) (?:with|using|via"
        r"|through|by"
        r" running) ¤",
        "feedback",
        0.5,
    ),
    _signal(
        CLEAR_LABEL,
        r"^(?:just )?(?:(?:very )?important|note|to be (?:very |super )?clear|to clarify|importantly"
        r"|crucially|for the record"
        r"|(?:again, )?(?:as|like) i(?:'ve| have)? (?:already )?(?:said|mentioned|told you)[^,:]{0,30}"
        r"|i(?:'ve| have)? (?:already )?(?:said|mentioned|told you)(?: this| that| it)? (?:many|several"
        r"|multiple|a few|so many|two|three|\d+) times)[,:—–-]* ",
        "feedback",
        0.5,
        weak=True,
    ),
    _signal(
        "a way to work",
        rf"^(?:please )?use (?!{_POINTING}\b|{_ARTICLE}\b)[^.;]+?,? (?:so that|because|since|as (?:we|it"
        f"|they"
        r"|i|our))\b"
        r"|^(?:as|since|because) [^.;]{8,80}, (?:please )?(?:do not|don't|never|always) [a-z]+",
        "feedback",
        0.5,
        weak=True,
    ),
)
"""What people say of a product, and of how they want it made. On masked lower-case sentences."""
