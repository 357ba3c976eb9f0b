"""An engine is asked for a document that is true again, and its answer held to what may be proposed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gitmem.core.text import find_invisible, one_line
from gitmem.core.trailers import Usage
from gitmem.docs.check import Checked, touched
from gitmem.docs.document import MOST_BYTES, parse
from gitmem.engines.engine import Document, DocumentInput, Engine, Stale
from gitmem.flows.context import Edges
from gitmem.flows.documents.code_branch import Place, changed_between
from gitmem.git.command import GitCommand
from gitmem.ledger.files import read_regular
from gitmem.rules.secrets import find_secrets
from gitmem.values import dataclass

PROMPT = "docs-prompt.md"
PROMPT_BYTES = 64 << 10
MOST_FILES = 20
MOST_DIFF = 64 << 10
"""Characters of all differences that an engine is given."""

WIDTH = 160
"""Terminal cells of a line in a commit's message."""

MOST_LINES = 40


@dataclass(frozen=True)
class Answer:
    """What an engine made of a document.

    Attributes:
        text: all of it; the document's own where nothing is to be changed.
        body: what is said of it, for a commit's message.
        refused: why it is not proposed; empty where it may be.
        notes: what the engine leaves for a person.
        log: what it tried and was refused.
    """

    text: str
    body: str = ""
    refused: str = ""
    notes: tuple[str, ...] = ()
    usage: Usage | None = None
    log: tuple[str, ...] = ()


def ask(
    git: GitCommand, edges: Edges, engine: Engine, place: Place, checked: Checked, allow: frozenset[str]
) -> Answer:
    """Asks for one document.

    Args:
        checked: the document as it stands at `place`.
        allow: fingerprints of secrets that the person accepted.

    Raises:
        EngineError: the engine could not do its work.
        DetectorUnavailable: nothing can be said of what may be a secret.
    """
    doc = checked.doc
    changed: dict[str, str] = {}
    if engine.name != "offline":
        changed = _differences(git, place, checked)
        if not checked.stale and not changed:
            return Answer(doc.text)
    elif not checked.stale:
        return Answer(doc.text)
    given = DocumentInput(
        doc.path,
        doc.text,
        doc.title,
        doc.instructions,
        own_prompt(edges),
        checked.stale,
        changed,
        place.top,
        edges.now,
    )
    made = engine.document(given)
    answer = Answer(made.text, notes=made.notes, usage=made.usage, log=made.log)
    if made.text == doc.text:
        return answer
    return replace(
        answer, body=_body(checked, made), refused=_refused(doc.path, doc.text, made.text, allow)
    )


def own_prompt(edges: Edges) -> str:
    """What the person put in the place of the default task; never a repository's."""
    base = Path(edges.environ.get("XDG_CONFIG_HOME", ""))
    folder = base if base.is_absolute() else edges.home / ".config"
    try:
        found = read_regular(folder / "gitmem" / PROMPT, PROMPT_BYTES)
    except OSError:
        return ""
    return found[0][:PROMPT_BYTES].decode("utf-8", "replace").strip() if found else ""


def _differences(git: GitCommand, place: Place, checked: Checked) -> dict[str, str]:
    """What changed in files that a document names since it was last changed itself."""
    git = replace(git, fetches=False)
    paths = changed_between(git, place.top, checked.since, place.head) if checked.since else None
    named = sorted(
        path for path in paths or () if path != checked.doc.path and touched(checked.doc, [path])
    )
    found: dict[str, str] = {}
    room = MOST_DIFF
    for path in named[:MOST_FILES]:
        words = ["diff-tree", "-r", "-p", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"]
        words += [checked.since, place.head, "--", f":(top,literal){path}"]
        text = git.run(words, cwd=place.top, check=False).stdout.decode("utf-8", "replace")[:room]
        room -= len(text)
        if text:
            found[path] = text
    return found


def _refused(path: str, before: str, after: str, allow: frozenset[str]) -> str:
    """Why a text is not proposed: a document, or the code, may have told a model what to write."""
    data = after.encode("utf-8", "replace")
    if len(data) > MOST_BYTES:
        return f"the proposal has {len(data)} bytes, more than a document may have"
    old, new = parse(path, before.encode("utf-8", "surrogatepass")), parse(path, data)
    if new is None or old is None or (new.title, new.instructions) != (old.title, old.instructions):
        return "the proposal changes its title or its instructions, which are the person's"
    hidden = {one.code for one in find_invisible(after)} - {one.code for one in find_invisible(before)}
    if hidden:
        return f"the proposal holds what no reader sees ({', '.join(sorted(hidden)[:5])})"
    known = {one.fingerprint for one in find_secrets(before)}
    secrets = [
        one
        for one in find_secrets(after, allow)
        if one.severity == "block" and one.fingerprint not in known
    ]
    return f"the proposal holds a secret ({secrets[0].rule})" if secrets else ""


def _body(checked: Checked, made: Document) -> str:
    # What an engine did about a name that is told of already says nothing more.
    more_said = [why for why in made.reasons if not any(one.name in why for one in checked.stale)]
    lines = [stale_line(one) for one in checked.stale] + [f"- {reason}" for reason in more_said]
    more = len(lines) - MOST_LINES
    told = [one_line(line, WIDTH) for line in dict.fromkeys(lines[:MOST_LINES])]
    return "\n".join([*told, *([f"- and {more} more"] if more > 0 else [])])


def stale_line(one: Stale) -> str:
    """What no longer holds, and what became of it, on one line."""
    named = "" if one.name in one.evidence else f"{one.name}: "
    return one_line(f"- line {one.line}: {one.kind} {named}{one.evidence}", WIDTH)
