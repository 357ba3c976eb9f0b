"""What a dream made up: claims and facts that no source which can be named and looked up taught."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime

from gitmem.core.account import by_target, is_memory, line_fates, path_of, references
from gitmem.core.claim import Claim
from gitmem.core.daily_log import LogLine
from gitmem.core.dates import relative_dates
from gitmem.core.facts import LINK, about, added, misplaced_facts, unheard, without_dates
from gitmem.core.memory import Memory, parse
from gitmem.core.names import slugify
from gitmem.core.references import only_renamed, with_names
from gitmem.core.trailers import Fate
from gitmem.rules.account import DreamGround, ReplayedCommit, agent_of, line_of, no_names, quote_claim
from gitmem.rules.rule import Finding
from gitmem.rules.source import Source, said_in, untaught

_OWN = frozenset({"name", "type"})
"""What every memory says of itself in its frontmatter, beside its description."""


_LINK = re.compile(rf"{LINK.pattern}|(?<=\])\(([^()\s]+)\)")
"""The same of both kinds of links."""

_FILE = re.compile(r"[\w.@-]+(?:/[\w.@-]+)*\.\w{1,10}|[\w.@-]+(?:/[\w.@-]+)+")

MOST_FILES = 8
"""Files of the code that the reason of a change may name as its source."""

UNSEEN = "unseen"
"""The rule of what a session or the code's history says that is not here: who knows it may let it pass."""

_COUNTER = re.compile(r"-[2-9]$")
_APART = re.compile(r"\W+")


def inventions(step: ReplayedCommit, ground: DreamGround) -> Iterator[Finding]:
    """Finds the claims of a step that are neither there before nor made of what was.

    What takes a claim's place says nothing that no source taught: the claims themselves, what stands in the
    same memory, a claim or a line of a log that says the same, a session or a file of the code that the
    change names. It may have the names that the code has for its things now. A merged one says it in the
    words of these. What took no claim's place says nothing that the memory did not say, and what was made
    of lines of a log says what they say, and no more.
    A link may stand where a claim was that went to another memory (`See [[name]].`).
    """
    here, there = references(step.before), references(step.after)
    known = {(agent_of(path_of(ref)), claim.key) for ref, claim in here.items()}
    into: dict[str, list[Fate]] = {}
    for fate in step.fates:
        # A fate of what is still there says nothing of where the new claim comes from.
        if fate.source in here and fate.source not in there:
            into.setdefault(fate.target, []).append(fate)
    flows: dict[str, list[str]] = {}
    for target, fates in into.items():
        flows.setdefault(path_of(target), []).extend(here[fate.source].key for fate in fates)
    around: dict[str, list[str]] = {}
    for ref, claim in here.items():
        around.setdefault(path_of(ref), []).append(claim.key)
    heard: dict[str, dict[str, LogLine]] = {}
    own: dict[str, list[str]] = {}
    for target, lines in by_target(step.lines, line_fates(step.fates, there)).items():
        heard.setdefault(path_of(target), {}).update(lines)
        own[target] = [line.text for line in lines.values()]
    for path, lines in heard.items():
        flows.setdefault(path, []).extend(line.text for line in lines.values())
    for ref, claim in there.items():
        path = path_of(ref)
        if ref in here or (agent_of(path), claim.key) in known:
            continue
        fates = into.get(ref, [])
        if not fates and _is_pointer(claim, path, step, there):
            continue
        said = [
            (here[one.source].key, ground.said[one.source]) for one in fates if one.source in ground.said
        ]
        said += [(line.text, line.when) for line in heard.get(path, {}).values()]
        text = without_dates(claim.key, _dated(said))
        # Mostly a claim says what its own lines say, and a memory may be made of many.
        if ref in own and not added(text, own[ref]) and not unheard(text, own[ref]):
            continue
        listed = step.listed.get(path, "")
        at = Finding(path, line_of(step.after, path, claim), "invented", "", claim=ref)
        if any(fate.kind == "superseded" for fate in fates):
            gone = [here[fate.source].key for fate in fates]
            near = [Source(path, one) for one in (*around.get(path, ()), *flows.get(path, ()), listed)]
            yield from _replacing(at, text, claim, gone, near, fates, step, ground)
            continue
        sources = [*around.get(path, ()), *flows.get(path, ()), listed]
        facts = (*added(text, sources), *misplaced_facts(text, sources))
        fresh = about(text) - _about(sources)
        if not facts and fates and any(about(here[f.source].key) - about(text) for f in fates):
            facts = tuple(f"the word {word}" for word in sorted(fresh))
        if facts:
            what = f"nothing before it has {', '.join(facts)}"
        elif unheard(text, sources):
            what = "nothing before it says this"
        else:
            continue
        yield replace(at, message=f"{what}: {quote_claim(claim.text)}")


def _is_pointer(claim: Claim, path: str, step: ReplayedCommit, there: Mapping[str, Claim]) -> bool:
    """Whether a claim says nothing but where one that stood here went: `See [[name]].`"""
    links = _links(claim.key)
    if not links or _unlinked(claim.key).strip(" .:-*+[]").casefold() not in ("see", "see also"):
        return False
    ends = {
        path_of(fate.target) for fate in step.fates if path_of(fate.source) == path and fate.target in there
    }
    names = {_called(end) for end in ends - {path}}
    names |= {slugify(parse(end, step.after[end]).name) for end in ends - {path}}
    return links <= names


def _replacing(
    at: Finding,
    text: str,
    claim: Claim,
    gone: Sequence[str],
    near: Sequence[Source],
    fates: Sequence[Fate],
    step: ReplayedCommit,
    ground: DreamGround,
) -> Iterator[Finding]:
    """What a claim that supersedes others says, and no source that can be looked up taught."""
    links = [link for one in gone for pair in _LINK.findall(one) for link in pair]
    text, gone = _unlinked(text), [*map(_unlinked, gone), *filter(None, links)]
    if turned := _turned_links(claim.key, fates, step, ground):
        yield replace(at, message=f"{turned}: {quote_claim(claim.text)}")
        return
    missing = untaught(text, gone, near)
    if missing:
        missing = untaught(text, gone, (*near, *ground.sources(agent_of(at.path)), *_files(fates, ground)))
    here = references(step.before)
    # A reason that tells of names takes the cost off a change (`proof.costs`): it is proved in any case.
    renamed = any(only_renamed(here[fate.source].key, claim.key, fate.reason) for fate in fates)
    if not (missing or renamed) or _only_renamed(claim, fates, here, ground):
        return
    unseen = []
    for id in step.sessions:
        heard = ground.lookup.session(id)
        if heard is None:
            unseen.append(id)
        elif said_in(messages(heard), text, gone):
            return
    said = ", ".join(missing) or "a name in the place of another"
    what = f"it says {said}, and no claim, log, session or file that it names taught that"
    if ground.lookup.names is no_names and renamed:
        what = f"unproved here: {said} is said to be its name in the code, which is not here"
        yield replace(at, rule=UNSEEN, message=f"{what}: {quote_claim(claim.text)}")
        return
    if unseen:
        what = f"unproved here: {said} is said to be taught by session {quote_claim(unseen[0])}, "
        what += "which is not here"
    yield replace(at, rule=UNSEEN if unseen else "invented", message=f"{what}: {quote_claim(claim.text)}")


def _only_renamed(
    claim: Claim, fates: Sequence[Fate], here: Mapping[str, Claim], ground: DreamGround
) -> bool:
    """Whether a claim says what another one said, with the names that the code has for its things now."""
    olds = ((fate.source, here[fate.source].key) for fate in fates)
    return any(with_names(old, ground.lookup.names(ref, old)) == claim.key for ref, old in olds)


def messages(session: str) -> list[str]:
    """The messages of a session as a dream is given it, a paragraph each."""
    return [part for part in session.split("\n\n") if part.strip()]


def _files(fates: Iterable[Fate], ground: DreamGround) -> Iterator[Source]:
    """The files of the code that the reasons of a change name, a line each."""
    named = dict.fromkeys(match.group() for fate in fates for match in _FILE.finditer(fate.reason))
    for path in list(named)[:MOST_FILES]:
        said = ground.lookup.code(path)
        yield from (Source(path, line) for line in (said or "").splitlines())


def _unlinked(text: str) -> str:
    """A claim without where its links lead, which is looked at by itself."""
    return _LINK.sub(" ", text)


def _turned_links(new: str, fates: Sequence[Fate], step: ReplayedCommit, ground: DreamGround) -> str:
    """Why links lead elsewhere than before, as a phrase; empty where only dead ones were mended."""
    old = {link for fate in fates for link in _links(references(step.before)[fate.source].key)}
    standing = set(map(_called, ground.standing))
    standing |= {slugify(parse(path, data).name) for path, data in step.after.items() if is_memory(path)}
    gone = {
        name
        for path, data in step.before.items()
        if path not in step.after and is_memory(path)
        for name in (slugify(parse(path, data).name), _called(path))
    }
    left = sorted(link for link in old - _links(new) if link in standing - gone)
    if not left or not _links(new) - old:
        return ""
    return f"it leads elsewhere than to {quote_claim(left[0])}, which is there"


def _links(text: str) -> set[str]:
    """Names that a text links to, as links compare them."""
    return {slugify(one) if one else _called(other) for one, other in _LINK.findall(text)}


def _called(path: str) -> str:
    """The name that links have for a file."""
    return slugify(path.rpartition("/")[2].removesuffix(".md"))


def _about(texts: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*map(about, texts))


def refiled(step: ReplayedCommit) -> Iterator[Finding]:
    """Finds what a step may not do to frontmatter: anything but word the description anew.

    It holds no claims, so whoever decides on the dream would see nothing of it; only a comment may go. What
    a new memory says of itself besides its name, description and type was said of one that goes into it.
    """
    personal = {
        path for path, data in step.before.items() if is_memory(path) and parse(path, data).type == "user"
    }
    told = {
        path_of(target)
        for target, lines in by_target(step.lines, line_fates(step.fates, references(step.after))).items()
        if any(line.type == "user" for line in lines.values())
    }
    known = {
        (key, old.front.text(key))
        for path, data in step.before.items()
        if is_memory(path) and (old := parse(path, data)).front
        for key in (*_keys(old), *_comments(old))
    }
    for path in sorted(step.after):
        if not is_memory(path):
            continue
        after = parse(path, step.after[path])
        if path in step.before:
            yield from _front(path, after, parse(path, step.before[path]), set())
        else:
            yield from _front(path, after, None, known)
        if after.type != "user" and (path in told or path in _fed(step, personal)):
            yield Finding(path, 1, "place", "it takes in what is about a person, and has another type")


def _front(
    path: str, after: Memory, before: Memory | None, known: set[tuple[str, str]]
) -> Iterator[Finding]:
    """What a memory says of itself otherwise than before."""
    if before is not None:
        gone = [key for key in _keys(before) if key not in _keys(after)]
        if gone:
            yield Finding(path, 1, "account", f"its frontmatter loses {quote_claim(gone[0])}")
    had = {*_keys(before), *_comments(before)} if before else set()
    for key in (*_keys(after), *(note for note in _comments(after) if note not in had)):
        said = after.front.text(key) if after.front else ""
        if key == "description" or (key, said) in known:
            continue
        if before is not None and before.front and key in had:
            if before.front.text(key) != said:
                yield Finding(
                    path,
                    1,
                    "account",
                    f"its frontmatter says another {quote_claim(key)}: {quote_claim(said)}",
                )
        elif key not in _OWN:
            what = f"{quote_claim(key)}: {quote_claim(said)}" if said else quote_claim(key)
            yield Finding(path, 1, "invented", f"nothing before it says {what}")
        elif key == "name" and (facts := _titled(path, said, after)):
            yield Finding(path, 1, "invented", f"its name has {', '.join(facts)}: {quote_claim(said)}")


def _titled(path: str, name: str, memory: Memory) -> tuple[str, ...]:
    """Names what a memory's name says and the memory does not.

    A name is made of what it says: in small letters, `v1-2-0` for v1.2.0, with `-2` behind it where it was
    taken. Whether it was is in no step; where the file bears the same name, whoever decides has seen it.
    """
    if slugify(name) == _called(path):
        name = _COUNTER.sub("", name)
    said = [memory.description, memory.body]
    return added(name.casefold(), [*said, *(_APART.sub("-", text) for text in said)])


def _keys(memory: Memory) -> list[str]:
    return [field.key for field in memory.front.fields if field.key] if memory.front else []


def _comments(memory: Memory) -> list[str]:
    fields = [field for field in memory.front.fields if field.key != "description"] if memory.front else []
    lines = (line.strip() for field in fields for line in field.raw.splitlines())
    return [line for line in lines if line.startswith("#")]


def _fed(step: ReplayedCommit, personal: set[str]) -> set[str]:
    """Memories that claims of these went to, and these themselves."""
    here = set(references({path: step.before[path] for path in personal}))
    return personal | {path_of(fate.target) for fate in step.fates if fate.source in here and fate.target}


def _dated(said: Iterable[tuple[str, datetime]]) -> dict[str, date]:
    """Relative phrases of texts, with the days that they meant when each was said."""
    return {
        phrase.text: phrase.date
        for text, when in said
        for phrase in relative_dates(text, when)
        if phrase.date is not None
    }
