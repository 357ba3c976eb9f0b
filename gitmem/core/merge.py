"""The one merge of gitmem: three trees in, one tree out, no claim lost.

It serves sync, snapshots, dreams, live directories and git's own merge alike. It reads three mappings of
path to bytes and nothing else: no git, no clock, no order of the sides. A caller may leave out paths that
are equal in all three.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from gitmem.core import frontmatter, index, tombstone
from gitmem.core.claim import (
    DISPUTE_LENGTH,
    DISPUTED,
    Body,
    Claim,
    claim_id,
    dispute_of,
    normal_form,
    parse_body,
    settled_apart,
    with_dispute,
)
from gitmem.core.daily_log import is_timed, line_keys, merge_lines, split, without_lines
from gitmem.core.frontmatter import Field, Frontmatter, Value, render_field
from gitmem.core.memory import Memory, is_said, parse
from gitmem.core.names import Folded, agent_folder, archived_path, fold, hot_path, kind, stays_archived
from gitmem.core.sequence import Order, contests, merge_keys, pair_edits
from gitmem.core.text import decode, encode
from gitmem.values import dataclass

PRIVACY = ("user", "feedback", "project", "reference")
"""Types from the most private to the least (docs/formats.md, Merging: `type` takes the more private)."""

BOOKKEEPING = frozenset({"modified", "originSessionId", "node_type"})
"""Keys that clients keep for themselves: a value that loses is no claim."""


def merge_front(
    base: Frontmatter | None, ours: Frontmatter | None, theirs: Frontmatter | None
) -> tuple[Frontmatter | None, tuple[str, ...]]:
    """Merges three blocks.

    Returns:
        The block, and the claims to be added to the body for scalars that lost:
        `<key>: <value> *(disputed <8 hex>)*`.
    """
    before, one, other = (_text(block) for block in (base, ours, theirs))
    if one == other or before == other:
        return ours, ()
    if before == one:
        return theirs, ()
    if ours is None or theirs is None:
        return ours or theirs, ()
    skeleton = _skeleton(base, ours, theirs)
    losers: list[str] = []
    merged = skeleton
    for key in dict.fromkeys((*skeleton.keys(), *sorted({*ours.keys(), *theirs.keys()}))):
        fields = [_present(block, key) for block in (base, ours, theirs)]
        field, lost = _merge_field(key, *fields)
        if field is None:
            merged = merged.without(key)
        elif merged.field(key) != field:
            merged = merged.with_field(field)
        if lost:
            was = _shown(fields[0].value) if fields[0] else ""
            # With the key, so that a claim of the body that says the same is another dispute.
            mark = claim_id(normal_form(f"{key}: {was}", item=False))[:DISPUTE_LENGTH]
            losers.append(f"{key}: {' '.join(lost.split())} {DISPUTED}{mark})*")
    return merged, tuple(losers)


def _text(block: Frontmatter | None) -> str | None:
    return block.render() if block else None


def _present(block: Frontmatter | None, key: str) -> Field | None:
    """The field; a key that a client blanked counts as absent."""
    found = block.field(key) if block else None
    return found if found and found.value else None


def _skeleton(base: Frontmatter | None, ours: Frontmatter, theirs: Frontmatter) -> Frontmatter:
    """The block whose order, layout and comments the result takes."""
    layout = base.layout() if base else None
    if ours.layout() != theirs.layout():
        if ours.layout() == layout:
            return theirs
        if theirs.layout() == layout:
            return ours
    return min(ours, theirs, key=Frontmatter.render)


def _merge_field(
    key: str, base: Field | None, ours: Field | None, theirs: Field | None
) -> tuple[Field | None, str]:
    before, one, other = (field.value if field else None for field in (base, ours, theirs))
    if one == other:
        return _lesser(f for f in (ours, theirs) if f), ""
    if one == before or other == before:
        return (theirs if one == before else ours), ""
    if ours is None or theirs is None:
        return ours or theirs, ""
    if key == "type":
        return min(ours, theirs, key=lambda f: (_privacy(f.value), f.raw)), ""
    if isinstance(ours.value, tuple) or isinstance(theirs.value, tuple):
        return _merge_list(key, before, ours, theirs), ""
    if key == "modified":
        return max(ours, theirs, key=lambda f: (_shown(f.value), f.raw)), ""
    winner, loser = sorted((ours, theirs), key=lambda f: encode(_shown(f.value)))
    return winner, "" if key in BOOKKEEPING else _shown(loser.value)


def _lesser(fields: Iterable[Field]) -> Field | None:
    return min(fields, key=lambda f: (f.nested, f.raw), default=None)


def _privacy(value: Value) -> int:
    return PRIVACY.index(_shown(value).lower()) if _shown(value).lower() in PRIVACY else len(PRIVACY)


def _merge_list(key: str, before: Value | None, ours: Field, theirs: Field) -> Field:
    old, one, other = (_as_list(value) for value in (before, ours.value, theirs.value))
    kept = [item for item in old if item in one and item in other]
    new = sorted({*one, *other} - set(old))
    # It is nested where its key stands.
    return Field(key, False, render_field(key, (*kept, *new), False))


def _as_list(value: Value | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value


def _shown(value: Value) -> str:
    return value if isinstance(value, str) else ", ".join(value)


Buried = Callable[[str], bool]
"""Whether a side's tombstones cover a claim's normal form."""


def nothing_buried(_key: str) -> bool:
    """No tombstones."""
    return False


@dataclass(frozen=True)
class MergedMemory:
    """One merged memory.

    Attributes:
        memory: the result; None where the bodies cannot be put into one without losing a claim.
        buried: texts that a tombstone took, for the person to see.
    """

    memory: Memory | None
    buried: tuple[str, ...] = ()


def merge_memory(
    base: Memory,
    ours: Memory,
    theirs: Memory,
    path: str,
    buried: Sequence[Buried] = (),
) -> MergedMemory:
    """Merges two edits of one memory.

    Args:
        base: what both started from; an empty memory where the path was added twice.
        ours, theirs: the two sides.
        path: path of the result.
        buried: the tombstones of ours and of theirs. A side that forgot a claim wins over one that kept
            or edited it.
    """
    front, losers = merge_front(base.front, ours.front, theirs.front)
    bodies = [parse_body(memory.body) for memory in (base, ours, theirs)]
    by_id = [{claim.id: claim for claim in body.claims} for body in bodies]
    keys = {id: claim.key for side in by_id for id, claim in side.items()}
    repeats = {id: (claim.key, claim.ordinal) for side in by_id for id, claim in side.items()}
    # Chosen by one side, out on the other: as good as added, since between them they might take out all.
    chosen = settled_apart(*({id: claim.dispute for id, claim in side.items()} for side in by_id))
    apart = chosen[0] | chosen[1]
    lists = [[id for id in by_id[0] if id not in apart], *map(tuple, by_id[1:])]
    order = merge_keys(lists, lambda id: frozenset(keys[id].split()), repeats.__getitem__)
    gone = _buried(order, by_id, keys, buried)
    kept = tuple(id for id in order.keys if id not in gone)
    lost = tuple(side[id].text for id in order.keys if id in gone for side in by_id[1:] if id in side)
    disputed = contests(order, kept)
    if not any(side.isdisjoint(kept) for side in chosen):
        disputed |= dict.fromkeys(apart, min(apart))
    losers = tuple(text for text in losers if not is_said(text, [keys[id] for id in kept]))
    if not losers and not gone and not disputed:
        # Where one side left the body alone, the other's bytes are the merge.
        if ours.body == theirs.body or base.body == theirs.body:
            return MergedMemory(_memory(path, front, ours.body))
        if base.body == ours.body:
            return MergedMemory(_memory(path, front, theirs.body))
    claims = [
        _merged_claim([side.get(id) for side in by_id], disputed.get(id, "")[:DISPUTE_LENGTH])
        for id in kept
    ]
    present = {claim.key for claim in claims}
    claims += [
        Claim(text, "\n\n", key) for text in losers if (key := normal_form(text, item=False)) not in present
    ]
    body = _assemble(claims, bodies)
    memory = None if body is None else _memory(path, front, body)
    return MergedMemory(memory, tuple(dict.fromkeys(lost)))


def _memory(path: str, front: Frontmatter | None, body: str) -> Memory:
    """Front and body in one file that reads as just these two."""
    if front and body and not front.closing.endswith("\n"):
        front = replace(front, closing=front.closing + ("\r\n" if front.opening.endswith("\r\n") else "\n"))
    if front is None and frontmatter.split(body)[0] is not None:
        body = "\n" + body
    return Memory(path, front, body)


def _buried(
    order: Order, by_id: list[dict[str, Claim]], keys: dict[str, str], buried: Sequence[Buried]
) -> frozenset[str]:
    gone = set()
    for number, is_buried in enumerate(buried):
        here = by_id[number + 1]
        gone |= {id for id in order.keys if id not in here and is_buried(keys[id])}
        edits = order.edits[1 - number]
        gone |= {new for old, new in edits.items() if old not in here and is_buried(keys[old])}
    return frozenset(gone)


def forgotten(base: Sequence[Claim], side: Sequence[Claim], is_buried: Buried) -> frozenset[str]:
    """Ids of the claims of a side that are buried, or that replaced one which is."""
    keys = {claim.id: claim.key for claim in (*base, *side)}
    here = {claim.id: None for claim in side}
    gone = {id for id in here if is_buried(keys[id])}
    edits = pair_edits([claim.id for claim in base], list(here), lambda id: frozenset(keys[id].split()))
    gone |= {new for old, new in edits.items() if is_buried(keys[old])}
    return frozenset(gone)


def without(memory: Memory, gone: frozenset[str]) -> Memory:
    """The memory less these claims; neighbours that cannot stand together as they are may become one."""
    body = memory.parsed
    kept = [claim for claim in body.claims if claim.id not in gone]
    written = _assemble(kept, [body, body, body])
    if written is None:
        written = "".join(claim.lead + claim.text for claim in kept) + body.tail
    return Memory(memory.path, memory.front, written)


def _merged_claim(versions: list[Claim | None], mark: str) -> Claim:
    """One claim from its versions (base, ours, theirs), which differ in wrapping, marker or mark only."""
    base, *sides = versions
    present = [claim for claim in sides if claim]
    was = with_dispute(base.text, "") if base else None
    changed = [claim for claim in present if with_dispute(claim.text, "") != was]
    chosen = min(changed or present, key=lambda claim: (with_dispute(claim.text, ""), claim.text))
    if not mark:
        old = base.dispute if base else ""
        marks = {claim.dispute for claim in present if base is None or claim.dispute != old}
        mark = max(marks, default=old)
    if chosen.dispute == mark:
        return chosen
    return Claim(with_dispute(chosen.text, mark), chosen.lead, chosen.key, chosen.ordinal, chosen.item)


def _assemble(claims: list[Claim], bodies: list[Body]) -> str | None:
    """Writes claims one after the other so that the parser finds just these again, or gives up."""
    tail = _tail(bodies, bool(claims))
    expected = Counter(claim.key for claim in claims)
    newline = "\r\n" if all("\r\n" in body.render() for body in bodies[1:]) else "\n"
    for order in (claims, sorted(claims, key=_reach)):
        leads = _leads(order, bodies, newline)
        apart = [lead if number == 0 else newline * 2 for number, lead in enumerate(leads)]
        texts = [claim.text for claim in order]
        for joints, pieces in (
            (leads, texts),
            (apart, texts),
            (apart, [_self_contained(t) for t in texts]),
        ):
            body = "".join(joint + piece for joint, piece in zip(joints, pieces, strict=True)) + tail
            if Counter(claim.key for claim in parse_body(body).claims) == expected:
                return body
    return None


def _reach(claim: Claim) -> int:
    """Where a block can stand at all: indented code and a mark alone behind no other, open HTML last."""
    if claim.text.startswith(("    ", "\t")) or not claim.key:
        return 0
    return 2 if claim.text.lstrip().startswith("<") else 1


def _leads(claims: list[Claim], bodies: list[Body], newline: str) -> list[str]:
    """What stands before each claim: as it stood where the same two were neighbours, else a blank line."""
    neighbours = [_neighbours(body.claims) for body in bodies]
    leads: list[str] = []
    before: Claim | None = None
    for claim in claims:
        pair = (before.key if before else None, claim.key)
        known = [side[pair] for side in neighbours if pair in side]
        was = neighbours[0].get(pair)
        if known:
            leads.append(min([lead for lead in known if lead != was] or known))
        elif before is None:
            first = [body.claims[0].lead for body in bodies[1:] if body.claims]
            leads.append(min(first, default=""))
        else:
            leads.append(newline if before.item and claim.item else newline * 2)
        before = claim
    return leads


def _neighbours(claims: Iterable[Claim]) -> dict[tuple[str | None, str], str]:
    found: dict[tuple[str | None, str], str] = {}
    before = None
    for claim in claims:
        found.setdefault((before, claim.key), claim.lead)
        before = claim.key
    return found


def _tail(bodies: list[Body], any_claim: bool) -> str:
    base, ours, theirs = (body.tail if body.claims else "\n" for body in bodies)
    if not any_claim:
        return ""
    return min({ours, theirs} - {base} or {ours})


def _self_contained(text: str) -> str:
    """The block without indentation that a neighbour could claim, its fence closed."""
    indent = len(text) - len(text.lstrip(" "))
    if 0 < indent < 4:
        depths = ((line, len(line) - len(line.lstrip(" "))) for line in text.split("\n"))
        text = "\n".join(line[min(indent, depth) :] for line, depth in depths)
    fence = re.match(r"`{3,}|~{3,}", text)
    if fence:
        bare = with_dispute(text, "")
        # The line that opens a fence does not close it, though it may look the same.
        last = bare.partition("\n")[2].rpartition("\n")[2].strip()
        if len(last) < len(fence[0]) or last.strip(fence[0][0]):
            text = with_dispute(f"{bare}\n{fence[0]}", dispute_of(text))
    return text


Files = Mapping[str, bytes]

SPLIT_DIGITS = 6
"""Hexadecimal digits of the content that name a file which had to make way."""


@dataclass(frozen=True)
class MergedTree:
    """A merged tree.

    Attributes:
        files: path to content, for the paths that were given (and those that had to be split off).
        buried: (path, text) of claims that a tombstone took from the other side's edit.
        split: paths of files that moved aside because two different ones wanted one path.
    """

    files: dict[str, bytes]
    buried: tuple[tuple[str, str], ...] = ()
    split: tuple[str, ...] = ()


def merge_trees(base: Files, ours: Files, theirs: Files) -> MergedTree:
    """Merges two trees that started from a third.

    Args:
        base, ours, theirs: path (as in the tree of a memory ref, or inside one agent's folder) to content.
            A memory that may be archived in one of them is given in both its places, with its agent's
            index, and so is a log (`twins`).

    Returns:
        The merged tree. Same heads give the same tree whichever is ours; merging again changes nothing;
        any order gives the same set of claims, where each of its merges knows the same renames.
    """
    if ours == theirs:
        return MergedTree(dict(ours))
    if any(hot_path(path) for side in (base, ours, theirs) for path in side):
        return _merge_paged(base, ours, theirs)
    return _Merge(base, ours, theirs).run()


def _merge_paged(*given: Files) -> MergedTree:
    """Merges memories and logs wherever they stand, then puts each where it belongs."""
    sides = [_folded(side) for side in given]
    merged = _Merge(*(side.files for side in sides)).run()
    files = dict(merged.files)
    was: dict[str, dict[str, list[bytes]]] = {}
    hot: dict[str, dict[str, bytes]] = {}
    for path in sorted(frozenset().union(*(side.archived for side in sides))):
        data = merged.files.get(path)
        agent, _, file = path.partition("/")
        if kind(path) == "memory":
            was.setdefault(agent, {})[file] = [side.files[path] for side in sides if path in side.files]
        if data is not None and not stays_archived(path, *sides):
            if kind(path) == "memory":
                hot.setdefault(agent, {})[file] = data
        elif data is not None:
            files[archived_path(path) or path] = files.pop(path)
    for agent, versions in was.items():
        listed = files.get(f"{agent}/{index.INDEX}")
        if listed is not None:
            shown = index.align(decode(listed), versions, hot.get(agent, {}))
            files[f"{agent}/{index.INDEX}"] = encode(shown)
    return replace(merged, files=files)


def _folded(files: Files) -> Folded:
    """One side with every memory at its hot path; what stands hot and archived at once is united."""
    folded = fold(files)
    united = dict(folded.files)
    for path, data in folded.twice.items():
        rest = {other: united[other] for other in united if other != path}
        united = merge_trees(rest, united, rest | {path: data}).files
    return replace(folded, files=united)


class _Merge:
    """One run: collects what `merge_trees` returns."""

    def __init__(self, base: Files, ours: Files, theirs: Files) -> None:
        self.sides = (base, ours, theirs)
        self.files: dict[str, bytes] = {}
        self.lost: list[tuple[str, str]] = []
        self.split: list[str] = []
        self.asides: list[tuple[str, bytes]] = []
        self.stones: dict[str, tuple[Buried, Buried]] = {}

    def run(self) -> MergedTree:
        base, ours, theirs = self.sides
        moved = self._moves()
        taken = {path for move in moved for path in move}
        for old, here, there, target in moved:
            self._memory(target, base[old], ours[here or old], theirs[there or old])
        for path in sorted({*base, *ours, *theirs} - taken):
            self._path(path, base.get(path), ours.get(path), theirs.get(path))
        for path, data in self.asides:
            self._beside(path, data)
        self._list(moved)
        return MergedTree(self.files, tuple(self.lost), tuple(self.split))

    def _path(self, path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None) -> None:
        if kind(path) == "memory":
            self._memory(path, base, ours, theirs)
            return
        is_log = kind(path) == "log"
        if ours == theirs or base == theirs:
            merged = ours
        elif base == ours:
            merged = theirs
        else:
            merged = self._other(path, base, ours, theirs)
        if is_log and merged is not None:
            merged = self._unburied(path, merged, ours, theirs)
        if merged is not None:
            self.files[path] = merged

    def _memory(self, path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None) -> None:
        if ours == theirs:
            if ours is not None:
                self.files[path] = ours
        elif ours is None or theirs is None:
            self._one_sided(path, base, ours, theirs)
        elif base is None and parse(path, ours).name != parse(path, theirs).name:
            self._split(path, ours, theirs)
        else:
            self._united(path, base, ours, theirs)

    def _united(self, path: str, base: bytes | None, ours: bytes, theirs: bytes) -> None:
        buried = self._buried(path)
        if buried == (nothing_buried, nothing_buried) and base in (ours, theirs):
            self.files[path] = theirs if base == ours else ours
            return
        before = Memory(path, None, "") if base is None else parse(path, base)
        merged = merge_memory(before, parse(path, ours), parse(path, theirs), path, buried)
        if merged.memory is None:
            self._split(path, ours, theirs)
            return
        self.lost += [(path, text) for text in merged.buried]
        self.files[path] = merged.memory.render()

    def _one_sided(self, path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None) -> None:
        """A file that one side lacks: a bare deletion loses to an edit, what was forgotten stays gone."""
        here = ours if theirs is None else theirs
        if here is None or here == base:
            return
        buried = self._buried(path)[0 if ours is None else 1]
        memory = None if buried == nothing_buried else parse(path, here)
        was = parse(path, base) if base is not None and memory else Memory(path, None, "")
        if memory is None or not (gone := forgotten(was.parsed.claims, memory.parsed.claims, buried)):
            self.files[path] = here
            return
        # What was too short for a stone of its own was forgotten with the rest of the file.
        said = {claim.key for claim in was.claims}
        taken = [claim for claim in memory.parsed.claims if claim.id in gone or claim.key in said]
        self.lost += [(path, claim.text) for claim in taken]
        if len(taken) < len(memory.parsed.claims):
            kept = without(memory, frozenset(claim.id for claim in taken))
            before, told = (one.claims[len(one.parsed.claims) :] for one in (was, memory))
            if kept.front and (before == told or forgotten(before, told, buried)):
                kept = replace(kept, front=kept.front.without("description"))
            self.files[path] = kept.render()

    def _other(
        self, path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None
    ) -> bytes | None:
        """Index, tombstones, logs and host files that both sides changed."""
        if ours is None or theirs is None:
            return theirs if ours is None else ours
        texts = [decode(data or b"") for data in (base, ours, theirs)]
        what = kind(path)
        if what == "index":
            versions = self._versions(path.removesuffix(index.INDEX))
            return encode(index.merge(texts[0], texts[1], texts[2], versions))
        if what == "tombstones":
            return encode(tombstone.merge(*texts))
        if what == "log":
            return encode(merge_lines(*texts))
        keep, aside = sorted((ours, theirs))
        self._aside(path, aside)
        return keep

    def _unburied(self, path: str, merged: bytes, ours: bytes | None, theirs: bytes | None) -> bytes | None:
        """The log without lines of either side that the other one forgot; None where nothing is left."""
        buried = self._buried(path)
        if buried == (nothing_buried, nothing_buried):
            return merged
        texts = [decode(data or b"") for data in (ours, theirs)]
        here, there = (frozenset(split(text)) for text in texts)
        gone = [
            line
            for line in split(decode(merged))
            if is_timed(line)
            and (
                (line not in here and any(map(buried[0], line_keys(line))))
                or (line not in there and any(map(buried[1], line_keys(line))))
            )
        ]
        if not gone:
            return merged
        self.lost += [(path, line) for line in gone]
        return encode(without_lines(decode(merged), frozenset(gone))) or None

    def _split(self, path: str, ours: bytes, theirs: bytes) -> None:
        keep, aside = sorted((ours, theirs), key=lambda data: (len(data), data))
        self.files[path] = keep
        self._aside(path, aside)

    def _aside(self, path: str, data: bytes) -> None:
        spot = PurePosixPath(path)
        digits = hashlib.sha256(data).hexdigest()[:SPLIT_DIGITS]
        target = str(spot.with_name(f"{spot.stem}-{digits}{spot.suffix}"))
        self.split.append(target)
        self.asides.append((target, data))

    def _beside(self, path: str, data: bytes) -> None:
        """Puts a file where one may stand: the same, which moved aside before and was edited since."""
        there = self.files.pop(path, data)
        for target, united in merge_trees({}, {path: there}, {path: data}).files.items():
            if target == path:
                self.files[path] = united
            else:
                self._beside(target, united)

    def _versions(self, folder: str) -> dict[str, list[bytes]]:
        """What the sides hold of the memories of an agent's folder."""
        found: dict[str, list[bytes]] = {}
        for side in self.sides:
            for path, data in side.items():
                if path.startswith(folder) and kind(path) == "memory":
                    found.setdefault(path.removeprefix(folder), []).append(data)
        return found

    def _list(self, moved: list[tuple[str, str | None, str | None, str]]) -> None:
        """Brings the index in line where files did not fare as their lines: kept, gone or elsewhere.

        What one side deleted and the other edited has its line on neither, or no line left; what both
        renamed has two; what both edited may be about something else. A memory that the base's index does
        not name gets no line here.
        """
        base, ours, theirs = self.sides
        places = {old: {old, here or old, there or old} for old, here, there, _ in moved}
        concerned: dict[str, set[str]] = {}
        for old in base:
            paths = places.get(old, {old})
            if kind(old) == "memory" and all(
                any(side.get(path) != base.get(path) for path in paths) for side in (ours, theirs)
            ):
                agent = agent_folder(old)
                concerned.setdefault(f"{agent}/" if agent else "", set()).add(old)
        for folder, olds in concerned.items():
            at = f"{folder}{index.INDEX}"
            if at not in self.files:
                continue
            listed = index.named(decode(base.get(at, b"")))
            paths = {
                p for old in olds if old.removeprefix(folder) in listed for p in places.get(old, {old})
            }
            was = {
                path.removeprefix(folder): [side[path] for side in self.sides if path in side]
                for path in paths
            }
            now = {path.removeprefix(folder): self.files[path] for path in paths & self.files.keys()}
            shown = index.align(decode(self.files[at]), was, now)
            if shown != decode(self.files[at]):
                self.files[at] = encode(shown)

    def _buried(self, path: str) -> tuple[Buried, Buried]:
        """What each side forgot since the base.

        A tombstone that both have takes nothing: who has it and the text has both on purpose.
        """
        folder = agent_folder(path)
        if folder not in self.stones:
            at = f"{folder}/{tombstone.FILE}" if folder else tombstone.FILE
            old, ours, theirs = (tombstone.parse(decode(side.get(at, b""))) for side in self.sides)
            fresh = (ours - theirs - old, theirs - ours - old)
            one, other = (tombstone.finder(new, "forgot") if new else nothing_buried for new in fresh)
            self.stones[folder] = (one, other)
        return self.stones[folder]

    def _moves(self) -> list[tuple[str, str | None, str | None, str]]:
        """Renames: (old path, path in ours, path in theirs, path of the result)."""
        base, ours, theirs = self.sides
        moves = []
        here, there = renames(base, ours), renames(base, theirs)
        for old in sorted({*here, *there}):
            one, other = here.get(old), there.get(old)
            at, also = one or old, other or old
            target = min(path for path in (one, other) if path)
            # Another file may stand where the other side moved this one.
            taken = any(
                (path in ours and path != at) or (path in theirs and path != also) for path in (one, other)
            )
            if at in ours and also in theirs and not taken:
                moves.append((old, one, other, target))
        return moves


def only(files: Files, paths: Collection[str]) -> dict[str, bytes]:
    """The files at some paths, as far as they are there."""
    return {path: files[path] for path in sorted(paths) if path in files}


def renames(base: Files, side: Files) -> dict[str, str]:
    """Files that a side moved: the same name, or at least half of its body's claims (docs/formats.md).

    A description alone tells none: two memories with no more may well be described alike.
    """
    gone = [path for path in sorted(base) if path not in side and kind(path) == "memory"]
    new = [path for path in sorted(side) if path not in base and kind(path) == "memory"]
    if not gone or not new:
        return {}
    # Both by agent, since none of them moves into another's folder.
    named: dict[tuple[str, str], list[str]] = {}
    having: dict[tuple[str, str], list[str]] = {}
    for path in new:
        memory, folder = parse(path, side[path]), agent_folder(path)
        named.setdefault((folder, memory.name), []).append(path)
        for key in {claim.key for claim in memory.parsed.claims}:
            having.setdefault((folder, key), []).append(path)
    found: dict[str, str] = {}
    # What bears the name of one memory is not another that shares half of its claims.
    for by_name in (True, False):
        taken = set(found.values())
        for old in (path for path in gone if path not in found):
            memory, folder = parse(old, base[old]), agent_folder(old)
            before = {claim.key for claim in memory.parsed.claims}
            shared = Counter(path for key in before for path in having.get((folder, key), ()))
            alike = (path for path, count in shared.items() if 2 * count >= len(before))
            fitting = named.get((folder, memory.name), ()) if by_name else alike
            best = min(((-shared[path], path) for path in fitting if path not in taken), default=None)
            if best:
                found[old] = best[1]
                taken.add(best[1])
    return found
