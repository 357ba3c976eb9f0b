"""A dream as a person decides on it: a card a change, counts by kind, and what all of it saves.

A card is a value: claims before and after, what becomes of each, who said each side and when, and what was
proved. It is shown in a terminal (`show`) and in a request (`flows.pull_request`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from gitmem.core.account import BranchChange, is_memory, log_references, path_of, proposals, references
from gitmem.core.claim import DISPUTED, repetition
from gitmem.core.errors import MissingObject
from gitmem.core.facts import missing_facts, without_dates
from gitmem.core.index import INDEX
from gitmem.core.memory import parse
from gitmem.core.names import slugify
from gitmem.core.text import counted, one_line
from gitmem.core.trailers import JUDGED, Telling
from gitmem.git.trees import read_paths
from gitmem.ledger.blame import ClaimOrigin, origins_of
from gitmem.ledger.dreams import ClaimStory, Dream, DreamCommit
from gitmem.rules.account import errors
from gitmem.rules.rule import Finding
from gitmem.values import dataclass

Origins = Mapping[str, tuple[ClaimOrigin, ...]]
"""Claim (`<file>#<12 hex>`) to where it came into being, oldest first."""

LONG = 6
"""Lines of one claim that are shown unless all are asked for."""

WIDE = 1_200
"""Characters of a line that are shown unless all are asked for: a paragraph is one line."""

TITLE = 120
"""Terminal cells of a claim that a title quotes; the terminal breaks what it has no room for."""

TOKEN = 4
"""Characters of English prose to a token of a model, by the vendors' rule of thumb."""

KINDS = {
    "merge": ("duplicate merged", "duplicates merged"),
    "supersede": ("statement superseded", "statements superseded"),
    "dispute": ("dispute settled", "disputes settled"),
    "link": ("link repaired", "links repaired"),
    "date": ("date made absolute", "dates made absolute"),
    "log": ("memory made of logs", "memories made of logs"),
    "index": ("index line kept", "index lines kept"),
    "edit": ("other edit", "other edits"),
    "question": ("question", "questions"),
}
"""Kinds of change as they are counted, best first."""

_LINK = re.compile(r"\[\[[^\[\]\n|#]*(?=(?:[|#][^\[\]\n]*)?\]\])|\]\([^()\n]*\)")
_APART = re.compile(r"\s*(?:$|[-*+>|#]\s|[|>#]|\d+[.)]\s)|\s{4}")
_FENCED = re.compile(r"^\s*(?:```|~~~|\||\s{4}\S)|-----BEGIN", re.MULTILINE)
_QUOTED = re.compile(r"“([^”]*?)(…?)”")
_KIND_COUNT = re.compile(r"\d+ x [\w-]+")


@dataclass(frozen=True)
class CardSide:
    """A claim on a card.

    Attributes:
        mark: `-` it goes, `+` it comes, `=` it stands, before and after.
        notes: who said it, and what becomes of it.
    """

    mark: str
    text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Card:
    """One change, or one memory of an inbox, with all that it takes to decide on it.

    Attributes:
        n: its number, by which it is decided.
        title: what it does, or asks.
        kind: one of `KINDS`; empty where it is no change of a dream.
        state: what is to be said behind the title: by whom, and whether it is decided.
        reason: why, perhaps several lines.
        proof: what came of proving it; empty where that was not tried.
        later: of a question on two claims, the mark of the one that is taken for the later; else empty.
    """

    n: int
    title: str
    kind: str
    sides: tuple[CardSide, ...]
    state: str = ""
    reason: str = ""
    proof: tuple[str, ...] = ()
    later: str = ""


@dataclass(frozen=True)
class Worth:
    """What changes save.

    Attributes:
        lines: lines of the index.
        tokens: of what was said twice, about.
        stale: statements that something later took the place of.
    """

    lines: int = 0
    tokens: int = 0
    stale: int = 0

    @property
    def words(self) -> str:
        """The same for a person; empty where nothing is saved."""
        parts = [counted(self.lines, "line") + " of index"] if self.lines > 0 else []
        parts += [f"about {counted(self.tokens, 'token')} said twice"] if self.tokens else []
        parts += [counted(self.stale, "stale statement")] if self.stale else []
        return ", ".join(parts)


def kind_of(change: DreamCommit) -> str:
    """What a change does, one of `KINDS`: worked out from its claims, whatever its message says."""
    stories = change.claims
    gone = [one for one in stories if one.fate.kind in ("merged", "superseded", "dropped")]
    moved = [one for one in stories if one.fate.target and path_of(one.fate.target) != _home(one)]
    if change.asks:
        return "question"
    if change.by or not (gone or moved):
        return "edit"
    if any(one.line for one in stories):
        return "log"
    if all(_home(one).endswith(f"/{INDEX}") for one in gone):
        return "index" if gone else "merge"
    if any(DISPUTED in one.before for one in gone):
        return "dispute"
    if all(
        one.after and without_dates(one.after) == without_dates(one.before) != one.after for one in gone
    ):
        return "date" if not moved else "merge"
    if all(_turned(one) for one in gone):
        return "link" if not moved else "merge"
    return "supersede" if all(one.fate.kind != "merged" for one in gone) else "merge"


def _home(one: ClaimStory) -> str:
    return path_of(one.fate.source)


def _turned(one: ClaimStory) -> bool:
    """Whether a claim only leads elsewhere than before."""
    return bool(_LINK.search(one.before)) and not missing_facts(_LINK.sub(" ", one.before), one.after)


def best_first(changes: Iterable[DreamCommit]) -> list[DreamCommit]:
    """Changes in the order in which their kinds are counted; their numbers stay."""
    order = list(KINDS)
    return sorted(changes, key=lambda change: order.index(kind_of(change)))


def by_kind(changes: Iterable[DreamCommit]) -> dict[str, int]:
    """How many changes there are of each kind, best first; those without any are left out."""
    found = Counter(map(kind_of, changes))
    return {kind: found[kind] for kind in KINDS if found[kind]}


def worth(changes: Iterable[DreamCommit]) -> Worth:
    """What changes save together; of questions, which are open, nothing is counted."""
    lines = characters = stale = 0
    for change in changes:
        kind = kind_of(change)
        pairs = {path: pair for path, pair in change.files.items() if is_memory(path)}
        if kind != "question":
            # One line of the index leads to each memory that is not in the archive.
            hot = [pair for path, pair in pairs.items() if path.count("/") == 1]
            lines += sum((new is None) - (old is None) for old, new in hot)
            stale += sum(kind == "supersede" and one.fate.kind != "kept" for one in change.claims)
        if kind == "merge":
            characters += sum(len(old or b"") - len(new or b"") for old, new in pairs.values())
    return Worth(lines, max(0, characters) // TOKEN, stale)


def is_judged(change: DreamCommit) -> bool:
    """Whether a model alone says that what goes is said by what stays."""
    return not change.asks and any(line.startswith(JUDGED) for line in change.reason.splitlines())


def summary_lines(changes: Sequence[DreamCommit]) -> Iterator[str]:
    """Lines that sum changes up: how many of each kind, how many a model judged, and what they save."""
    for kind, number in by_kind(changes).items():
        yield f"  {counted(number, *KINDS[kind])}"
    if judged := [str(change.n) for change in changes if is_judged(change)]:
        yield f"  of these judged by a model, to be read before all is accepted: {', '.join(judged)}"
    if saved := worth(changes).words:
        yield f"saves {saved}"


def cards_of(
    changes: Iterable[DreamCommit], origins: Origins, failures: Sequence[Finding] | None = None
) -> tuple[Card, ...]:
    """Changes as cards, best first.

    Args:
        origins: as `claim_origins` gives them.
        failures: what the proof found; None where it was not made.
    """
    return tuple(_card(change, origins, failures) for change in best_first(changes))


def claim_origins(dream: Dream) -> dict[str, tuple[ClaimOrigin, ...]]:
    """Finds who taught the claims that a dream is about, and those they go into, in one walk of history.

    A claim that the dream itself made on the way, or whose history is missing, has none.
    """
    repo, start = dream.scope.repo, dream.ground or dream.base
    named = {story.fate.source for change in dream.changes for story in change.claims}
    named |= {end for change in dream.changes for end in change.stood}
    try:
        files = read_paths(repo, repo.commit(start).tree, set(map(path_of, named)))
        known = references(files) | log_references(files)
        wanted: dict[str, set[str]] = {}
        for one in named & known.keys():
            wanted.setdefault(path_of(one), set()).add(known[one].id)
        found = origins_of(repo, start, wanted)
    except MissingObject:
        return {}
    return {
        one: found[path_of(one), known[one].id]
        for one in named & known.keys()
        if (path_of(one), known[one].id) in found
    }


def untold(change: DreamCommit) -> tuple[BranchChange, ...]:
    """What a change did to claims that its account does not name: what came, and what went silently."""
    told = {end for fate in change.fates for end in (fate.source, fate.target) if end}
    return tuple(
        one
        for one in proposals(change.before, change.after)
        if one.before not in told and one.after not in told
    )


def show(
    dream: Dream,
    origins: Origins | None = None,
    failures: Sequence[Finding] | None = None,
    *,
    whole: bool = False,
    rejected: bool = False,
) -> Iterator[str]:
    """Lines that tell a dream: counts by kind, how to decide, then a card a change, and the proof.

    Args:
        origins: as `claim_origins` gives them; None where they were not looked for.
        failures: what the proof found; None where it was not made.
        whole: show long claims to their end.
        rejected: it was turned down and is only kept aside.
    """
    where = f", from {dream.remote}" if dream.incoming else ""
    taken = any(change.decided == "accepted" for change in dream.changes)
    state = (" [decided]" if taken else " [rejected]") if rejected else ""
    decided = len(dream.changes) - len(dream.open)
    left = f", {decided} decided" if decided and not rejected else ""
    yield f"{dream.id} ({dream.scope.name}{where}): {counted(len(dream.changes), 'change')}{left}{state}"
    yield from summary_lines(dream.changes if rejected else dream.open)
    if not rejected:
        asks = [change.asks for change in dream.open]
        if all(asks):  # which no one command answers
            yield "decide: git mem review settle, or each by its number"
        else:
            yield f"decide: git mem review -i, or all of it{' but questions' if any(asks) else ''}:"
            yield f"  git mem review accept {dream.id} --at {dream.tip[:12]}"
    waits = {change.n: change for change in dream.open} if not rejected else {}
    for card in cards_of(dream.changes, origins or {}, failures):
        yield ""
        yield from card_lines(card, whole=whole)
        if card.n in waits and waits[card.n].compares:
            yield f"   git mem review accept {dream.id} {card.n} --same|--newer|--older|--different"
        elif card.n in waits:
            yield f"   git mem review accept|reject {dream.id} {card.n}"
    if notes := summary_notes(dream):
        yield ""
        yield from notes
    if failures is not None:
        yield ""
        yield from proof_lines(failures)


def summary_notes(dream: Dream) -> list[str]:
    """What the dream leaves to a person, without the counts that stand before it."""
    lines = [line for line in dream.summary.splitlines() if not _KIND_COUNT.fullmatch(line)]
    return "\n".join(lines).strip("\n").splitlines()


def proof_lines(failures: Sequence[Finding]) -> Iterator[str]:
    """Lines that tell what came of the proof, and what it says nothing about."""
    wrong = errors(failures)
    if wrong:
        yield f"not proved, and not to be accepted as it is ({len(wrong)}):"
        yield from (f"  - {one} [{one.rule}]" for one in wrong)
    else:
        yield "proved: no claim is lost but those named above, and what the dream says anew has a source:"
        yield "  memory before it, or a log, a session or a file of the code that was looked up"
    unchecked = [one for one in failures if one.level != "error"]
    if unchecked:
        yield "not looked into:"
        yield from (f"  - {one}" for one in unchecked)


def card_lines(card: Card, *, whole: bool = False) -> Iterator[str]:
    """Lines that show a card; those of claims begin with three blanks and their mark."""
    yield f"{card.n}. {one_line(card.title, WIDE)}{card.state}"
    for line in card.reason.splitlines():
        yield f"   {line}"
    for side in card.sides:
        yield from (f"   {side.mark} {line}" for line in side_lines(side, whole=whole))
        yield from (f"     {one_line(note, WIDE)}" for note in side.notes)
    yield from (f"   {line}" for line in card.proof)


def side_lines(side: CardSide, *, whole: bool = False) -> Iterator[str]:
    """A claim's lines, as many and as much of each as is shown."""
    lines = _unwrapped(side.text)
    shown = lines if whole or len(lines) <= LONG + 1 else lines[:LONG]
    for line in shown:
        yield line if whole or len(line) <= WIDE else one_line(line, WIDE) + " (--all shows the rest)"
    if len(shown) < len(lines):
        yield f"… {len(lines) - len(shown)} more lines (--all shows them)"


def _unwrapped(text: str) -> list[str]:
    """Lines of Markdown, those of one paragraph as one: where they were broken says nothing."""
    lines: list[str] = []
    joins = not _FENCED.search(text)
    for line in text.splitlines():
        if joins and lines and lines[-1].strip() and not _APART.match(line):
            lines[-1] = f"{lines[-1].rstrip()} {line.strip()}"
        else:
            lines.append(line)
    return lines


def _card(change: DreamCommit, origins: Origins, failures: Sequence[Finding] | None) -> Card:
    by = f" (by hand: {one_line(change.by, WIDE)})" if change.by else ""
    decided = f" [{change.decided}]" if change.decided else ""
    told = [tuple(_story(change, story, origins)) for story in change.claims if story.line is None]
    told += [(side,) for side in _from_logs(change, origins)]
    told += [tuple(proposal_sides(one, by=change.by)) for one in untold(change)]
    sides = [*_told_once(told), *_headers(change)]
    proof: tuple[str, ...] = ()
    if failures is not None and not change.decided:
        sources = {fate.source for fate in change.fates}
        wrong = [one for one in errors(failures) if one.commit == change.commit or one.claim in sources]
        proof = tuple(f"not proved: {one} [{one.rule}]" for one in wrong) or ("proved",)
    texts = tuple(_flat(side.text) for side in sides)
    reason = "\n".join(one for one in change.reason.splitlines() if not _repeats(one, texts))
    sides = [replace(side, notes=tuple(n for n in side.notes if not _repeats(n, texts))) for side in sides]
    # Where two begin alike, what stands is what a question quotes.
    order = [_flat(side.text) for side in sorted(sides, key=lambda side: side.mark != "=")]
    title = _QUOTED.sub(lambda quote: _in_full(quote[0], quote[1], quote[2], order), change.subject)
    later = by_time(change, origins)[1] if change.compares else ""
    mark = "=" if later in change.stood else "-" if later else ""
    return noted_once(
        Card(change.n, title, kind_of(change), tuple(sides), by + decided, reason, proof, mark)
    )


def _told_once(told: Iterable[Iterable[CardSide]]) -> Iterator[CardSide]:
    """The sides of claims, each once: a description often says what the body does, but for a full stop."""
    once: dict[object, tuple[CardSide, ...]] = {}
    for some in map(tuple, told):
        once.setdefault(tuple((one.mark, repetition(_flat(one.text)), one.notes) for one in some), some)
    for some in once.values():
        yield from some


def noted_once(card: Card) -> Card:
    """The card, with what holds of several claims in a row said once, behind the last of them."""
    following = [*(side.notes for side in card.sides[1:]), ()]
    sides = (
        replace(side, notes=()) if side.notes == after else side
        for side, after in zip(card.sides, following, strict=False)  # a change of order alone has no side
    )
    return replace(card, sides=tuple(sides))


def by_time(change: DreamCommit, origins: Origins) -> tuple[str, str]:
    """The earlier and the later of the two claims that a question compares, by reference.

    Where nobody knows when they were said, or both were on one day, the one that stands on the card is
    taken for the later.
    """
    fate = next(fate for fate in change.fates if fate.target in change.stood)
    goes, stays = (first_said(origins, one) for one in (fate.source, fate.target))
    turned = goes is not None and stays is not None and goes.date() > stays.date()
    return (fate.target, fate.source) if turned else (fate.source, fate.target)


def first_said(origins: Origins, ref: str) -> datetime | None:
    """When a claim came into being; None where that is not known, as of what was adopted."""
    found = origins.get(ref, ())
    if not found or any(one.provenance.op == "adopt" for one in found[0].told):
        return None
    return datetime.fromtimestamp(found[0].time, UTC)


def _in_full(quote: str, said: str, cut: str, texts: Sequence[str]) -> str:
    """A quote of a title, which a commit's subject has no room for, as long as a title may have it."""
    found = next((text for text in texts if cut and said.strip() and text.startswith(said.strip())), "")
    return f"“{one_line(found, TITLE)}”" if found else quote


def _repeats(line: str, texts: Sequence[str]) -> bool:
    """Whether a line of why does no more than quote what stands on the card, with who said it."""
    quotes = [(_flat(said), cut) for said, cut in _QUOTED.findall(line)]
    return bool(quotes) and all(
        any(text == said or (cut and text.startswith(said)) for text in texts) for said, cut in quotes
    )


def _flat(text: str) -> str:
    return " ".join(text.split()).lstrip("-*+ ")


def _story(change: DreamCommit, story: ClaimStory, origins: Origins) -> Iterator[CardSide]:
    """A claim of a memory: before and after, with who said each side."""
    fate = story.fate
    source, target = path_of(fate.source), path_of(fate.target) if fate.target else ""
    here = target == source
    way = {"kept": "moves" if target else "stays", "merged": "becomes this" if here else "merged"}.get(
        fate.kind, fate.kind
    )
    to = f" → {target}" if target not in ("", source) else " → nowhere" if fate.kind == "dropped" else ""
    told = f"{way}: {source}{to}"
    why = [" ".join(fate.reason.split())] if fate.reason and fate.reason != change.reason else []
    mine = _said(origins, fate.source)
    if story.before == story.after:
        yield CardSide("=", story.before, (*mine, told, *why))
    elif not story.after:
        yield CardSide("-", story.before, (*mine, told, *why))
    else:
        stood = fate.target in change.stood
        theirs = _said(origins, fate.target)
        both = tuple(f"both {one}" for one in theirs)
        yield CardSide("-", story.before, () if mine == theirs else mine)
        notes = (*(both if mine == theirs else theirs), told, *why)
        yield CardSide("=" if stood else "+", story.after, notes)


def _from_logs(change: DreamCommit, origins: Origins) -> Iterator[CardSide]:
    """Claims that were made of lines of logs, each with its lines."""
    heard: dict[str, list[ClaimStory]] = {}
    for story in change.claims:
        if story.line is not None:
            heard.setdefault(story.fate.target, []).append(story)
    for target, stories in heard.items():
        mark = "=" if target in change.stood else "+"
        notes = [path_of(target), *(note for story in stories for note in _heard(story, origins))]
        yield CardSide(mark, stories[0].after, tuple(notes))


def _heard(story: ClaimStory, origins: Origins) -> Iterator[str]:
    fate, line = story.fate, story.line
    if line is not None:
        session = f", session {line.session}" if line.session else ""
        over = f", superseded: {fate.reason}" if fate.kind == "superseded" else ""
        said = one_line(line.text, WIDE)
        yield f"log {line.when:%Y-%m-%d %H:%M:%SZ} [{line.type}{session}]{over}: {said}"
        yield from _said(origins, fate.source)


def proposal_sides(one: BranchChange, *, by: str = "", notes: tuple[str, ...] = ()) -> Iterator[CardSide]:
    """What a claim was and is, where no account says why.

    Args:
        by: who did it by hand; empty where nobody did.
        notes: who said it.
    """
    hand = f" by {by}" if by else ""
    told = {
        "added": f"{one.path}: added{hand}",
        "changed": f"{one.path}: changed{hand}",
        "moved": f"moves: {one.source} → {one.path}",
        "deleted": f"{one.path}: taken out{hand}, and nothing says why",
    }[one.kind]
    if one.old is not None and one.kind != "moved":
        yield CardSide("-", one.old.text, () if one.new else (*notes, told))
    if one.new is not None:
        yield CardSide("=" if one.kind == "moved" else "+", one.new.text, (*notes, told))


def memory_cards(
    wanted: Iterable[BranchChange], said: Mapping[BranchChange, tuple[str, ...]] | None = None
) -> tuple[Card, ...]:
    """What a branch does to claims, a card a memory, in their order.

    Args:
        said: who said what comes or goes, where that is known.
    """
    by_path: dict[str, list[Iterator[CardSide]]] = {}
    for one in wanted:
        by_path.setdefault(one.path, []).append(proposal_sides(one, notes=(said or {}).get(one, ())))
    cards = enumerate(by_path.items(), start=1)
    return tuple(Card(n, path, "", tuple(_told_once(told))) for n, (path, told) in cards)


def _headers(change: DreamCommit) -> Iterator[CardSide]:
    """What a memory says of itself otherwise than before, its description, which is a claim, apart."""
    for path, pair in sorted(change.files.items()):
        if pair[1] is None or not is_memory(path):
            continue
        old, new = ({} if data is None else _header(path, data) for data in pair)
        if pair[0] is None:
            # Agents read a name in the index; most are the file's, which is shown already.
            other = slugify(new.get("name", "")) != path.rpartition("/")[2].removesuffix(".md")
            new = {"name": new["name"]} if "name" in new and other else {}
        for key in sorted({*old, *new}):
            if old.get(key) != new.get(key):
                lines = [("-", old[key])] if key in old else []
                lines += [("+", new[key])] if key in new else []
                for at, (mark, text) in enumerate(lines, 1):
                    notes = (f"{path}: its frontmatter",) if at == len(lines) else ()
                    yield CardSide(mark, f"{key}: {text}", notes)


def _header(path: str, data: bytes) -> dict[str, str]:
    front = parse(path, data).front
    keys = front.keys() if front else ()
    return {key: one_line(front.text(key), WIDE) for key in keys if front and key != "description"}


def _said(origins: Origins, ref: str) -> tuple[str, ...]:
    return tuple(f"said by {taught_by(one)}" for one in origins.get(ref, ()))


def taught_by(origin: ClaimOrigin) -> str:
    """Who taught a claim, when, and by what, in one phrase."""
    told = origin.told[0] if origin.told else None
    who = (told.author.partition("<")[0].strip() if told else "") or "somebody"
    day = datetime.fromtimestamp(origin.time, UTC).date().isoformat()
    if told and told.provenance.op == "adopt":
        return f"{who}, nobody knows when, in a file of {day}"
    return f"{who}, {day}" + (_way(told) if told else "")


def _way(told: Telling) -> str:
    by = told.provenance
    writer = f", {by.by}" if by.source else f", by {by.by}" if by.writer != "human" else ""
    return writer + (f", session {by.session[:8]}" if by.session else "")
