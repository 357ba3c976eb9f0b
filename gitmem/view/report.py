"""What a check says of a request, as one HTML file without a script: findings, and a card a memory."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from html import escape

from gitmem.core.account import Proposal
from gitmem.core.text import counted
from gitmem.dream.cards import Card, Side, proposal_sides
from gitmem.flows.check import Report
from gitmem.flows.exit import shown
from gitmem.view.server import ASSETS

MOST = 2_000
"""Memories of one request that have a card; of the rest their number is told."""

_MARKS = {"-": "goes", "+": "comes", "=": "stands"}


def report_html(report: Report) -> bytes:
    """Writes the page; what others wrote is text in it and nothing else."""
    style = (ASSETS / "style.css").read_text(encoding="utf-8")
    name = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{name}'; base-uri 'none'; form-action 'none'"
    errors = sum(found.level == "error" for found in report.findings)
    title = f"{counted(report.files, 'file')} of {report.what}: {counted(errors, 'error')}"
    between = f"{(report.base or 'nothing')[:12]} → {(report.commit or 'what is staged')[:12]}"
    cards = memory_cards(report.proposals)
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


def memory_cards(wanted: Sequence[Proposal]) -> tuple[Card, ...]:
    """What a request does to claims, a card a memory, in the order of their paths."""
    by_path: dict[str, list[Side]] = {}
    for one in wanted:
        by_path.setdefault(one.path, []).extend(proposal_sides(one))
    return tuple(Card(n, path, "", tuple(sides)) for n, (path, sides) in enumerate(by_path.items(), 1))


def _findings(report: Report) -> Iterator[str]:
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
    return escape(shown(text.encode("utf-8", "replace").decode()))
