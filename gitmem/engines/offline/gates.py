"""Why a sentence that sounds lasting is none: questions, hearsay, guesses, the task at hand."""

from __future__ import annotations

import re

from gitmem.engines.offline.facts import FACTS
from gitmem.engines.offline.gates_facts import CODE_FACT, PROBLEM, why_not_fact
from gitmem.engines.offline.gates_weak import why_not_weak
from gitmem.engines.offline.sentences import QUOTE_MARK
from gitmem.engines.offline.signals import ALWAYS_LABEL, LASTING_LABEL, RESPONSIBLE_LABEL, Signal

_QUESTION = re.compile(
    r"\?[\"'”’)\]]*$"
    r"|^(?:why|what|how|who|where|when (?:did|do|does|is|are|was|will)|which|is (?:there|this|that|it)"
    r"|are (?:there|we|you|they)"
    r"|do (?:we|you|i|they)|does|did|can (?:we|you|i|it)|could|would|should (?:we|i|you|it)|shall|was"
    r"|were|will (?:it|this|that|we))\b"
    r"|, (?:right|correct|no|ok|okay|isn't it|don't we|aren't we)\?"
)
_HYPOTHETICAL = re.compile(
    r"^(?:imagine|suppose|supposing|assume|assuming|what if|let's say|say we|pretend|in theory)\b"
    r"|^if .*\b(?:would|could|might)\b|\bif (?:we|i) (?:never|always|only|decided|had)\b"
    r"|\b(?:maybe|perhaps|possibly|i wonder|wondering|(?:i'm|i am) (?:curious|unsure)|might want to"
    r"|we could|we might|not sure|i guess"
    r"|i think we (?:should|need|could|might)|(?:it|that) (?:sounds|seems|looks) like"
    r"|should we|i'd consider|would be (?:nice|good|better|cool)|hopefully|probably should|in theory)\b"
)
_HEARSAY = re.compile(
    r"\b(?:says?|said|wrote|writes|claims?|claimed|suggests?|suggested|complains?|asked for"
    r"|according to"
    r"|quote|states?)\b"
    r"|\b(?:comments?|reviews?|reviewer|logs?|output|errors?|bot|spec|prompt|message|warning|changelog"
    r"|readme|ticket|issue)"
    r"\b[^:]{0,30}:(?= )"
)
_OWN_WORDS = re.compile(
    r"\b(?:i|we|you|as i|like i|legal|security|privacy review|the review) (?:said|say)\b|\bi (?:wrote"
    r"|claim)\b"
)
_AUTHORING = re.compile(
    r"^(?:please |can you |now |then |also )*(?:add|write|put|insert|document|mention|include|implement"
    r"|create|generate|make"
    r"|tell|explain|note in|extend|update|change|rename|move|fix|refactor|remove|check|verify|test"
    r"|ensure"
    r"|make sure)\b"
)
_MAKE_SURE = re.compile(r"\b(?:ensure|make sure|be sure|verify|confirm|check|see to it|find out|wonder)\b")
_SAYS_WITHIN = re.compile(r"\bshould say\b|\bsaying\b|\bsays\b|\bthat\b|\bwhich\b|\bwhere\b")

# In this change, at this moment: never lasting.
_THIS_MOMENT = re.compile(
    r"\b(?:for now|right now|for the (?:moment|time being)|at the moment|this time|just this once"
    r"|(?<!from )(?<!until )now"
    r"(?! on\b)(?! everything)|yet|today|tonight|still|for a (?:moment|second|minute)|in a (?:moment"
    r"|second|minute)|temporarily"
    r"|in this (?:pr|commit|branch|change|case|session|diff|patch|pull request|step|round|iteration"
    r"|task"
    r"|ticket|run)"
    r"|before (?:that|this) is done|until (?:i|it|that|this|the)\b[^.]*)\b"
)
_THIS_PLACE = re.compile(
    r"\b(?:in|on|for|at|of|from|inside|above|below|to|with) (?:this|that|these|those)"
    r" (?!repo|repository|project|team|company|codebase|code base|machine|org|organi[sz]ation|product"
    r"|laptop|workspace|customer|tool|cli|library|plugin|site|is\b|are\b|was\b|will\b"
    r"|way|kind|sort|level|house|department|app|application|package|monorepo|client)\w+"
    r"|\bthis (?:function|file|method|class|test|module|column|component|modal|line|branch|pr|commit"
    r"|endpoint|script|variable"
    r"|loop|diff|button|page|dialog|view|query|screen|bug|error|field|check)\b|\bat line \d+"
    r"|\bon line \d+|\bline \d+\b"
    r"|\b(?:first|second|third|fourth|fifth|last|next|left|right|top|bottom) (?:one|column|row|line"
    r"|option|variant|layout|version"
    r"|approach|parameter|argument|button|item|field|panel|paragraph|test|file)\b"
    r"|\b(?:option|variant|version|approach|item|point|layout|idea|solution|alternative"
    r"|suggestion) (?:\d"
    r"|[a-d]\b|one|two|three)"
    r"|\bthe (?:left|right|second|third|other|red|blue|green|new|old|latter|former) (?:one|variant"
    r"|layout"
    r"|option|version)\b"
)
_THIS_VIEW = re.compile(
    r"\bboth (?!sides|of)[a-z]+s\b|\bin both\b"
    r"|\bin the (?:[a-z]+ )?(?:list|view|table|page|ui|sidebar|header|chart|dialog|menu|form|mock data"
    r"|test data|response|output)\b"
)
_WE_ALWAYS = re.compile(r"\bwe (?:always|never|only)\b")
_THEN_DO = re.compile(
    r"[,;] so (?:please )?(?:update|fix|change|add|remove|adjust|rename|check|test"
    r"|handle|make)\b"
)
_SUBJECT = (
    r"(?:i|i'm|i'll|i've|we|we'll|we're|we've|he|she|they|it|he's|she's|they're|it's|that|that's|this"
    r"|there|there's|the|my|our|his|her"
    r"|their|its|some|having|being|people|everyone|nobody|who|which|what)"
)
_DESCRIBES = re.compile(
    rf"^(?:and |but |so )?(?!we )(?:{_SUBJECT}|you)\b(?!.*\b(?:should|must|told|want"
    rf"|please)\b).*(?:\band"
    rf"|,) $"
)
# "the folder is generated, never edit it by hand": a thing is described, and then somebody told.
_TOLD = re.compile(
    r"^(?:the|our|all|these) [^,;]+ (?:is|are|has|have) [^,;]+[,;] (?:so |and )?(?:always"
    r"|never) [a-z]+(?<!s)(?<!ed) "
)
_NOT_COMMANDING = re.compile(
    rf"^(?:and |but |so |also )?(?:{_SUBJECT}|a|an|\w+ing|(?!this|always|unless|pass|press)\w+(?<!s)s"
    rf"|excited|happy|glad|ready|let me know|hope|sounds"
    rf"|looks|see you|such|always here)\b"
)
_COMMANDS = re.compile(
    r"\bplease\b|\byou (?:should|must|need to|have to|can|may|don't|do not|want)\b|\bi (?:want|need"
    r"|expect|mean|prefer)\b"
    r"|\bwe (?:don't|do not|use|want|should|always|never|will|need|must|only|avoid|keep|put|write|name"
    r"|call|go|merge|run|test)\b"
    r"|\b(?:don't|do not|never|always) [a-z]+|\b(?:should|must|has to|have to|needs? to|are to|is to"
    r"|goes?|not allowed|no longer)\b"
    r"|[,:;] (?!i\b|it\b|the\b|that\b|they\b|he\b|she\b)(?:just |also )?(?:use|run|ask|check|add|write"
    r"|name|put|keep|start|make|show"
    r"|tell|give|fix|update|commit|push|open|create|regenerate|mention|include|avoid|skip|answer|prefix"
    r"|test|rebase|squash|read|look)\b"
)
_LEADING_TIME = re.compile(
    r"^(?:and |but |so |also |please )*(?:from (?:now|here) on|going forward|in (?:the )?future"
    r"|for (?:the )?future|in general"
    r"|generally|as a (?:general )?(?:rule|principle)|next time)[,:]? "
)
# "In future more formats will be added" foretells, "a value that changes each time" describes.
_FORETELLS = re.compile(
    r"^(?!(?:please|always|never|don't|do not|you|we)\b)[\w' -]{1,60}? (?:will|would|could|might|may"
    r"|is going to"
    r"|are going to)\b"
)
_RELATIVE = re.compile(
    r"\b(?:which|that|who) (?:\w+ )?\w+s (?:[\w']+ ){0,4}?(?:every (?:single )?time|each time|whenever)\b"
)
_EVERY_TIME = re.compile(r"^(?:every (?:single )?time|each time|whenever)\b")
_THING_SHOULD = re.compile(
    r"\b(?:it|they|page|user|users|app|worker|server|test|job|button|value|script|process) (?:should"
    r"|must"
    r"|has to|needs to)\b"
)
_DEFINITE = re.compile(
    r"\b(?:the|this|that|its|their|empty)\b|\b(?:button|column|modal|sidebar|header|footer|dialog"
    r"|tooltip"
    r"|field|form|page|screen|row"
    r"|menu|icon|layout|spinner|banner|user|customer|on top|badge|chart|list|response|request)s?\b"
)
_PRODUCT = re.compile(
    r"\b(?:always|never|whenever|every time|each time|when) (?:be |also |the user |a user )?(?:show"
    r"|display|render|return|print|emit"
    r"|sort|hide|highlight|validate|send|store|cache|escape|retry|close|call|throw|raise|open|log|load"
    r"|fetch|include|visible"
    r"|appear|disabled?|enabled?|on top|redirect|trim|round|convert|default|expire|wrap|overflow|scroll"
    r"|fill|parse|allow|click"
    r"|accept|clear|refresh|encode|decode|set|assume|empty|null|zero|present|respond|fall back)s?\b"
    r"|\bwhen(?:ever)? (?:the |a |an )?(?:user|customer|visitor|client|request|page|button|form|server"
    r"|cursor|window|field)\b"
    r"|\b(?:button|column|modal|sidebar|header|footer|dialog|tooltip|field|form|page|screen|row|menu"
    r"|icon"
    r"|layout|cursor|scrollbar"
    r"|dropdown|checkbox|banner|spinner|endpoint|handler|function|method|callback|parameter|variable"
    r"|return value)s?\b"
    r" (?:should|must|shall|needs? to|has to|have to|may|is|are|can)\b"
)
_AT_LARGE = re.compile(r"(?<!^)\b(?:in general|generally)\b")
_BY_DEFAULT = re.compile(r"^(?:and |but |so )?by default,? (?!you\b|i\b)")
_ABOUT_WORK = re.compile(
    r"\b(?:you|your|me|commits?|committing|prs?|pull requests?|merge requests?|branch(?:es)?|tests?"
    r"|linter|lint|review(?:s|ers?)?"
    r"|changelogs?|plan|plans|push|deploys?|docs|migrations?|dependenc(?:y|ies)|snippets?|code"
    r"|comments?"
    r"|questions?|answers?)\b"
)
_TASK_TOO = re.compile(
    r"(?:[,;] (?:please |then |so |and )?(?:can you|could you|fix|rewrite|implement|remove|put it"
    r"|put that|use that|do that"
    r"|change (?:it|that|this)|revert|undo|update the|add (?:two|one|three|it|that))\b"
    r"|\bplease (?:implement|fix|rewrite|address|change it)"
    r"|\blet me know\b|\bi'll (?:be|look|check|do)\b)"
)
_IDENTIFIER = re.compile(
    r"\b[a-z]+(?:[A-Z][a-z]+)+\b|\b\w+_\w+\b|\b\w+\(\)|\b[A-Z]\w+\.\w+\b|(?<!\w)/(?:\w+/)+|\b\w+\.(?:py"
    r"|go|ts|js|rs|java|rb|c|h)\b"
)
_IN_REPOSITORY = re.compile(r"\b(?:in|at|under) (?:\.?/)?[\w.-]+/[\w./-]*[\w-]+(?:\.\w+)?(?=[\s,.]|$)")


def why_not(
    text: str,
    masked: str,
    at: int,
    signal: Signal | None,
    *,
    supported: bool = False,
    refusing: bool = False,
) -> str:
    """Says why a sentence must not become a memory although it sounds like one.

    Args:
        text: the sentence as typed.
        masked: the same, as given by `sentences.masked`.
        at: where the signal begins in it.
        signal: what it sounds like; None for a plain request to remember.
        supported: the person gave a reason for it.
        refusing: it was said in refusal of a tool call.

    Returns:
        the reason; empty where nothing speaks against it.
    """
    before = masked[:at]
    if signal is not None and _QUESTION.search(masked):
        return "a question"
    if _HYPOTHETICAL.search(masked):
        return "a guess or a thought, not a statement"
    if at and _HEARSAY.search(before) and not _OWN_WORDS.search(before):
        return "somebody else's words"
    if signal is not None and _AUTHORING.match(masked) and _SAYS_WITHIN.search(before):
        return "what a text or program is to say"
    if (
        signal is None
        and _QUESTION.search(masked)
        and not re.match(r"(?:can|could|would|will) you\b", masked)
    ):
        return "a question"
    if at and _MAKE_SURE.search(before) and signal in FACTS:
        return "a request for the task at hand"
    seen_now = signal is not None and _THIS_VIEW.search(masked) and not _WE_ALWAYS.search(masked)
    if _THIS_PLACE.search(masked) or seen_now:
        return "about a place in the present work"
    if _THIS_MOMENT.search(masked) and not (
        signal is None or signal.type in ("project", "user", "reference")
    ):
        return "for this moment only"
    if signal is None:
        return "a step of the task at hand" if _THEN_DO.search(masked) else ""
    if PROBLEM.search(masked) and signal.type == "user":
        return "a report of a problem"
    if signal in FACTS:
        refused = why_not_fact(masked, signal, refusing)
        if refused:
            return refused
    if signal.type == "reference" and re.search(
        r"\bplease\b|, (?:implement|fix|use|read|follow)\b|\bbut i\b|\bbroken\b", masked
    ):
        return "a request for the task at hand"
    if _TASK_TOO.search(masked) and signal.label != LASTING_LABEL and not masked.startswith("when"):
        return "a request for the task at hand"
    if re.search(
        r"\b(?:for now|for the moment|for the time being|temporarily|in this (?:pr|change))\b", masked
    ):
        return "for this moment only"
    if signal.type == "feedback":
        return _why_not_feedback(masked, at, signal, supported, refusing)
    if (
        signal.type == "reference"
        and _IN_REPOSITORY.search(masked)
        and "://" not in masked
        and "#" not in masked
    ):
        return "the repository can tell"
    if signal.type == "project":
        if signal.label == RESPONSIBLE_LABEL and not re.match(r"(?:[Tt]he|[A-Z][a-z]+) ", text):
            return "about code, not about people"
        return _why_not_project(text, masked)
    return _why_not_person(masked, at)


# What a person lays down for every time to come, in so many words.
_FOR_GOOD = re.compile(
    r"\b(?:from (?:now|here) on|going forward|in (?:the )?future|for (?:the )?future|next time"
    r"|as a (?:general )?(?:rule|principle))\b"
    r"|\b(?:for|in) (?:all |any )?(?:the |our |my )?future (?:sessions?|tasks?|changes|work|prompts?"
    r"|commits|prs)\b"
    r"|\byou (?:should|must|need to|have to) (?:always|never)\b|\b(?:want|need) you to (?:always"
    r"|never)\b"
    r"|\bin (?:every|all) (?:prs?|commits?|pull requests|sessions?|reviews?)\b"
    r"|, every (?:single )?time\b"
)
_TASK = re.compile(
    r"^(?:ok(?:ay)?,? |now |please |then |next,? |so |can you |could you |let's |go ahead and |i want"
    r" you to |i need you to )*(?:add|write|put|insert|implement|create|generate|make|build|extend|update"
    r"|change|rename|move|fix|refactor|remove|delete|check|verify|test|review|read|look|find|debug|investigate"
    r"|continue|start|run|execute"
    r"|revise|redesign|rewrite|design|plan|port|migrate|convert|set up|deploy|install|work on|go through)\b"
)
_BARE_RULE = re.compile(r"^(?:please )?(?:always|never) [a-z]+\b")
# In its condition ("before you say it works") a pronoun has its noun at hand.
_CONDITION = re.compile(r" (?:before|when|whenever|if|after|until|once|unless) ")
_DASH = re.compile(r" [-–—;] |; ")
_POINTS = re.compile(r"\b(?:this|that|these|those|it|them|here|there)\b")


def for_good(masked: str) -> bool:
    """Says whether an instruction is laid down for good in so many words, and stands on its own."""
    main = _CONDITION.split(masked, maxsplit=1)[0]
    first, dash, _ = (
        main.partition(" -- ") if " -- " in main else _DASH.sub("\0", main, count=1).partition("\0")
    )
    if dash and len(first.split()) >= 5 and _commands(first):
        # "record each prompt – do this in future sessions too": what it points at was just said.
        main = first
    if _POINTS.search(main):
        return False
    explicit = _FOR_GOOD.search(masked) is not None and _commands(masked)
    return explicit or (_BARE_RULE.match(masked) is not None and _ABOUT_WORK.search(masked) is not None)


def for_a_task(masked: str, opening: str) -> bool:
    """Says whether a bare "always" or "never" stands under a task: it may be for that alone.

    Args:
        masked: the instruction, as given by `sentences.masked`.
        opening: the sentence under which it stands, masked likewise.
    """
    return opening != masked and _FOR_GOOD.search(masked) is None and _TASK.match(opening) is not None


def doubtful(masked: str) -> bool:
    """Says whether something asked to be remembered may be what the code tells: a person decides then."""
    return CODE_FACT.search(masked) is not None


def _commands(masked: str) -> bool:
    """Says whether the main clause of a sentence with a lasting adverb tells somebody what to do."""
    main = _LEADING_TIME.sub("", masked)
    if _FORETELLS.match(main) or _RELATIVE.search(main):
        return False
    if _EVERY_TIME.match(main):
        clause, comma, main = main.partition(", ")
        if not comma and not _COMMANDS.search(clause):
            return False
        main = main or clause
    if _THING_SHOULD.search(main):
        return False
    return _COMMANDS.search(main) is not None or _NOT_COMMANDING.match(main) is None


def _why_not_feedback(masked: str, at: int, signal: Signal, supported: bool, refusing: bool) -> str:
    before = masked[:at]
    if before and signal.label == ALWAYS_LABEL and _DESCRIBES.match(before) and not _TOLD.search(masked):
        return "describes, does not instruct"
    if signal.label == LASTING_LABEL and not _commands(masked):
        return "describes, does not instruct"
    if _AT_LARGE.search(masked) and not _COMMANDS.search(masked):
        return "describes, does not instruct"
    if _BY_DEFAULT.match(masked) and not _ABOUT_WORK.search(masked):
        return "how the product is to behave, for the task at hand"
    if _PRODUCT.search(masked) and _DEFINITE.search(masked) and not _ABOUT_WORK.search(masked):
        return "how the product is to behave, for the task at hand"
    if re.search(
        r"\bfrom now on (?:the|this|that|it|a|an)\b(?!.*\b(?:should|must|goes?|are to|is to)\b)", masked
    ):
        return "how the program behaves, not how to work"
    if re.search(r"\bwe use (?:an?|the) ", masked):
        return "the repository can tell"
    if re.search(r"\byou (?:never|always) \w+(?:ed|ot)\b", masked):
        return "a complaint about this session"
    if signal.weight == "strong":
        return ""
    return why_not_weak(masked[at:], supported, refusing)


def _why_not_project(text: str, masked: str) -> str:
    if re.search(r"\bwe only \w+ (?:it|this|that|them|these|those)\b", masked):
        return "points at something in the present work"
    if _IDENTIFIER.search(text) and not re.search(r"\b(?:decided|agreed)\b", masked):
        return "the repository can tell"
    if re.search(
        r"\b(?:failing|fails|failed|crash\w*|broken|error|parameter|workflow|should (?:show"
        r"|display))\b",
        masked,
    ):
        return "the state of the work, not a decision"
    if re.search(rf"{QUOTE_MARK}{{3,}}$", masked) and len(masked.split()) < 5:
        return "too little said"
    return ""


def _why_not_person(masked: str, at: int) -> str:
    rest = masked[at:]
    if re.search(r"\bi(?:'m| am) the (?:one|person|guy) (?:who|that)\b", rest):
        return "about a piece of the present work"
    if re.match(
        r"i(?: really| strongly)? (?:prefer|like|love|hate|dislike) (?:it|this|that|these|those|the"
        r"|your"
        r"|option|how)\b"
        r"(?! when| if| way you)",
        rest,
    ):
        return "a choice in the present work"
    if re.search(r"\b(?:use that|rewrite it|change it|do that|go with that)\b", rest):
        return "a choice in the present work"
    return ""
