"""What a person plainly asks of memory: to keep something, or to give something up for something else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gitmem.engines.offline.prose import mask_quotes

_OPEN = (
    r"^(?:(?:please|also|and|but|so|just|oh|ok(?:ay)?|hey|hi|yes|yeah|no|thanks|great|right|again|then"
    r"|now|always|actually"
    r"|sorry|correction|wait|btw|by the way|before i forget|(?:ok |one )?(?:last|more|final) thing"
    r"|one more thing|important"
    r"|(?:this|that) is important|lastly|finally|in (?:the )?future|for (?:the )?future(?: sessions?"
    r"| reference)?"
    r"|for next time|next time|for later|from now on|going forward)(?: ?[,.:!;–—-]+ ?| ))*"
)
_POLITE = (
    r"(?:(?:can|could|would|will) (?:you|we) (?:please |maybe |also |just |perhaps )*|would you mind "
    r"|i(?:'d| would) (?:like|love) you to |i (?:want|need) you to |(?:let's|lets|let us|we should"
    r"|we must|you should"
    r"|you must|do|try to|make sure to|make sure you|be sure to|(?:i )?wonder (?:now )?if we should"
    r"|(?:please )?always) "
    r"(?:please |also |just )*)?(?:please )?"
)
_LATER = (
    r"(?>(?:,? (?:for (?:later(?: sessions?)?|good|the future|next time|future \w+|all \w+|the next \w+)"
    r"|in (?:the )?future|from now on|going forward"
    r"|next time|too|also|as well|please|ok|okay|somewhere|somehow|down|permanently|forever))*)"
)
_FILE = (
    r"(?:(?:claude|agents|gemini|codex)(?:\.local)?\.md|copilot-instructions\.md|(?:the |your "
    r"|our )?(?:agent )?instructions file)"
)
_OWN = (
    r"(?:(?:your|the agent's) (?:own |long[- ]term |project )*(?:memory|memories|notes"
    r"|knowledge(?: base)?)|(?:long[- ]term|project) memory)"
)
_THIS = (
    r"(?:(?:all )?(?:that|this|these|those|it)(?: (?:fact|rule|one|point|info|information|decision|down"
    r"|too|also))?|the following"
    r"|what i (?:just )?(?:said|wrote|told you)|that last (?:bit|part|point)|the above)"
)
_REMEMBER = r"(?:remember|rmember|remeber|rember|(?<=mind )remembering|memori[sz]e|(?<=mind )memori[sz]ing)"
_MIND = r"(?:keep|bear|have)(?:ing)? (?:(?:that|this|it) )?in mind"
_NOTE = (
    r"(?:(?:make|take|keep|leave)(?: yourself)? (?:a |an )?(?:mental |permanent |quick )?note|note down"
    r"|note|write down)"
)
_STORE = (
    rf"(?:add|save|store|put|commit|record|write|log|note|keep|document)(?:ing)? (?:{_THIS} |a (?:note"
    rf"|line|rule|section|entry) )?"
)
_INTO = rf"(?:(?:to|in|into|down in) (?:{_FILE}|{_OWN})|to (?:the )?memory|to memories)"
"""Where memory is kept; "in memory" alone is where programs keep things."""

# What follows asks the agent's own memory, or names a thing without saying anything of it.
_NOT_A_FACT = (
    r"(?!when\b|how\b|what\b|why\b|where\b|which\b|who\b|if\b|whether\b|the time\b|last\b|me\b(?!:)|us\b"
    r"|our (?:talk|chat)"
    r"|you\b|something\b|anything\b|correctly\b)"
)
_CLAUSE = (
    r"(?:(?:i|i'm|i've|we|we're|we've|our|my|your|nobody|everyone|everybody|always|never|there|it's|all"
    r"|no|not|don't|do not|only"
    r"|if|when(?:ever)? (?:you|we|i)|he|she|they|every|each|any)\b(?! (?:talk|chat)).+"
    r"|(?:(?:the|a|an|this|these|his|her|their|its) )?(?:[\w./'¤-]+ ){1,6}(?:is|are|was|were|has|have"
    r"|had|does|do|doesn't|don't|can|can't"
    r"|cannot|must|should|will|won't|needs?|may|isn't|aren't|uses?|runs?|gets?|goes|lives?|means?|owns?"
    r"|requires?)\b.+)"
)

_HERE = tuple(
    re.compile(_OPEN + _POLITE + pattern, re.S)
    for pattern in (
        rf"{_REMEMBER}{_LATER} (?P<to>(?:not |never )?to) (?P<rest>.+)",
        rf"{_REMEMBER}{_LATER} ?(?:that |: ?|, (?!(?:it|this|that)(?:'s| is) |don't |do not )"
        rf"| ?[–—-] |(?:this|it|the following)(?: one| fact| too| also)*"
        rf"{_LATER} ?(?::|[–—-]|,) ?)(?P<rest>{_NOT_A_FACT}.+)",
        rf"{_REMEMBER}{_LATER} (?P<rest>{_NOT_A_FACT}{_CLAUSE})",
        rf"(?:don't|do not|never|dont) (?:ever )?forget{_LATER} ?(?:that |: ?|, "
        rf"| ?[–—-] )(?P<rest>{_NOT_A_FACT}.+)",
        rf"(?:don't|do not|never|dont) (?:ever )?forget{_LATER} (?P<rest>(?!to\b){_NOT_A_FACT}{_CLAUSE})",
        r"(?:keep|bear) in mind (?:for|in|next|from|going)\b(?: (?:later|good|the|future|next|time"
        r"|sessions?"
        r"|all|from|now|on|in|forward))* ?"
        r"(?:that |: ?|, | ?[–—-] )(?P<rest>.+)",
        rf"{_NOTE}{_LATER} ?(?:of (?:this|that|the following|it)|this|that)?{_LATER} ?(?:: ?"
        rf"| ?[–—-] )(?P<rest>.+)",
        rf"(?:make|take|keep|leave|write)(?: yourself)? (?:a |an )?(?:mental |permanent "
        rf"|quick )?note{_LATER} (?:that|saying|to) (?P<rest>.+)",
        rf"(?:a |quick )?note{_LATER} for (?:the )?(?:future|next|later)\w*[:, ] ?(?P<rest>{_CLAUSE})",
        r"(?:a |quick )?notes? to (?:self|yourself|future you|future me)(?::|,| ?[–—-]) ?(?P<rest>.+)",
        r"(?:a |quick )?note (?:for|to) (?:the )?(?:future|later|next time"
        r"|next session)(?: sessions?)?(?::|,| ?[–—-]) ?(?P<rest>.+)",
        r"for (?:the )?future (?:reference|sessions?)(?::|,| ?[–—-]) ?(?P<rest>.+)",
        rf"{_STORE}{_INTO}{_LATER} ?(?:that |saying (?:that )?|: ?|, | ?[–—-] )(?P<rest>.+)",
        rf"(?:write|note|jot|take) (?:that|this|it) down{_LATER}(?::|,| ?[–—-]) ?(?P<rest>.+)",
        rf"(?:note|jot) down{_LATER} that (?P<rest>{_NOT_A_FACT}.+)",
        r"(?:save|store|keep|record) (?:this|that|it|the following) for (?:later|future|the next|next)\b"
        r"(?: sessions?| time)?(?::| ?[–—-]) ?(?P<rest>.+)",
        r"(?:add|create|make|save|store|write) (?:a |another )?(?:new )?memory(?: entry)?"
        r"(?: (?:that|saying(?: that)?)|:| [–—-]) ?(?P<rest>.+)",
        r"(?:make|let's make) (?:it|this) (?:a|the|our) (?:standing |general |permanent |hard )?(?:rule"
        r"|habit|policy|convention)"
        r"(?P<rule>)(?: for \w+)?(?: (?:that|to)|:|,| ?[–—-]) ?(?P<rest>.+)",
        r"(?P<rule>)(?:(?:a |one )?(?:new|another|standing|house|general|permanent|project|hard) rule"
        r"|rule)(?: for you)?(?::| ?[–—-]) ?(?P<rest>.+)",
    )
)
_POLITELY_IN_MIND = re.compile(
    _OPEN + r"(?:(?:can|could|would|will) you|i (?:want|need) you to|i(?:'d"
    r"| would) like you to) (?:please )?(?:keep|bear) in mind "
    r"(?:that |: ?)?(?P<rest>.+)"
)
# For good, in so many words, and to the agent; not about the thing at hand.
_FROM_NOW_ON = re.compile(
    r"^(?:(?:ok(?:ay)?|and|so|also|please|but|right)[,.:]? )*(?:from now on|from here on(?: out)?"
    r"|going forward|from this point on),? "
    r"(?P<rest>(?!with |to ).+)$|^(?P<ahead>.+?),? (?:from now on|from here on(?: out)?|going "
    r"forward)[.!]*$"
)
_FOREIGN_FROM_NOW_ON = re.compile(
    r"^(?:(?:ab (?:jetzt|sofort)|von (?:jetzt|nun) an|dorénavant|désormais|à partir de maintenant"
    r"|a partir de (?:ahora|agora)|de ahora en adelante|d'ora in poi|da (?:ora|adesso) in poi|de agora "
    r"em diante"
    r"|vanaf nu|voortaan|od teraz|från och med nu|fra nå av|bundan sonra|с этого момента|отныне|впредь"
    r"),? (?:bitte |por favor |s'il te plaît )?|(?:今後は|これからは|从现在开始|从现在起|今后|앞으로는"
    r"|이제부터)[、，, ]?)"
    r"(?P<rest>(?!(?:der|die|das|ein|eine|es|le|la|les|il|elle|ce|ça|el|los|las|lo|o|os|as|een|het|de"
    r"|ist|sind|läuft|geht|klappt|funktioniert|est|sont|está|son|werkt) ).+)$"
)
# To go on working in an agreed way is asked for good, whatever the step at hand.
_KEEPS_TO = re.compile(
    r"\b(?P<rest>(?:(?:stick|keep|hold) (?:to|with)|(?:stay|continue|go on) with) (?:the |our |this "
    r"|that |my )"
    r"(?:[\w-]+ ){0,2}(?:workflows?|conventions?|process|practices?|rules?|guidelines?|style guide"
    r"|policy|policies"
    r"|standards?|methodology)\b[^?]*)"
)
_POINTS = re.compile(
    r"^(?:please )?(?:do|keep|try|use|start|stop|apply|make)(?: doing)? (?:it|this|that|these|those"
    r"|so)\b|\?\s*$|^(?:the|a|an|it|this|that|these|those|there|they|he|she)\b"
)

_BEFORE = tuple(
    re.compile(pattern)
    for pattern in (
        _OPEN + _POLITE + rf"(?:{_REMEMBER}{_LATER} {_THIS}|{_MIND}|(?:keep|bear) {_THIS} in mind"
        rf"|(?:make|take|keep) (?:a )?note of {_THIS}|(?:note|write|jot) {_THIS}(?: down)?(?: too| also"
        rf"| please| as well| somewhere)*"
        rf"|{_STORE}{_INTO}|(?:don't|do not|never) forget {_THIS}|memori[sz]e {_THIS}"
        rf"|(?:make|let's make) {_THIS} (?:a|the|our) (?:\w+ )?(?:rule|habit|policy|convention))"
        rf"{_LATER}(?:,? so (?:that )?(?:we|you|i|nobody|no one|it) .+)?(?P<more>:?)[.!?)😅🙏 ]*$",
    )
)
# The statement stands in the same sentence, before the request.
_TRAILS = re.compile(
    r"(?P<ahead>^.{8,}?)(?:[,;.–—(-]+|,? and| so(?: that)?) ?"
    r"(?:please |pls |you |we |i want you to |(?:can|could) you (?:please )?)*"
    rf"(?:(?:{_REMEMBER}|note|(?:don't|do not|never) forget) {_THIS}|(?:keep|bear) {_THIS} in mind"
    rf"|write {_THIS} down|(?:save|keep|add|put|store) {_THIS} {_INTO}){_LATER}[.!?) ]*$"
)
_ASIDE = re.compile(
    rf"\((?:please |pls |also )*(?:{_REMEMBER}|note|write down|save|keep in mind|(?:add"
    rf"|save) {_THIS} {_INTO})"
    rf"(?: (?:{_THIS}))?{_LATER}\)"
)
_WONDERS = re.compile(
    rf"\b(?:add|put|save|document|write|record|note) {_THIS} (?:somewhere |also )?{_INTO}\b"
    r"|\bso (?:that )?you (?:can |will |would |'ll )?(?:remember|don't forget|do not forget"
    r"|won't forget)(?: (?:this|that|it))?\b"
)
"""A request put about a thing said before, anywhere in its sentence: "should we add this to CLAUDE.md?"."""

# In other languages the plain imperative alone, and what joins it to its object.
_FOREIGN = tuple(
    re.compile(pattern)
    for pattern in (
        r"^(?:(?:bitte|und|also|ok|für (?:später|die zukunft|nächstes mal)),? )*(?:merk(?:e|t)? dir"
        r"|merkt euch|denk(?:e)? (?:(?:bitte|immer|auch|künftig|in zukunft) )*daran"
        r"|vergiss(?: bitte)? nicht(?=,? dass |: )|notier(?:e)?(?: dir)?|behalt(?:e)? im (?:kopf"
        r"|hinterkopf)"
        r"|schreib(?:e)? dir auf)"
        r"(?: bitte)?(?P<join>,? dass |: ?|, | - | (?=(?:wir|ich|unser\w*|immer|nie|kein\w*|alle) "
        r"))(?P<rest>.+)",
        r"^(?:kannst|könntest) du dir (?:bitte )?merken(?P<join>,? dass |: ?)(?P<rest>.+)",
        r"^(?:(?:s'il te pla[iî]t|stp|et|aussi|ok),? )*(?:souviens[- ]toi(?: bien)?|retiens(?: bien)?"
        r"|rappelle[- ]toi|n'oublie(?: pas)?|note(?: bien)?"
        r"|garde(?: bien)? en (?:tête|mémoire)|mémorise|peux-tu (?:retenir|noter"
        r"|te souvenir))(?P<join> qu(?:e |')| de | : ?|: ?)(?P<rest>.+)",
        r"^(?:(?:por favor|y|también|ok),? )*(?:recuerda|acu[eé]rdate|no (?:te )?olvides|ten en cuenta"
        r"|ten presente|anota|apunta|memoriza|guarda en (?:la )?memoria"
        r"|puedes recordar)(?: (?:para (?:la próxima(?: vez)?|el futuro|siempre)|siempre))?(?P<join> "
        r"(?:de )?que | siempre que |: ?| de )(?P<rest>.+)",
        r"^(?:(?:per favore|e|anche|ok),? )*(?:ricord(?:a|ati|atevi)|non dimenticare|tieni (?:a"
        r"|in) mente|tieni presente|annota(?:ti)?|memorizza)"
        r"(?P<join> (?:di )?che |: ?| di )(?P<rest>.+)",
        r"^(?:(?:por favor|e|também|ok),? )*(?:lembr[ae](?:-te|-se)?|n[ãa]o (?:se |te )?esque[çc]as?"
        r"|tenha em mente|anote|anota|guarde|memorize)"
        r"(?P<join> (?:de )?que |: ?| de )(?P<rest>.+)",
        r"^(?:(?:alsjeblieft|graag|en|ook|ok),? )*(?:onthoud|vergeet (?:ook )?niet|denk eraan"
        r"|noteer)(?P<join>,? dat |: ?| om )(?P<rest>.+)",
        r"^(?:(?:proszę|i|ok),? )*(?:pamiętaj|zapamiętaj|zapamietaj|pamietaj|nie zapomnij"
        r"|zanotuj)(?P<join>,? że |,? ze |: ?|, )(?P<rest>.+)",
        r"^(?:(?:snälla|och|vänligen|venligst|og|ok),? )*(?:kom ihåg|glöm inte|husk|glem ikke|notera"
        r"|noter)(?P<join>,? att |,? at |: ?)(?P<rest>.+)",
        r"^(?:(?:пожалуйста|и|ок|будь ласка),? )*(?:запомни(?:те)?|помни(?:те)?|не забудь(?:те)?"
        r"|не забывай(?:те)?|учти(?:те)?|запам'ятай|пам'ятай)"
        r"(?P<join>,? что |,? що |: ?|, )(?P<rest>.+)",
        r"^(?:lütfen )?(?:unutma|hatırla|aklında tut|not al)(?P<join>[:,] ?| ki )(?P<rest>.+)",
        r"^(?:(?:以下(?:のこと)?を|次のことを|これを)?(?:覚えておいて|覚えて|おぼえておいて|記憶して"
        r"|メモして)(?:ください|下さい|ね"
        r"|ほしい)?)(?P<join>[:：、,。 ]+)(?P<rest>.+)",
        r"^(?P<rest>.{4,}?)(?P<join>(?:こと|の)?(?:を|と|は)?)(?:覚えておいて|覚えといて|覚えて"
        r"|記憶して|メモして)"
        r"(?:ください|下さい|ね|ほしい)?[。.!！]*$",
        r"^(?:请|請)?(?:记住|記住|记得|記得|记下|記下|别忘了|別忘了|不要忘记)"
        r"(?P<join>[:：,，、 ]*)(?P<rest>.+)",
        r"^(?:기억해(?: ?줘| ?두세요| ?주세요)?|명심해|잊지 ?마)(?P<join>[:, ]+)(?P<rest>.+)",
        r"^(?P<rest>.{4,}?)(?P<join>(?:는|은|다는)? ?(?:것을|걸|거)? ?)"
        r"(?:기억해|명심해)(?: ?줘| ?두세요| ?주세요)?[.!]*$",
    )
)
_FOREIGN_BEFORE = re.compile(
    r"^(?:bitte |und )?(?:merk(?:e)? dir das|behalte? das im kopf|souviens-toi de (?:ça|cela)"
    r"|retiens (?:ça|cela|le)|note (?:ça|le)|recuérdalo|recuerda (?:esto|eso)"
    r"|anótalo|ricordatelo|ricorda questo|lembre-se disso|onthoud (?:dat|dit)|запомни это"
    r"|これを覚えておいて(?:ください)?|请?记住这(?:个|一点))[ .!?]*$"
)

# What is to be noted is a step to come, not a fact: "make a note, we also need to add the other half".
_STEP_TO_COME = re.compile(
    r"^(?:that )?(?:(?:we|i|you)(?: also| still| then| later| first)*(?:'ll| will|'re going to"
    r"| are going to| need to"
    r"| have to| should| must| want to)|there (?:is|are)(?: \w+){0,3} to|to)(?: also| still| then| later)* "
    r"(?:add|implement|create|fix|write|build|update|finish|remove|delete|rename|move|refactor|come back"
    r"|revisit|clean)\b(?!.*\b(?:always|never|every|each|whenever|before|after|when)\b)"
)
# A question that only asks what was done, or whether to: no request, however it ends.
_ONLY_ASKS = re.compile(
    r"^(?:(?:and|but|so|hey|wait|ok(?:ay)?|hm+)[,.]? )*(?:don't|do not|why|did|do|does|have|has|had|was"
    r"|were|is|are"
    r"|what|how|when|where|which|who|should i|shall i)\b"
)
_FOREIGN_POLITE = re.compile(
    r"^(?:\w+,? )?(?:kannst|könntest|würdest|peux|peut|pourrais|puedes|podrías|puoi|potresti|podes|pode"
    r"|você"
    r"|kun|zou|możesz|mógłbyś|можешь|можете|kan|能|可以|可不可以)"
)
# In what the words at hand hold, not in what is to be known later: "from now on in this function …".
_IN_THIS = re.compile(
    r"\b(?:in|for|of|on) (?:this|that|these|those) (?:\w+ )?(?:function|method|class|file|loop|test"
    r"|script|module"
    r"|component|branch|pr|commit|task|page|one|case|chat|conversation|session|step|run)s?\b"
    r"|\b(?:we|you|i)(?:'re| are|'m| am)(?: \w+)? (?:on|at|in) (?:step|phase|stage|task|part|point) \d"
)
# A thing to do in the task at hand: "remember to add the import too".
_ENDS_TASK = re.compile(
    r"^(?!.*\b(?:always|never|every|each|whenever|from now on|next time)\b).*\b(?:before|when|once"
    r"|after|as soon as)"
    r" (?:you|we|i|it|this|that)(?:'re| are|'s| is|'ve| have)?"
    r" (?:finish(?:ed)?|done|ready|through|working|go on|continue|move on|stop)\b"
)
_AT_HAND = re.compile(
    r"^(?!.*\b(?:always|never|every|each|whenever|before|after|when|from now on|next time)\b)"
    r".*\b(?:this|that|these|those|too|here|as well|first|now|afterwards|at the end)\b"
)
_STATED = re.compile(_CLAUSE)
_FOR_GOOD = re.compile(
    rf"\b(?:{_FILE}|{_INTO}|rules?|policy|habit|convention|memory|future|next|later|self|yourself|for good"
    r"|going forward|permanent)\b"
)
"""Of what is to be known later, whatever is to be done."""

_SO_NOW = re.compile(
    r"[,;]? (?:so|and then|then) (?:please |now |you (?:should|need to|have to) )?"
    r"(?:update|change|fix|adapt|adjust|remove|delete|add|rename|rerun|run|revert|undo)\b"
)
_REMINDED_OF = re.compile(
    r"^(?:[\w-]+ ){1,5}(?:(?:that )?(?:we|you|i)(?: just| already| once)? (?:\w+ed|talked|did|had|saw"
    r"|wrote|made|were|was|got"
    r"|went|found|ran)\b|from (?:last|before|yesterday|earlier)\b|(?:earlier|yesterday)\b)"
)
SHORTEST = 2
"""Words that a statement has at least; in a script without spaces `SHORTEST_LETTERS`."""

SHORTEST_LETTERS = 5


@dataclass(frozen=True)
class RememberRequest:
    """A plain request to remember.

    Attributes:
        where: `here`, in the sentence; `below`, in what follows it; `before`, in what was said before.
        start, end: the statement's place in the sentence; 0 and 0 where it is not in it.
        negated: it is what not to do ("remember not to …").
        to_do: it is a thing to do ("remember to …"), or a rule.
        standing: it asks for no memory, but for something from now on.
    """

    where: Literal["here", "below", "before"]
    start: int = 0
    end: int = 0
    negated: bool = False
    to_do: bool = False
    standing: bool = False


def request(sentence: str) -> RememberRequest | None:
    """Finds a plain request to remember, as order or as question, in a dozen languages.

    Args:
        sentence: as `prose.passages` gives it.
    """
    low = mask_quotes(sentence)
    aside = _ASIDE.search(low)
    if aside:
        return RememberRequest("below", 0, aside.start()) if aside.start() else RememberRequest("below")
    for pattern in _BEFORE:
        back = pattern.match(low)
        if back:
            return RememberRequest("below" if back["more"] else "before")
    if _FOREIGN_BEFORE.match(low):
        return RememberRequest("before")
    polite = _POLITELY_IN_MIND.match(low)
    for found in (*(pattern.match(low) for pattern in _HERE), polite):
        if found is None:
            continue
        rest = found["rest"]
        kinds = found.groupdict()
        to_do = "to" in kinds
        asks = low.rstrip(" )\"'").endswith("?") and not _asks_politely(low)
        orders = to_do or not (_STATED.match(rest) or _FOR_GOOD.search(low))
        if orders and (_AT_HAND.search(rest) or _ENDS_TASK.search(rest)):
            return None
        if _SO_NOW.search(rest) or _IN_THIS.search(rest):
            return None
        if _enough(rest) and not asks and not _STEP_TO_COME.match(rest) and not _REMINDED_OF.match(rest):
            negated = to_do and kinds["to"] != "to"
            return RememberRequest(
                "here", found.start("rest"), len(sentence), negated, to_do or "rule" in kinds
            )
        if asks or _REMINDED_OF.match(rest):
            return None
    asks = re.search(r"[?？][\s)\"']*$|吗。?$", low) is not None
    if asks and not _FOREIGN_POLITE.match(low) and not low.isascii():
        return None
    for pattern in _FOREIGN:
        found = pattern.match(low)
        if found and _enough(found["rest"]):
            return RememberRequest("here", found.start("rest"), found.end("rest"))
    lasting = _FROM_NOW_ON.match(low) or _FOREIGN_FROM_NOW_ON.match(low)
    if lasting:
        group = next(name for name, text in lasting.groupdict().items() if text)
        said = lasting[group]
        plain = not (_POINTS.search(said) or _SO_NOW.search(said) or _IN_THIS.search(said))
        if plain and (len(said.split()) > SHORTEST or not said.isascii()) and _enough(said):
            return RememberRequest("here", lasting.start(group), lasting.end(group), standing=True)
    keeps = _KEEPS_TO.search(low)
    if keeps and not _IN_THIS.search(low):
        return RememberRequest("here", keeps.start("rest"), keeps.end("rest"), to_do=True)
    if _WONDERS.search(low) and not _ONLY_ASKS.match(low):
        return RememberRequest("before")
    trails = _TRAILS.match(low)
    if trails and len(trails["ahead"].split()) > SHORTEST:
        return RememberRequest("here", 0, trails.end("ahead"))
    return None


def _asks_politely(low: str) -> bool:
    return re.match(_OPEN + r"(?:can|could|would|will|i wonder|let's|should we)\b", low) is not None


def _enough(rest: str) -> bool:
    plain = rest.strip(" .!?")
    return len(plain.split()) >= SHORTEST or (not plain.isascii() and len(plain) >= SHORTEST_LETTERS)


_REFUSES = re.compile(
    r"^(?:(?:please|also|and|but|so|just|oh|ok(?:ay)?|no|nope|wait|actually|sorry|btw|by the way)[,.:! ]+)*"
    r"(?:(?:you (?:should|must) |(?:can|could) you (?:please )?)?"
    r"(?:don't|do not|never|not to)(?: ever| please)?"
    r"|(?:there's |there is )?no need to)"
    rf" (?:(?:remember|memori[sz]e)\b|(?:save|store|keep|record|note|write|put|add|log) {_THIS}"
    rf"(?: (?:down|anywhere|{_INTO}))*{_LATER}(?: ?[:,.!–—-]|$)|(?:save|store|keep|put|add) .*\b{_INTO})"
    r"|\bnot for (?:your |the )?(?:memory|memories|notes)\b|\boff the record\b"
    r"|\b(?:keep|leave) (?:this|that|it|these|the following|what .{1,80}) out of"
    r" (?:your |the )?(?:memory|memories|notes)\b"
    r"|^(?:bitte )?(?:merk(?:e)? dir (?:das|dies|folgendes)? ?(?:bitte )?nicht|nicht merken)\b"
    r"|^ne (?:(?:le |l'|t'en )?(?:retiens|note|mémorise|garde|souviens) )pas\b"
    r"|^no (?:lo )?(?:recuerdes|memorices|anotes)\b|^no guardes esto\b"
    r"|^non (?:ricordare|memorizzare|annotare)\b|^não (?:se )?(?:lembre|memorize|anote)\b"
    r"|^onthoud (?:dit|dat|het) niet\b|^nie zapami[ęe]tuj\b|^не (?:запоминай|запоминайте)\b"
    r"|覚えないで|^(?:请)?(?:别|不要|不用)记|기억하지 ?마"
)
_REFUSES_BEFORE = re.compile(
    r"\b(?:that|this|it|das|ça|cela|esto|eso|questo|isso|dat|dit|это)\b[^:,]*[.!]*$"
)
_UNDOES = re.compile(
    r"^(?:(?:no|nope|oh|wait|actually|sorry|ok(?:ay)?|please)[,.! ]+)*"
    r"(?:please )?(?:forget|scratch|unlearn) (?:that|this|what i (?:just )?said)(?: again| please)?[ .!]*$"
)


def refuses(sentence: str) -> Literal["", "rest", "all"]:
    """Says what of its paragraph a sentence keeps out of memory: nothing, itself and the rest, or all.

    Args:
        sentence: as `prose.passages` gives it.
    """
    low = mask_quotes(sentence)
    if _REFUSES.search(low) is None:
        return ""
    return "all" if _REFUSES_BEFORE.search(low) else "rest"


def undoes(sentence: str) -> bool:
    """Says whether a sentence, the first of its message, takes back what was said in the one before."""
    low = mask_quotes(sentence)
    return _UNDOES.match(low) is not None or refuses(sentence) == "all"


@dataclass(frozen=True)
class Reversal:
    """What a person gives up, and what holds in its place.

    Attributes:
        old: words of what no longer holds; empty where only a cue says that something was wrong.
        start: where in the sentence the new statement begins; -1 where there is none.
        plainly: they asked that something told before be forgotten.
    """

    old: str
    start: int
    plainly: bool = False


_END = (
    r"(?= (?:because|since|so|as|now|any ?more|any longer|after all|here|in favou?r|last|since|pls"
    r"|please|for (?:this|all|the))\b|[,.;!?(]|$)"
)
_THING = r"(?P<old>[^,.;!?]+?)"
_TOLD = (
    r"(?:what(?:ever)?|everything|anything|all|the (?:thing|part|bit|stuff|rule|note)s?|that)(?: that)?"
    r" (?:i|we|you)(?:'ve| have| had)?(?: just| once| already)? (?:said|told(?: you)?|wrote|mentioned"
    r"|asked|decided|know|knew|remember(?:ed)?|learn(?:ed|t)|noted|stored|saved)"
    r"(?: (?:earlier|before|yesterday))?"
)
# Of what was said, or of memory, in so many words: "remove the part about Docker" is a task.
_FORGETS = re.compile(
    r"^(?:(?:ok(?:ay)?|please|no|wait|actually|sorry|and|so|oh|hm+)[,. ]+)*(?:can you "
    r"|could you )?(?:please )?(?:just )?"
    rf"(?:(?:forget|disregard|ignore|scratch|drop|delete|remove|unlearn)(?: about)? {_TOLD}"
    rf" (?:about|on|regarding|concerning|with) {_THING}{_END}"
    r"|(?:forget|drop|delete|remove) (?:(?:the|that|this|any|all) memor(?:y|ies)|your (?:memor(?:y|ies)"
    r"|notes?)) (?:about|on|of|that says|regarding) (?P<memory>[^,.;!?]+)"
    r"|forget that (?P<that>(?:we|i|our|the|all|every) [^,.;!?]+)"
    r"|(?:forget|disregard|scratch) (?:that|the (?:thing|part|bit|stuff|idea)s?) about"
    r" (?P<loose>[^,.;!?]+))"
    r"[,.;:! –—-]*(?P<new>.*)$"
)
_SWITCHES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:switch(?:ed)?|mov(?:ed|e|ing)|migrat(?:ed|ing|e)|chang(?:ed|ing|e)|going"
        rf"|went)(?: \w+)? from {_THING} (?:to|over to|onto) \w",
        rf"\b(?:moved|switched|migrated|gone|got) (?:away |off |away from "
        rf"|off of )(?:from )?{_THING}{_END}",
        rf"\b(?:use|using|prefer|want|take|with|on|against|in|is|are|be|to) [^,.;!?]+?(?:,| and)? (?:not"
        rf"|never|no longer|no more|instead of|rather than|and not)"
        rf" (?:with |on |in |against |to |the old )?{_THING}{_END}",
        rf"\binstead of {_THING},? (?:use|we|it|take|the|poll|do)\b",
        rf"\b(?:not|no|never) {_THING},? but (?!only\b)",
        rf"\b(?:stop|quit|no more|no longer|avoid) (?:using |doing |with )?{_THING}{_END}",
        rf"\b(?:we|i|they) (?:don't|do not|aren't|are not|won't)(?: \w+)?(?: (?:use|on|to|do|with"
        rf"|via))? {_THING} (?:any ?more|any longer|now)\b",
        rf"\b(?:don't|do not|won't|no longer)(?: \w+)?(?: (?:to|with|on|via|in|from|for|by))? {_THING}"
        r" (?:any ?more|any longer)\b",
        rf"\b(?:we|i|they)(?:'ve| have)? (?:dropped|abandoned|retired|killed|removed|got rid of"
        rf"|gave up(?: on)?|stopped using|ditched) {_THING}{_END}",
        rf"(?:^|[,;] ){_THING} (?:is|are|was|were)(?: now)? (?:gone|dead|deprecated|out|outdated"
        rf"|obsolete|history|the old \w+|only for|no longer)\b",
        rf"^(?:no|nope|nah|wrong|actually|sorry)?[,. ]*no {_THING}[.!] ",
        rf", not {_THING}$",
    )
)
_CUE = re.compile(
    r"^(?:(?:oh|ah|ok|okay|wait|hm+|and|but|well)[,.! ]*)*(?:actually|no|nope|nah|sorry|correction"
    r"|scratch that|wrong|on second thoughts?"
    r"|my mistake|my bad|i mean|rather|change of plan|new plan|never ?mind)\b|\bi meant\b"
    r"|\bi (?:misspoke|was wrong)\b|\b(?:that|this)(?: was|'s| is)"
    r" (?:wrong|outdated|old|no longer|not true|changed)\b|\binstead\b|\bno longer true\b"
    r"|\bchanged my mind\b|\b(?:that|has) changed\b"
    r"|(?<!\w)not [^,.;]+,? but (?!only\b)|, not [^,.;]+[.!]*$|\brevert (?:that|the) decision\b|\b(?:is"
    r"|are) now\b|\bnow\b.*\bused to be\b|\bagain\.?$"
    r"|\bwas the old\b|\bnow,? (?:drop|no)\b"
)


_PASSING = re.compile(
    r"\b(?:for (?:now|once|the (?:moment|time being)|a (?:moment|bit|while|minute))|at the moment|right now"
    r"|meantime|temporarily|today|tonight|here|until|sessions?|th(?:is|ese)(?! memor))\b"
)
# "Disregard" and "ignore" ask for an action, not of memory.
_OF_MEMORY = re.compile(r"\b(?:forget|unlearn|drop|delete|remove|scratch)\b")
_COURTESY = re.compile(
    r"^(?:please|thanks?|thank you|thx|any ?more|any longer|completely|after all|ok(?:ay)?)?[ .!)]*$"
    r"|^(?:because|since|as) .+|^(?:it|that) (?:is|was|isn't|wasn't) .+|^(?:it|that)'s .+"
)
_STATES = re.compile(
    r"^(?!.*\b(?:please|(?:want|need|have|like) to"
    r"|is (?:red|green|broken|failing|down|ready|done))\b)"
    r"(?:(?:instead|from now on|now|actually),? )?"
    r"(?:(?:we|i|our|my|the|a|an|all|every|each|no|nobody"
    r"|everyone|there|they|always|never|use|prefer)\b|\w+ (?:is|are|uses?|runs?|has|have)\b).+"
)


def is_passing(sentence: str) -> bool:
    """Says whether a sentence speaks of the moment or of the thing at hand: "for now", "in this PR"."""
    return _PASSING.search(mask_quotes(sentence)) is not None


def reversals(sentence: str) -> Iterator[Reversal]:
    """Yields the ways in which a sentence may give something up, the plainest first.

    Args:
        sentence: as `prose.passages` gives it.
    """
    low = mask_quotes(sentence)
    forgets = _FORGETS.match(low)
    if forgets:
        loose = forgets["that"] or forgets["loose"]
        old = forgets["old"] or forgets["memory"] or loose
        if is_passing(sentence):
            # A memory outlives what is said of one pull request.
            return
        new = forgets["new"]
        states = len(new.split()) > SHORTEST and _STATES.match(new) is not None and not new.endswith("?")
        start = forgets.start("new") if states else -1
        # "Forget that the test failed" may be about the moment, and so may "…, just push".
        of_memory = _OF_MEMORY.search(low[: forgets.start("new")]) is not None and not loose
        polite = not low.rstrip().endswith("?") or _asks_politely(low)
        whole = states or _COURTESY.match(new.rstrip("?")) is not None
        yield Reversal(old.strip(), start, plainly=of_memory and polite and whole)
        return
    if low.rstrip().endswith("?"):
        return
    for pattern in _SWITCHES:
        found = pattern.search(low)
        if found and found["old"].strip():
            yield Reversal(sentence[found.start("old") : found.end("old")].strip(), 0)
    if takes_back(sentence):
        yield Reversal("", 0)


def takes_back(sentence: str, before: str = "") -> bool:
    """Says whether a sentence, or a short one before it ("No, wait."), plainly corrects something."""
    ahead = mask_quotes(before)
    return bool(
        _CUE.search(mask_quotes(sentence)) or (len(ahead.split()) <= SHORT_CUE and _CUE.search(ahead))
    )


SHORT_CUE = 4
"""Words of a sentence that is nothing but a cue, at most."""
