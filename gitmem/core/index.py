"""The index `MEMORY.md`: one line a memory, always in the agent's context, written by people and by gitmem.

It is a sequence of units: a line with the indented lines under it. A unit is *gitmem's own* if it is, to
the letter, what `entry` renders for the memory that it links, as that memory stands or stood before the
write or on a side of the merge; the bare link that is left of such a line when the index is too large is
one, too. That is a test against the memory's front matter alone: there is no mark and no record. All else
is *written by hand*, by a person or an agent: prose, headings, a line that names several memories, a hook
that says more than the description. What it says is a claim.

- gitmem renders anew, sorts, shortens and takes out its own lines and no others. What is written by hand
  goes where its writer takes it out; where a person forgets the one memory that it names; and where that
  memory goes and the line says no more than its name and description.
- A memory that no unit names gets a line. A line that names several memories is the line of all of them.
- Units merge by what they say, repeats by their number, as the claims of a body do. Where both sides
  changed one differently, both stand with the dispute mark of claims. Of lines of gitmem's own for one
  memory one stays, and none beside one that is written by hand.
- In an index within its limits nothing is shortened. Beyond them gitmem's own lines are, the first ones
  first, as lines are added at the end; `as_loaded` leaves out what is too much still, and names it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from urllib.parse import quote, unquote

from gitmem.core.claim import (
    DISPUTE_LENGTH,
    Claim,
    claim_id,
    dispute_of,
    normal_form,
    repetition,
    settled_apart,
    with_dispute,
)
from gitmem.core.limits import ENTRY_CHARS, INDEX_BYTES, INDEX_LINES, NAME_CHARS
from gitmem.core.memory import parse as parse_memory
from gitmem.core.names import INDEX as INDEX
from gitmem.core.names import slugify
from gitmem.core.sequence import contests, merge_keys
from gitmem.values import dataclass

_BULLET = re.compile(r"\s{0,3}[-*+]\s+")
_LINK = re.compile(r"\[[^\[\]]*\]\((?:<([^<>\n]*)>|([^()<>\s]+))\)")
_BARE = re.compile(r"`?([\w][\w.-]*\.md)`?(?=\W|$)")
_NAMED = re.compile(r"(?<![\w./:%-])[\w][\w.-]*\.md(?![\w-])")
_WIKI = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_HOOK = re.compile(
    r"\s{0,3}[-*+]\s+(?:\*\*)?"
    r"(?:\[(?P<title>[^\[\]]*)\]\((?:<[^<>\n]*>|[^()<>\s]+)\)|`?[\w][\w.-]*\.md`?)"
    r"(?:\*\*)?[ \t:–—-]*(?P<hook>[^\n]*)\n?"
)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")

Versions = Mapping[str, Collection[bytes]]
"""File of a memory to what it held on the sides of a merge, or before and after a write."""


@dataclass(frozen=True)
class Unit:
    """One line of the index with the indented lines under it.

    Attributes:
        target: file that an entry links to first; empty for headings, prose and blank lines.
        text: the lines, exactly, with line ends.
        gap: blank lines after them.
    """

    target: str
    text: str
    gap: str = ""

    @property
    def names(self) -> frozenset[str]:
        """Files of all memories that it names, by link, `[[name]]` or file name."""
        links = {_file(angled or plain) for angled, plain in _LINK.findall(self.text)}
        wiki = {f"{stem}.md" for name in _WIKI.findall(self.text) for stem in (name, slugify(name))}
        return frozenset({*links, *wiki, *_NAMED.findall(_LINK.sub(" ", self.text))} - {""})

    @property
    def subject(self) -> str:
        """The one memory that an entry names; empty for what names several, or is no entry."""
        return self.target if self.target and self.names <= {self.target} else ""


_NONE = Unit("", "")


def parse(text: str) -> tuple[Unit, ...]:
    """Cuts an index into units; joining their texts and gaps gives it back.

    Blank lines at the very beginning are the gap of a unit with an empty text.
    """
    return _parse(text, {})


def _parse(text: str, known: dict[str, Unit]) -> tuple[Unit, ...]:
    """The same, with the units of lines that were met before: versions of an index are mostly equal."""
    units: list[Unit] = []
    last = _NONE
    for line in _LINE.findall(text):
        if not line.strip():
            last = replace(last, gap=last.gap + line)
            units[-1:] = [last]
        elif last.target and not last.gap and line[0] in " \t":
            last = replace(last, text=last.text + line)
            units[-1] = last
        else:
            last = known.get(line) or known.setdefault(line, Unit(_target(line), line))
            units.append(last)
    return tuple(units)


def targets(text: str) -> tuple[str, ...]:
    """Files that the entries of the index link to first, in order, each once."""
    return tuple(dict.fromkeys(unit.target for unit in parse(text) if unit.target))


def named(text: str) -> frozenset[str]:
    """Files of all memories that the index names anywhere."""
    return frozenset().union(*(unit.names for unit in parse(text)))


def entry(name: str, file: str, description: str) -> str:
    """One index line of some 150 characters; what cannot be seen there, or is not UTF-8, becomes U+FFFD."""
    title = _visible(name.replace("[", "(").replace("]", ")")) or "(no name)"
    hook = _visible(description)
    target = "".join(quote(c) if c in " ()<>[]#%" or not c.isprintable() else c for c in file)
    if len(title) > NAME_CHARS:
        title = title[: NAME_CHARS - 1].rstrip() + "…"
    line = f"- [{title}]({target})" + (f" — {hook}" if hook else "")
    link = line.index(")") + 1
    if len(line) > ENTRY_CHARS and link < ENTRY_CHARS - 1:
        cut = line[: ENTRY_CHARS - 1]
        line = (cut.rsplit(" ", 1)[0] if " " in cut[link:] else cut).rstrip(" ,;:—") + "…"
    elif len(line) > ENTRY_CHARS:
        line = line[:link]
    return line + "\n"


def _visible(text: str) -> str:
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in line)


def entry_of(file: str, data: bytes) -> str:
    """The index line of a memory as it stands."""
    memory = parse_memory(file, data)
    return entry(memory.name, file, memory.description)


def _own_lines(file: str, data: bytes) -> tuple[str, str]:
    """The lines that gitmem writes for a memory: whole, and shortened to the link."""
    memory = parse_memory(file, data)
    return entry(memory.name, file, memory.description), entry(memory.name, file, "")


def _is_own(unit: Unit, versions: Iterable[bytes]) -> bool:
    text = unit.text.rstrip("\r\n") + "\n"
    return any(text in _own_lines(unit.target, data) for data in versions)


def _says_no_more(unit: Unit, data: bytes) -> bool:
    """Whether an entry says nothing beyond the link, the name and the description of its memory."""
    found = _HOOK.fullmatch(unit.text.replace("\r\n", "\n"))
    if found is None:
        return False
    memory = parse_memory(unit.target, data)
    about = repetition(normal_form(memory.description, item=False))
    title = found["title"] or ""
    plain = {slugify(memory.name), slugify(unit.target.removesuffix(".md"))}
    if title and slugify(title) not in plain and repetition(normal_form(title, item=False)) not in about:
        return False
    hook = repetition(normal_form(found["hook"], item=False))
    return hook in ("", about, repetition(memory.name)) or (
        hook.endswith("…") and about.startswith(hook.removesuffix("…").rstrip(" ,;:—"))
    )


def reconcile(
    text: str, before: Mapping[str, bytes], after: Mapping[str, bytes], forgotten: Collection[str] = ()
) -> str:
    """The index of an agent as a write leaves it: what every writer of memories calls.

    In linear time, and the very text where nothing is to be done.

    Args:
        text: the index as it is, with whatever its writer changed in it.
        before, after: the agent's hot memories, file to content, at least those that the write changes.
            What `after` holds gets a line where the index does not name it.
        forgotten: files whose entries go whatever they say: a person took back what they are about.
    """
    was = {file: (data,) for file, data in before.items() if after.get(file) != data}
    units = _fitting(_aligned(text, was, after, forgotten), after)
    shown = _render(units)
    return text if shown == _closed(text) else shown


def align(text: str, was: Versions, now: Mapping[str, bytes]) -> str:
    """The index in line with memories that a merge put together.

    Args:
        was: what the sides held of those that it is about.
        now: what is left of them; each gets a line where the index does not name it.
    """
    return _render(_aligned(text, was, now))


def _aligned(
    text: str, was: Versions, now: Mapping[str, bytes], forgotten: Collection[str] = ()
) -> list[Unit]:
    units = _brought(parse(text), was, now, frozenset(forgotten))
    there = frozenset().union(*(_named_by(unit, now) for unit in units))
    return _appended(units, [Unit(file, entry_of(file, now[file])) for file in sorted(now.keys() - there)])


def _named_by(unit: Unit, now: Mapping[str, bytes]) -> frozenset[str]:
    """The memories that a unit names; a description that mentions others is no line of theirs."""
    names = unit.names
    if len(names) > 1 and unit.target in now and _is_own(unit, (now[unit.target],)):
        return frozenset({unit.target})
    return names


def _brought(
    units: Iterable[Unit], was: Versions, now: Mapping[str, bytes], forgotten: Collection[str] = ()
) -> list[Unit]:
    """Brings gitmem's own lines in line with memories that changed, and takes out those that are gone."""
    kept: list[Unit] = []
    rendered: set[str] = set()
    for unit in units:
        file = unit.target
        if file in was or (file in forgotten and unit.subject):
            versions = was.get(file, ())
            own = _is_own(unit, versions)
            if file not in now:
                no_more = unit.subject and any(_says_no_more(unit, data) for data in versions)
                if own or no_more or (file in forgotten and unit.subject):
                    _drop(kept, unit)
                    continue
            elif own or _is_own(unit, (now[file],)):
                if file in rendered:
                    _drop(kept, unit)
                    continue
                rendered.add(file)
                unit = _rendered(unit, versions, now[file]) if own else unit
        kept.append(unit)
    return kept


def _rendered(unit: Unit, versions: Iterable[bytes], now: bytes) -> Unit:
    """A line of gitmem's own for the memory as it is now; a shortened one stays as long as it fits."""
    whole, short = _own_lines(unit.target, now)
    if unit.text.rstrip("\r\n") + "\n" == short and any(
        _own_lines(unit.target, data)[0] == whole for data in versions if data != now
    ):
        return unit
    return replace(unit, text=_with_end_of(unit.text, whole))


def _drop(kept: list[Unit], unit: Unit) -> None:
    """Leaves a unit out; the blank lines after it stay, unless there are some before it."""
    if kept and not kept[-1].gap:
        kept[-1] = replace(kept[-1], text=_closed(kept[-1].text), gap=unit.gap)


def _with_end_of(old: str, line: str) -> str:
    """A line with the line end of another."""
    return line.removesuffix("\n") + old[len(old.rstrip("\r\n")) :]


def _appended(units: list[Unit], new: Sequence[Unit]) -> list[Unit]:
    """The units with more entries after the last one, else at the end."""
    if not new:
        return units
    last = max((number for number, unit in enumerate(units) if unit.target), default=len(units) - 1)
    if last < 0:
        return [*new]
    before = replace(units[last], text=_closed(units[last].text))
    if before.target:
        *more, end = new
        return [
            *units[:last],
            replace(before, gap=""),
            *more,
            replace(end, gap=before.gap),
            *units[last + 1 :],
        ]
    gap = _closed(before.gap) or ("\n" if before.text else "")
    return [*units[:last], replace(before, gap=gap), *new]


def _fitting(units: list[Unit], now: Mapping[str, bytes]) -> list[Unit]:
    """Shortens gitmem's own lines, the first ones first, while the index is over its bytes."""
    size = sum(_size(unit.text + unit.gap) for unit in units)
    for number, unit in enumerate(units):
        if size <= INDEX_BYTES:
            break
        if unit.target in now:
            whole, short = _own_lines(unit.target, now[unit.target])
            if unit.text.rstrip("\r\n") + "\n" == whole:
                units[number] = replace(unit, text=_with_end_of(unit.text, short))
                size -= _size(whole) - _size(short)
    return units


def with_entry(text: str, file: str, line: str) -> str:
    """The index with this line for a memory after its last entry, where it does not name the memory."""
    return text if file in named(text) else _render(_appended([*parse(text)], [Unit(file, line)]))


def without_entry(text: str, file: str) -> str:
    """The index without the entries of one memory alone, whatever they say."""
    return without_files(text, {file}, alone=True)


def without_files(text: str, files: Collection[str], alone: bool = False) -> str:
    """The index without the lines that name any of these files; the blank lines around them stay.

    Args:
        alone: whether a line stays that names other memories too, or is no entry.
    """
    wanted = frozenset(files)
    kept: list[Unit] = []
    for unit in parse(text):
        names = unit.names & wanted
        if names and (not alone or unit.subject):
            _drop(kept, unit)
        else:
            kept.append(unit)
    return _render(kept)


def without_claim(text: str, key: str) -> str:
    """The index without the lines that say a claim, by its normal form."""
    said = repetition(key)
    kept: list[Unit] = []
    for unit in parse(text):
        if said in normal_form(unit.text, item=False).casefold():
            _drop(kept, unit)
        else:
            kept.append(unit)
    return _render(kept)


def merge(base: str, ours: str, theirs: str, versions: Versions | None = None) -> str:
    """Merges three indexes unit by unit, as the claims of a body merge; symmetric in the sides.

    Args:
        versions: what the sides hold of the memories that they do not all have alike.
    """
    if ours == theirs or base == theirs:
        return ours
    if base == ours:
        return theirs
    known: dict[str, Unit] = {}
    parsed = [_parse(_closed(text), known) for text in (base, ours, theirs)]
    sides = [_keyed(units) for units in parsed]
    every = {key: found for side in sides for key, found in side.items()}
    own = _own_keys(sides, versions or {})
    subject = {key: found.unit.target if key in own else found.unit.subject for key, found in every.items()}
    # As claims that are settled apart: between them both people might take out every line.
    marked = ({key: dispute_of(found.unit.text) for key, found in side.items()} for side in sides)
    chosen = settled_apart(*marked)
    apart = chosen[0] | chosen[1]
    order = merge_keys(
        [tuple(key for key in sides[0] if key not in apart), *map(tuple, sides[1:])],
        lambda key: frozenset(every[key].said.split()),
        lambda key: (every[key].said, every[key].ordinal),
        subject.__getitem__,
    )
    twins = _twins(order.keys, subject, own, sides[1:])
    kept = [key for key in order.keys if key not in twins]
    # Prose that names no memory stands as both wrote it: nobody has to settle which remark is right.
    disputes = contests(order, kept)
    if not any(side.isdisjoint(kept) for side in chosen):
        disputes |= dict.fromkeys(apart, min(apart))
    marks = {new: every[old].mark for new, old in disputes.items() if every[new].unit.names}
    merged = [
        _merged_unit([side[key].unit if key in side else None for side in sides], marks.get(key, ""))
        for key in _sorted_additions(kept, frozenset(sides[0]), subject, own)
    ]
    lead = [units[0].gap if units and not units[0].text else "" for units in parsed]
    return _joined([Unit("", "", _merged_gap(*lead)), *merged])


@dataclass(frozen=True)
class _Keyed:
    """A unit, what it says in its normal form, and how many say that before it."""

    unit: Unit
    said: str
    ordinal: int

    @property
    def mark(self) -> str:
        """The digits of a dispute about it."""
        return claim_id(self.said, self.ordinal)[:DISPUTE_LENGTH]


def _keyed(units: Iterable[Unit]) -> dict[str, _Keyed]:
    seen: Counter[str] = Counter()
    found: dict[str, _Keyed] = {}
    for unit in units:
        if unit.text:
            said = _said(unit)
            ordinal = seen[said]
            seen[said] += 1
            # By target, so that what several sides add stands in the order of files.
            found[f"{unit.target}\0{said}\0{ordinal}"] = _Keyed(unit, said, ordinal)
    return found


def _said(unit: Unit) -> str:
    """What a unit is told by: its normal form as a claim, list items apart from prose."""
    text = unit.text.rstrip("\r\n")
    if text.lstrip().startswith(("```", "~~~")):
        return text.strip()
    item = _BULLET.match(text) is not None
    return ("- " if item else "") + (normal_form(text, item) or text.strip())


def _own_keys(sides: Iterable[Mapping[str, _Keyed]], versions: Versions) -> frozenset[str]:
    """Keys of units that are gitmem's own wherever they stand."""
    own: dict[str, bool] = {}
    for side in sides:
        for key, found in side.items():
            if found.unit.target in versions:
                own[key] = own.get(key, True) and _is_own(found.unit, versions[found.unit.target])
    return frozenset(key for key, is_own in own.items() if is_own)


def _twins(
    keys: Iterable[str],
    subject: Mapping[str, str],
    own: Collection[str],
    sides: Iterable[Mapping[str, _Keyed]],
) -> frozenset[str]:
    """Gitmem's own lines for a memory that a merge gave another line; who has both on a side has both."""
    groups: dict[str, list[str]] = {}
    for key in keys:
        if subject[key]:
            groups.setdefault(subject[key], []).append(key)
    gone: set[str] = set()
    for group in groups.values():
        if len(group) > 1 and not any(side.keys() >= {*group} for side in sides):
            written = sorted(key for key in group if key in own)
            gone.update(written if len(written) < len(group) else written[1:])
    return frozenset(gone)


def _sorted_additions(
    keys: Sequence[str], old: Collection[str], subject: Mapping[str, str], own: Collection[str]
) -> list[str]:
    """Sorts each run of new lines of gitmem's own by file."""
    ordered: list[str] = []
    for is_new, group in groupby(keys, lambda key: key not in old and key in own):
        run = list(group)
        ordered += sorted(run, key=lambda key: (subject[key], key)) if is_new else run
    return ordered


def _merged_unit(versions: Sequence[Unit | None], mark: str) -> Unit:
    """One unit from its versions (base, ours, theirs), which differ in spacing, marker or mark only."""
    base, *others = versions
    sides = [unit for unit in others if unit]
    changed = [unit for unit in sides if base is None or _bare(unit) != _bare(base)]
    chosen = min(changed or sides, key=lambda unit: (_bare(unit), unit.text))
    if not mark:
        old = dispute_of(base.text) if base else ""
        mark = max({dispute_of(unit.text) for unit in sides} - ({old} if base else set()), default=old)
    gap = _merged_gap(base.gap if base else None, *(unit.gap for unit in sides))
    return replace(_marked(chosen, mark), gap=gap)


def _merged_gap(base: str | None, *sides: str) -> str:
    return max([gap for gap in sides if gap != base] or [sides[0]])


def _bare(unit: Unit) -> str:
    return with_dispute(unit.text.rstrip("\r\n"), "")


def _marked(unit: Unit, mark: str) -> Unit:
    """The unit with this dispute mark; as it is where a mark would make something else of the line."""
    if dispute_of(unit.text) == mark:
        return unit
    text = with_dispute(unit.text.rstrip("\r\n"), mark)
    if mark and text.count("\n") > unit.text.rstrip("\r\n").count("\n"):
        return unit
    return replace(unit, text=_with_end_of(unit.text, text))


def spoken(text: str, *sides: Mapping[str, bytes]) -> dict[str, tuple[Claim, str]]:
    """What the index says beyond links, names and descriptions: normal form to the claim and its target.

    Where a link leads is no part of what a line says: a memory that moves takes its lines along.

    Args:
        sides: an agent's hot memories as the line may have been written from them.
    """
    found: dict[str, tuple[Claim, str]] = {}
    for unit in parse(text):
        versions = [side[unit.target] for side in sides if unit.target in side] or [b""]
        bare = _LINK.sub(lambda link: link[0][: link[0].index("](") + 1], _bare(unit))
        key = normal_form(bare, item=_BULLET.match(bare) is not None)
        if any(map(str.isalnum, key)) and not (
            unit.target and (_is_own(unit, versions) or any(_says_no_more(unit, data) for data in versions))
        ):
            found.setdefault(key, (Claim(_bare(unit), "", key), unit.target))
    return found


def hook(line: str) -> str:
    """Normal form of what an entry says after its link; empty for anything else."""
    found = _HOOK.fullmatch(line.replace("\r\n", "\n"))
    return normal_form(found["hook"], item=False) if found else ""


def disputed_lines(text: str, now: Mapping[str, bytes]) -> dict[str, tuple[str, ...]]:
    """The lines written by hand that are in dispute: mark to their versions, in order, without the mark.

    Args:
        now: the agent's hot memories; a description that ends like a mark makes no dispute.
    """
    found: dict[str, tuple[str, ...]] = {}
    for unit in parse(text):
        mark = _dispute(unit, now)
        if mark:
            found[mark] = (*found.get(mark, ()), _bare(unit))
    return found


def settled(text: str, mark: str, keep: Collection[int], now: Mapping[str, bytes]) -> str:
    """The index with some lines of a dispute, unmarked, and without its others.

    Args:
        keep: which of them stay, counted from 1.
        now: as for `disputed_lines`; what only a line named that goes gets one of gitmem's own.
    """
    kept: list[Unit] = []
    number = 0
    for unit in parse(text):
        if _dispute(unit, now) == mark:
            number += 1
            if number not in keep:
                _drop(kept, unit)
                continue
            unit = _marked(unit, "")
        kept.append(unit)
    shown = _render(kept)
    unnamed = named(text) - named(shown)
    return align(shown, {}, {file: now[file] for file in sorted(unnamed) if file in now})


def _dispute(unit: Unit, now: Mapping[str, bytes]) -> str:
    """The mark of a line that is written by hand; none of one that is nothing but a mark."""
    mark = dispute_of(unit.text)
    if not mark or dispute_of(_bare(unit)):
        return ""
    return "" if unit.target in now and _is_own(unit, (now[unit.target],)) else mark


def without_twins(
    text: str, merged: Iterable[str], sides: Iterable[str], versions: Versions, bases: Iterable[str] = ()
) -> str:
    """The index as a merge of gitmem's would have it where a merge by lines gave a memory two lines.

    Args:
        merged: the index as such merges left it; what was written since stands as its writer wants it.
        sides: the index as the merged commits have it; where one has both lines, so it stays.
        bases: the index before the sides went apart: what took no line's place is against no other.
    """
    left = frozenset().union(*(_keyed(parse(one)) for one in merged))
    units = _keyed(parse(text))
    put = {key: found for key, found in units.items() if key in left}
    own = _own_keys([put], versions)
    subject = {key: found.unit.target if key in own else found.unit.subject for key, found in put.items()}
    known = [_keyed(parse(side)) for side in sides]
    gone = _twins(put, subject, own, known)
    # What one side moved stands in both places: no unit stands more often than on some side.
    gone |= {key for key, found in put.items() if found.ordinal and not any(key in side for side in known)}
    before = (one.unit for base in bases for key, one in _keyed(parse(base)).items() if key not in units)
    replaced = {about for unit in before for about in (unit.subject, unit.target)}
    against: dict[str, list[str]] = {}
    for key, found in put.items():
        if subject[key] and subject[key] in replaced and key not in own and not found.ordinal:
            against.setdefault(subject[key], []).append(key)
    marks = {
        key: claim_id(min(units[one].said for one in group))[:DISPUTE_LENGTH]
        for group in against.values()
        if len(group) > 1 and not any(side.keys() >= {*group} for side in known)
        for key in group
    }
    kept: list[Unit] = [unit for unit in parse(text)[:1] if not unit.text]
    for key, found in units.items():
        if key in gone:
            _drop(kept, found.unit)
        else:
            kept.append(_marked(found.unit, marks.get(key, dispute_of(found.unit.text))))
    return _render(kept)


def as_loaded(text: str, times: Mapping[str, int] | None = None) -> str:
    """The index as an agent gets it: within 200 lines and 25,000 bytes, the oldest entries left out first.

    Args:
        text: the complete index.
        times: file to author time (epoch seconds); files without one count as oldest.

    Returns:
        The text unchanged where it fits, else cut, with a warning that names what was left out.
    """
    lines, size = _lines(text), _size(text)
    if lines <= INDEX_LINES and size <= INDEX_BYTES:
        return text
    ages = times or {}
    units = list(parse(text))
    oldest = sorted(
        (unit for unit in units if unit.target), key=lambda unit: (ages.get(unit.target, 0), unit.target)
    )
    left_out: list[str] = []
    dropped: set[int] = set()
    for unit in oldest:
        warning = _warning(left_out) if left_out else ""
        if lines + warning.count("\n") <= INDEX_LINES and size + _size(warning) <= INDEX_BYTES:
            break
        left_out.append(unit.target)
        dropped.add(id(unit))
        lines -= (unit.text + unit.gap).count("\n")
        size -= _size(unit.text + unit.gap)
    kept = _render(unit for unit in units if id(unit) not in dropped)
    warning = _warning(left_out)
    return _cut(kept, warning) + warning


def _cut(text: str, warning: str) -> str:
    """Lines first, then back to the last line end that fits, as clients cut it."""
    room = INDEX_BYTES - _size(warning)
    kept: list[str] = []
    for line in _LINE.findall(text)[: INDEX_LINES - warning.count("\n")]:
        room -= _size(line)
        if room < 0:
            break
        kept.append(line)
    return "".join(kept)


def _lines(text: str) -> int:
    return text.count("\n") + (bool(text) and not text.endswith("\n"))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _warning(left_out: list[str]) -> str:
    names = ", ".join(name[:NAME_CHARS] for name in left_out[:5]) + (
        f" and {len(left_out) - 5} more" if len(left_out) > 5 else ""
    )
    return f"\n> The index is over its limit; {len(left_out)} oldest entries are not shown: {names}\n"


def _target(line: str) -> str:
    bullet = _BULLET.match(line)
    if bullet is None:
        return ""
    match = _LINK.search(line, bullet.end()) or _BARE.match(line, bullet.end())
    if match is None:
        return ""
    linked = next(group for group in match.groups() if group is not None)
    return _file(linked)


def _file(linked: str) -> str:
    """The file that a link leads to; empty where it leads to none of the folder's."""
    target = unquote(linked.split("#", 1)[0]).removeprefix("./")
    return target if target.endswith(".md") and "://" not in target else ""


def _closed(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _joined(units: Iterable[Unit]) -> str:
    """The units one after the other; what is indented and stood alone does not become part of an entry."""
    parts: list[Unit] = []
    for unit in units:
        if parts and parts[-1].target and not parts[-1].gap and unit.text[:1] in (" ", "\t"):
            parts[-1] = replace(parts[-1], gap="\n")
        parts.append(unit)
    return _render(parts)


def _render(units: Iterable[Unit]) -> str:
    return "".join(unit.text + unit.gap for unit in units)
