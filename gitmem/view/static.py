"""Pages as one file to hand on: read-only, with what one scope has; and what a check says of a request.

The values are those that the server would give, in an element that no browser runs. The one script and the
one style are named by their hashes, so that a browser runs nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any

from gitmem.core.errors import GitmemError, RepositoryError
from gitmem.core.text import counted
from gitmem.dream.cards import Card, memory_cards, noted_once
from gitmem.flows.check import CheckReport
from gitmem.flows.context import Edges
from gitmem.flows.json_values import entry_value
from gitmem.flows.redaction import redact, value
from gitmem.flows.review import queue, tell_item
from gitmem.ledger.files import replace_file
from gitmem.ledger.log import entries
from gitmem.ledger.moments import resolve_all
from gitmem.ledger.workspace import Workspace
from gitmem.view import data
from gitmem.view.graph import MemoryView
from gitmem.view.server import ASSETS, MODULES

MOST = 2_000
"""Memories whose text is in the file, those taught last; the others are listed."""

CHANGES = 500
DETAILED = 50
"""Changes that are listed, and those that are told claim by claim: the newest."""

_SHARED = ("dream", "inbox", "dispute")
"""What waits in the scope's own refs: anything else is the person's alone until they decide."""


_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Content:
    """What a file would hold.

    Attributes:
        memories, changes, waiting: how many of each.
    """

    html: bytes
    memories: int
    changes: int
    waiting: int


def content(workspace: Workspace, edges: Edges, scope: str, at: str = "") -> Content:
    """Makes the file for one scope, now or as of then; nothing is written.

    Raises:
        UsageError: there is no such scope, or `at` means nothing.
    """
    place = MemoryView(workspace, edges, at, (workspace.scope(scope).name,))
    answers: dict[str, Any] = {}

    def keep(name: str, **given: str) -> dict[str, Any]:
        answers[_key(name, given)] = found = data.READS[name](place, given)
        return found

    answers["state"] = keep("state") | {"fixed": True, "person": "", "tag": ""}
    listed = data.memories(place, {"at": at, "limit": str(data.MOST_ROWS)})
    answers["memories"] = listed
    for row in listed["rows"][:MOST]:
        try:
            one = data.memory(place, {"name": row["address"], "at": at})
        except GitmemError:  # what cannot be read is told by status and doctor
            continue
        answers[_key("memory", {"name": row["address"]})] = one | {"editable": False}
    log = {"entries": _entries(place)} if at else data.log(place, {"limit": str(CHANGES)})
    answers["log"] = log | {"more": False}
    for entry in log["entries"][:DETAILED]:
        keep("change", scope=entry["scope"], commit=entry["commit"])
    waiting: dict[str, Any] = {"items": []}
    if not at:  # what waits, and what the code has, are of the present
        answers["map"] = data.map_(place, {})
        waiting["items"] = _waiting(place, scope)
    answers["review"] = waiting
    made = _html(value(answers))
    return Content(made, listed["total"], len(log["entries"]), len(waiting["items"]))


def write(path: Path, page: bytes) -> None:
    """Writes a page, for the person alone to read.

    Raises:
        RepositoryError: it cannot be written.
    """
    try:
        replace_file(path, page, 0o600)
    except OSError as error:
        raise RepositoryError(
            f"{path} cannot be written: {error.strerror}", "Name another file."
        ) from error


def _entries(place: MemoryView) -> list[dict[str, Any]]:
    scopes = tuple(map(place.workspace.scope, place.scopes))
    commits = resolve_all(place.workspace, scopes, place.at, place.edges.now)
    return [
        entry_value(where.name, entry)
        for where in scopes
        if where.ref in commits
        for entry in islice(entries(where.repo, commits[where.ref]), CHANGES)
    ]


def _waiting(place: MemoryView, scope: str) -> list[dict[str, Any]]:
    found = []
    for item in queue(place.workspace, place.edges):
        where = "project" if item.kind == "inbox" else item.value.get("scope")
        if item.kind in _SHARED and where == scope:
            whole = data.item_value(place, item)
            if item.kind == "dream":
                whole |= tell_item(place.workspace, place.edges, item.id, whole=True).value
            found.append(whole)
    return found


def _key(name: str, given: dict[str, str]) -> str:
    return "?".join([name, *(f"{key}={given[key]}" for key in sorted(given))])


def _html(answers: dict[str, Any]) -> bytes:
    script, style = bundle(), (ASSETS / "style.css").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    # In an element of data `<` can end the element, and nothing else can.
    told = json.dumps(answers, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    page = (ASSETS / "index.html").read_text(encoding="utf-8")
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy, quote=True)}">\n'
        f"<style>{style}</style>\n"
    )
    page = re.sub(r"[ \t]*<(?:link|script)\b[^>]*>(?:</script>)?\n", "", page)
    page = page.replace("</head>", f"{head}</head>", 1)
    tail = f'<script type="application/json" id="answers">{told}</script>\n<script>{script}</script>\n'
    return page.replace("</body>", f"{tail}</body>", 1).encode()


def bundle() -> str:
    """The page's modules as one script: a file that was opened from a disk may import none."""
    parts = []
    for name in MODULES:
        text = (ASSETS / name).read_text(encoding="utf-8")
        text = _IMPORT.sub(r"const \1 = \2_js;", text)
        gives = ", ".join(_EXPORT.findall(text))
        text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
        parts.append(
            f"const {name.removesuffix('.js')}_js = (() => {{\n{text}return {{ {gives} }};\n}})();\n"
        )
    return f'"use strict";\n(() => {{\n{"".join(parts)}}})();\n'


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


_MARKS = {"-": "goes", "+": "comes", "=": "stands"}


def report_html(report: CheckReport) -> bytes:
    """Writes the page; what others wrote is text in it and nothing else."""
    style = (ASSETS / "style.css").read_text(encoding="utf-8")
    name = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{name}'; base-uri 'none'; form-action 'none'"
    errors = sum(found.level == "error" for found in report.findings)
    title = f"{counted(report.files, 'file')} of {report.what}: {counted(errors, 'error')}"
    between = f"{(report.base or 'nothing')[:12]} → {(report.commit or 'what is staged')[:12]}"
    cards = [*map(noted_once, memory_cards(report.proposals))]
    body = [
        f"<h1>{_text(title)}</h1>",
        f'<p class="meta">{_text(between)}</p>',
        *_findings(report),
        *(part for card in cards[:MOST] for part in _card(card)),
    ]
    if len(cards) > MOST:
        body.append(f'<p class="quiet">and {counted(len(cards) - MOST, "more memory")}</p>')
    body.append('<p class="note">Quoted from a request: data, not instructions.</p>')
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>gitmem check</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
    )
    return (head + "\n".join(body) + "\n</main>\n</body>\n</html>\n").encode("utf-8", "replace")


def _findings(report: CheckReport) -> Iterator[str]:
    yield "<ul>"
    for found in report.findings:
        said = f"{found.path or '.'}:{found.line}: {found.rule}: {found.message}"
        yield f'<li class="{"wrong" if found.level == "error" else "quiet"}">{_text(said)}</li>'
    yield "</ul>"


def _card(card: Card) -> Iterator[str]:
    yield f'<article class="card"><h2>{_text(f"{card.n}. {card.title}")}</h2>'
    for side in card.sides:
        kind = _MARKS[side.mark]
        yield f'<div class="claim {kind}"><span class="tag">{kind}</span>'
        yield f'<p class="words">{_text(side.text)}</p>'
        yield "".join(f'<p class="note">{_text(note)}</p>' for note in side.notes) + "</div>"
    yield "</article>"


def _text(text: str) -> str:
    """Text of others as HTML shows it, by the one exit."""
    return escape(redact(text.encode("utf-8", "replace").decode()))
