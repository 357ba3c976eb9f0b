"""The ways in which people tell in passing what is so: of the project, of its work, of themselves."""

from __future__ import annotations

import re

from gitmem.engines.offline.languages import OTHER_LANGUAGES
from gitmem.engines.offline.purposes import MANNERS, PURPOSES
from gitmem.engines.offline.signals import Signal
from gitmem.engines.offline.vocabulary import PLACE, PRACTICE, ROLE, START, WEEKDAY

FACT_LABEL = "a fact about the project"
USED_LABEL = "what is used here"
WANTED_LABEL = "what is wanted, or not"
RULE_LABEL = "a rule of how work is done"
INSTEAD_LABEL = "one thing instead of another"

_NOBODY = r"(?:no ?body|no ?one)"
_USERS = (
    r"(?:users?|customers?|clients?|tenants?|teams?|compan(?:y|ies)|people|readers?|players?|students?)"
)
_PRODUCT = r"(?:app|product|tool|site|service|project|library|package|cli|plugin|repo|extension|game)"
_KIND = (
    r"(?:prototype|poc|proof of concept|mvp|side project|hobby project|internal tool|open[- ]source"
    r"|toy|experiment|demo app|saas)"
)
# What a team does each time it works, and what its product is run with and for.
_PRACTISES = (
    r"(?:squash|rebase|follow|version|tag|pin|vendor|rotate|audit|lint|backport|cherry-pick|translate"
    r"|locali[sz]e"
    r"|merge only|only merge|roll out|stick to|practi[sc]e|do (?:tdd|trunk|pair|code reviews?)"
    r"|test (?:on|with|in"
    r"|against)|review|document|release)"
)
_RUNS = (
    r"(?:deploy|support|target|host|ship|publish|bill|charge|sell|pay|serve|monitor|rely on|depend on"
    r"|work (?:with|in|on)|run (?:on|in|everything|all)|maintain|own|operate)"
)
_OBJECT = r"(?!the\b|an?\b|it\b|this\b|that\b|these\b|those\b|them\b)[\w#.+`¤-]+"
_WE = rf"{START}(?:and |but |here )?we (?:only |still |also |just |currently |mostly )?"
_WHERE = (
    r"(?:live|live on|documented|described|hosted|deployed|available|reachable|tracked|kept|published"
    r"|defined|specified|stored|managed)"
)


def _signal(label: str, pattern: str, kind: str, confidence: float, *, weak: bool = False) -> Signal:
    return Signal(label, re.compile(pattern), kind, confidence, "weak" if weak else "strong")  # type: ignore[arg-type]


RULES: tuple[Signal, ...] = (
    _signal(
        RULE_LABEL,
        rf"^(?:(?:and|but|also|please|all|our|your|new|the) )*(?:[a-z]+ )?{PRACTICE}(?: [a-z]+)?"
        r"(?: (?:that|which|with|of) [^,.;]{1,40}?)?"
        r" (?:should|shouldn't|must|mustn't|have to|need to|may not|can't|are to|never|always"
        r"|are always"
        r"|are never|don't|do not|go (?:in|to|under|through|via))\b"
        r"(?!.*\b(?:them|it)\b)"
        r"|^(?!the\b|these\b|those\b|they\b|we\b|you\b|there\b|things\b"
        r"|both\b)[a-z]+(?: [a-z]+)? are (?:always"
        r"|never) (?!the same|on top|empty)\w+"
        r"|, (?:but )?never (?:in|into|on|to|with|from|the|an?|as|via|by)\b"
        r"|\b(?:one|a single) [\w -]+ (?:per|at a time)\b"
        r"|\bno [\w -]+ (?:in (?:this|our|the) (?:repo|repository|project|codebase|code base|code|docs"
        r"|ui)"
        r"|,? ever|anywhere|whatsoever)\b"
        r"|\bno (?!need\b|idea\b|worries|problem|thanks|longer|way\b|matter)[\w' -]+ (?:please|pls)\b"
        r"|\b(?:that|this)(?:'s| is) (?:how|the way) we (?:do|work|write|name|handle|test|build)\b"
        r"|\b(?:is|are) (?:the|our) (?:single )?source of truth\b"
        r"|\bin [a-z ]{2,20} we (?:always|never|only)\b"
        rf"|{_WE}{_PRACTISES} {_OBJECT}"
        r"|\bour (?:\w+ )?(?:style|convention|rule|policy|standard|practice|habit|way) is\b"
        r"|\b(?:is|are) off[- ]limits\b|\bleave [^,.;]+ alone\b"
        r"|^(?:please )?(?:write|keep|format|name|prefix|phrase) (?:all |your |my )?(?:commits?"
        r"|commit messages|prs?"
        r"|pr (?:titles|descriptions)|branches|changelogs?|changelog entries|comments|doc ?strings"
        r"|errors"
        r"|error messages) (?!for\b|about\b|to (?:the|this)\b)\w+"
        r"|\b(?:i|we) never (?:ever )?want\b"
        r"|^[\w':/ -]{3,40},? (?:everywhere|throughout|across the (?:codebase|repo"
        r"|board))(?: please)?[.!]*$",
        "feedback",
        0.6,
    ),
    _signal(
        "what the agent may do by itself",
        r"\byou (?:don't|do not|needn't) (?:have to |need to )?(?:ask|wait for|check with) (?:me|my"
        r"|for)\b"
        r"|\bno need to (?:ask|wait for) (?:me|my|for)\b|\bdecide (?:it |that )?(?:by )?yourself\b"
        r"|\b(?:do )?ask (?:me )?before (?:you )?(?!that|this|it\b)\w+|\bis (?:mine|my job)\b"
        r"|\b(?:ask|talk to|check with) (?!me\b|the\b|it\b|him\b|her\b|them\b)\w+ (?:first|before)\b",
        "feedback",
        0.6,
    ),
    _signal(
        "how to answer",
        r"\b(?:be|keep it|make it|stay) (?:more |very )?(?:concise|brief|terse|less verbose)\b"
        r"|\b(?:don't|do not|stop|you) (?:explain|talk|write|apologi[sz]\w+|summari[sz]\w+)(?:ing)?"
        r" (?:so|too|that) (?:much|long|many)\b"
        r"|\b(?:shorter|fewer|less) (?:answers|replies|responses|explanations|words|text|prose)\b"
        r"|\b(?:answer|reply|respond|talk|speak|write)(?: to)?(?: me)? in (?:english|german|french"
        r"|spanish"
        r"|italian|dutch|portuguese|polish|japanese|chinese|plain|simple)\b"
        r"|^(?:please )?use (?:english|german|french|spanish|american english|british english) (?:in"
        r"|for)\b",
        "feedback",
        0.65,
    ),
    _signal(
        INSTEAD_LABEL,
        r"^(?:please )?(?:use|prefer|take|run|do|write) [^,.;]+ (?:instead of|rather than|not"
        r"|over) [\w`¤./-]+"
        r"|^(?:please )?use [^.;]+, (?:it|they)(?:'s| is| are|'re)? ",
        "feedback",
        0.5,
        weak=True,
    ),
    _signal(
        USED_LABEL,
        rf"{START}(?:here )?we(?:'re using| are using| (?:only |just |all )?use) (?!the\b|an?\b|it\b"
        rf"|this\b|that\b|these\b|those\b)"
        r"[\w#.+`¤-]+|\b(?:it's|this is) an? [\w.+-]+ (?:repo|project|shop|codebase)\b",
        "feedback",
        0.5,
        weak=True,
    ),
    _signal(
        WANTED_LABEL,
        r"\b(?:i|we)(?: really| absolutely)? (?:don't|do not|never) (?:ever )?(?:want|need|like)"
        r" (?:any\b|to (?!see\b|go\b|spend\b|lose\b|break\b)|you to\b|[a-z-]+ing\b|[a-z -]+"
        r"\b(?:anywhere|ever|at all|in (?:this|our|the) (?:repo|project|codebase|code|tests?|docs?)))"
        rf"|\b(?:i|we)(?:'d| would) rather\b"
        rf"|{START}(?:i|we) want (?:real|only|everything)\b"
        r"|\bwe (?:really )?care about\b|\b\w+ matters? (?:a lot )?to us\b",
        "feedback",
        0.5,
        weak=True,
    ),
)

PERSON: tuple[Signal, ...] = (
    _signal(
        "how the person works",
        rf"{START}i(?:'ll| will)? (?:always |usually |can |do |only )*[a-z]+\b[^.;?]*"
        r"\b(?:myself|by hand|manually)\b"
        r"|\bi (?:can't|cannot|don't|do not) (?:test|run|access|see|use|have|read|speak|know)\b[^.;?]*"
        r"\b(?:myself|on windows|on mac|on linux|access to|a (?:mac|windows|linux)|admin|sudo|german"
        r"|english)\b"
        rf"|{START}i(?:'m| am) (?:not |no |really not )(?:an? )?[^.;]{{0,40}}\b{ROLE}\b"
        rf"|{START}i(?:'m| am) the only (?:user|one (?:using|who uses)|developer|dev|maintainer"
        rf"|person)\b"
        rf"|{START}i(?:'m| am) (?:already )?running [^.;]+\b(?:in another|on another|already|locally"
        rf"|myself)\b"
        rf"|{START}i use (?:an? |my )?[^,.;]*\b(?:terminal|theme|editor|keyboard|monitor|shell|browser"
        rf"|laptop"
        r"|machine|screen reader|vim|neovim|emacs|fish|zsh|bash|vs ?code|windows|mac|linux|wsl|tmux)\b"
        r"|\bthat(?:'s| is) my (?:other|own) \w+"
        r"|\bi(?: only)? work (?:on (?:this|it) )?(?:only |mostly |part[- ]time|evenings|weekends)"
        rf"|{START}i(?:'m| am) (?:still |currently |just )?(?:learning|studying|coming from) [a-z]",
        "user",
        0.6,
    ),
)

_NAMED = r"(?!the\b|an?\b|this\b|that\b|these\b|those\b|it\b|them\b|your\b|my\b|option|number|both\b)"

PROJECT: tuple[Signal, ...] = (
    _signal(
        "a decision",
        rf"\b(?:i|we)(?: want to|'d like to|'ll|'re going to| will| are going to) (?:use|go with"
        rf"|switch|move"
        rf"|migrate|stay (?:on|with)|stick (?:to|with))(?: from| to| over to| away from)? {_NAMED}[a-z]"
        rf"|\blet's (?:use|go with|switch to|stick (?:to|with)|stay (?:on|with)"
        rf"|move to) {_NAMED}[\w.-]+"
        r"(?= (?:for|because|since|as|instead|and not|not)\b)"
        r"|(?:^(?:all |our )?(?!this\b|its\b)[a-z-]+s (?:should|must) (?:be|go|live|use|come|stay|get"
        r"|have)"
        r"|\b(?:should be|is|are) (?:called|named|spelled)) [^.;?]+?,? (?:not|never|instead of"
        r"|rather than)"
        r" (?!just\b|only\b)\w+",
        "project",
        0.5,
    ),
    _signal(
        "where something is kept",
        rf"\b(?:the|our|all|docs?|designs?)\b[^,.;?]{{0,60}}\b(?:is|are|lives?|sits?)\b(?: all| now)?"
        rf"(?: {_WHERE})? (?:at|on|in|under|there:?|here:?) [^,.;?]{{0,20}}{PLACE}"
        rf"|\b(?:flags?|docs?|designs?|tickets?|secrets?)\b[^,.;?]{{0,30}}\bin {PLACE}"
        rf"|^in {PLACE}, (?:all|every|our|the)\b",
        "reference",
        0.6,
    ),
    _signal(
        "what it has to do",
        rf"\b(?:it|this|everything|the (?:\w+ )?{_PRODUCT}) (?:also |still )?(?:has to|needs to"
        rf"|must) (?:also |still"
        r" |always )?(?:run|work|be usable|be accessible|support|stay|keep working) (?:on|in|offline"
        r"|without"
        r"|under|behind|backwards|compatible)\b(?!.*\b(?:too|as well)\b)"
        rf"|\b(?:i|we) want the (?:\w+ )?{_PRODUCT} to (?:feel|be|behave|work|stay|look|remain)\b"
        r"|\b(?:we|you) (?:can't|cannot|must not|mustn't) (?:change|break|touch|use|rely on|assume"
        r"|remove|rename"
        r"|upgrade|bump|require|expect) (?!this\b|that\b|it\b)"
        r"|\beverything (?:here |in here )?(?:has to|must|needs to) be \w+"
        r"|\b(?:hard|strict|key|core|legal|security|contractual|business) requirement\b"
        r"|\bwe (?:no longer|stopped) (?!see\b|get\b|need\b)\w+"
        r"|, so (?:please )?(?:don't|do not|never|no) ",
        "project",
        0.55,
    ),
    _signal(
        "who uses it",
        rf"\b(?:our|the|my|most|these) (?:\w+ )?{_USERS} (?:are|use|have|want|expect|can't|don't|only"
        rf"|run|work"
        r"|pay|prefer|speak|care|need|know)\b"
        rf"|\b(?:the|this|our) {_PRODUCT} is (?:used |only |mainly |mostly |meant |made "
        rf"|built )*(?:for|by)\b"
        rf"|\bwe have (?:about |around |over |only |roughly |~)*(?:\d[\w.,]*|two|three|five|ten"
        rf"|no) {_USERS}\b(?! (?:that|who|which)\b)"
        rf"|\b(?:an? )?(?:\w+[- ])?(?:one|two|three|four|five|\d+)[- ](?:person|people|man|dev) team\b"
        r"|\bwe(?:'re| are)(?: only| just)? (?:an? )?(?:two|three|four|five|six|\d+) (?:people|devs"
        r"|developers|of us)\b"
        rf"|{_NOBODY}(?: else)? (?:uses|is using|looks at|reads|depends on|needs|relies on)\b"
        r"|\b(?:we|it)(?:'re|'s| are| is)?(?: have|ve)? ?(?:not|n't|haven't|hasn't)(?: been)? (?:\w+ )?"
        r"(?:released|live|public|in production|launched|shipped|published)\b"
        r"|\b(?:no|zero) (?:users|customers|installs)\b|\bpre-?release\b",
        "project",
        0.55,
    ),
    _signal(
        "what it is",
        rf"\b(?:this|it|that)(?:'s| is)(?: just| only| still"
        rf"| meant to be)? an? (?:[\w-]+ ){{0,3}}{_KIND}\b"
        r"|\bthe (?:company|product|project|app|client|customer) is (?:called|named)\b",
        "project",
        0.55,
    ),
    _signal(
        "who is responsible",
        r"\b(?:is|that's) \w+'s (?:area|domain|job|responsibility|call|turf)\b"
        r"|\b(?:the )?[a-z]+ (?:team|guys|folks|department|people) (?:owns?|maintains?|runs?|manages?"
        r"|handles?"
        r"|(?:is|are) responsible|takes? care|decides?|controls?)\b"
        r"|\b(?:is|are) (?:owned|maintained|operated|managed|controlled) by (?!the (?:function|class"
        r"|hook)\b)",
        "project",
        0.55,
    ),
    _signal(
        FACT_LABEL,
        rf"{_WE}{_RUNS} {_OBJECT}"
        rf"|{START}our [a-z -]+? (?:is|are|starts?|ends?|runs?|requires?|expects?|only|has|have|comes?"
        rf"|allows?"
        r"|uses?|supports?|needs?|wants?|prefers?|insists?|hates?) "
        r"|\b(?:ci|prod|production|staging|the (?:prod|production|staging|test|dev|ci) (?:db|database"
        r"|server"
        r"|env|environment|cluster|machine|box|api))\b(?: (?:itself|env|environment))? (?:is|runs|uses"
        r"|has"
        r"|needs|only|must|can't|cannot|doesn't) "
        r"|\b(?:we|they)(?:'re| are)? (?:don't|do not|aren't|are not|isn't) (?:support|target|on|in) "
        r"|\b(?:won't|don't|doesn't|do not|not) let us\b"
        r"|\b(?:there(?:'s| is| are)) no (?:k8s|kubernetes|docker|ci|staging|backup|budget|internet"
        r"|gpu|root)\b"
        r"|^(?:on|for|under) (?:mac ?os|macs?|windows|linux|ci|wsl|prod|production"
        r"|staging)\b[^.;?]*\b(?:needs?|must"
        r"|requires?|have to|has to|don't|doesn't|only)\b"
        r"|\bthe (?:firmware|device|hardware|vendor|upstream|customer|client|provider|partner|bank"
        r"|printer|sensor"
        r"|scanner|export|csv|feed)s? (?:only|never|always|doesn't|don't|can't|won't|comes? from"
        r"|is (?:generated"
        r"|delivered|maintained))\b"
        r"|\b(?:gets?|is|are|resets?|runs?|starts?|refresh\w*|rotates?|expires?|happens?)\b[^.;?]{0,40}"
        rf"\b(?:every (?:night|morning|day|week|month|quarter|year|{WEEKDAY})|nightly|weekly)\b"
        r"|\bno (?:backwards?|backward)[- ]compat\w*|\b(?:backwards?|backward)[- ]compat\w* (?:is"
        r"|isn't|is"
        r" not) (?:needed|required|important|a concern)\b",
        "project",
        0.5,
    ),
)

FACTS: tuple[Signal, ...] = RULES + PERSON + PROJECT + MANNERS + PURPOSES + OTHER_LANGUAGES
