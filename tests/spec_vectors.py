"""The vectors of docs/spec: inputs written by hand, and what gitmem makes of them.

`python tests/spec_vectors.py` writes them; `tests/test_spec.py` says when that is due. A change of an
output is a change of the format: it needs a migration and another version of the specification.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gitmem.core import tombstone
from gitmem.core.account import account, references
from gitmem.core.claim import parse_body
from gitmem.core.merge import merge_trees
from gitmem.core.trailers import Provenance, format_message, parse, parse_fate
from gitmem.ledger.land import root_objects
from gitmem.rules.snapshot import digest

FOLDER = Path(__file__).parent.parent / "docs/spec/vectors"
SALT = "00112233445566778899aabbccddeeff"

BODIES = {
    "paragraphs": "The port is 8080.\n\nIt is\nopen to all.\n",
    "wrapped-anew": "The port\nis   8080.\n\nIt is open to all.\n",
    "list-items": "- one\n- two\n  - inside\n\n1. three\n",
    "fence": "Run it:\n\n```sh\nmake   test \n```\n",
    "table-and-heading": "# Ports\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    "why-and-how": "No mocks.\n\n**Why:** They lied once.\n**How to apply:** In tests.\n",
    "repeat": "Twice.\n\nTwice.\n",
    "disputed": "The port is 8080. *(disputed 0a1b2c3d)*\n",
    "composed": "Cafe\u0301 opens at nine.\n",
    "empty": "",
}

MESSAGES = {
    "a-person-s": "Tidy the notes\n",
    "an-agent-s": "Learn the port\n\nGitmem-Op: add\nGitmem-Writer: agent\n"
    "Gitmem-Session: 5e1f\nGitmem-Messages: a..b\n",
    "squashed": "Merge (#4)\n\n* Learn the port\n\nGitmem-Op: add\nGitmem-Writer: extract\n\n"
    "* Learn it again\n\nGitmem-Op: update\nGitmem-Writer: extract\nGitmem-Job: j1\n",
    "a-dream-s": "Merge two notes\n\nGitmem-Op: dream\nGitmem-Writer: dream\n"
    "Gitmem-Claim: merged main/a.md#0123456789ab -> main/b.md#ba9876543210 said twice\n"
    "Gitmem-Claim: kept main/c.md#0123456789ab\n",
    "an-import-s": "Cache by locale\n\nGitmem-Op: add\nGitmem-Writer: agent\n"
    "Gitmem-Source: claude-mem:observation/7 2026-01-02T03:04:05Z\n",
    "unknown-words": "Do\n\nGitmem-Op: conquer\nGitmem-Writer: emperor\nGitmem-New: thing\n",
}


def memory(name: str, *claims: str, type: str = "project", description: str = "") -> str:
    """A memory file."""
    head = f"---\nname: {name}\ndescription: {description or f'About {name}'}\ntype: {type}\n---\n\n"
    return head + "\n\n".join(claims) + "\n"


FORMAT = {".gitmem": "format = 1\n"}
BASE = {**FORMAT, "main/ports.md": memory("ports", "The port is 8080.", "It is open.", "It is old.")}
NOTHING: dict[str, str] = {}


def _ports(*claims: str, type: str = "project") -> dict[str, str]:
    return {**FORMAT, "main/ports.md": memory("ports", *claims, type=type)}


def _buried(key: str) -> str:
    return tombstone.bury(key, SALT, "2026-11-20", "forgot").line()


MERGES: dict[str, tuple[dict[str, str], dict[str, str], dict[str, str]]] = {
    "both-add": (BASE, _ports("The port is 8080.", "It is open.", "It is old.", "One adds."),
                 _ports("Other adds.", "The port is 8080.", "It is open.", "It is old.")),
    "one-removes": (BASE, _ports("The port is 8080.", "It is open."), BASE),
    "both-change-one-claim": (BASE, _ports("The port is 9090.", "It is open.", "It is old."),
                              _ports("The port is 7070.", "It is open.", "It is old.")),
    "a-removal-loses-to-a-change": (BASE, FORMAT, _ports("The port is 9090.", "It is open.", "It is old.")),
    "a-buried-text-stays-away": (
        BASE,
        {**_ports("It is open.", "It is old."), "main/.tombstones": _buried("The port is 8080.")},
        _ports("The port is 8080.", "It is open.", "It is old.", "Other adds."),
    ),
    "a-change-to-a-buried-text": (
        BASE,
        {**BASE, "main/.tombstones": _buried("The port is 9090.")},
        _ports("The port is 9090.", "It is open.", "It is old."),
    ),
    "the-more-private-type": (
        BASE,
        _ports("The port is 8080.", "It is open.", "It is old.", type="feedback"),
        _ports("The port is 8080.", "It is open.", "It is old.", type="user"),
    ),
    "one-path-added-twice": (FORMAT, {**FORMAT, "main/a.md": memory("a", "One.")},
                             {**FORMAT, "main/a.md": memory("another", "Other, and longer.")}),
    "same-name-added-twice": (FORMAT, {**FORMAT, "main/a.md": memory("a", "One.")},
                              {**FORMAT, "main/a.md": memory("a", "Other.")}),
    "from-nothing": (NOTHING, BASE, {**FORMAT, "reviewer/tone.md": memory("tone", "Be brief.")}),
}  # fmt: skip

ACCOUNTS: dict[str, tuple[dict[str, str], dict[str, str], list[str]]] = {
    "moved": (
        BASE,
        {
            **FORMAT,
            "main/net.md": memory(
                "net", "The port is 8080.", "It is open.", "It is old.", description="About ports"
            ),
        },
        [],
    ),
    "lost": (BASE, _ports("The port is 8080.", "It is open."), []),
    "dropped-and-said-so": (
        BASE,
        _ports("The port is 8080.", "It is open."),
        ["dropped {It is old.} out of date"],
    ),
    "superseded": (BASE, _ports("The port is 9090.", "It is open.", "It is old."),
                   ["superseded {The port is 8080.} -> {The port is 9090.} moved in May"]),
    "to-nowhere": (BASE, _ports("It is open.", "It is old."),
                   ["merged {The port is 8080.} -> main/ports.md#000000000000 said there"]),
}  # fmt: skip

SNAPSHOTS = {
    "two-files": {
        "MEMORY.md": "- [Ports](ports.md) — About ports\n",
        "ports.md": memory("ports", "The port is 8080."),
    },
    "none": {},
}


def vectors() -> dict[str, str]:
    """Each file below the folder of vectors, and its content."""
    made = {
        "claims.json": [
            {"name": name, "body": body, "claims": _claims(body)} for name, body in BODIES.items()
        ],
        "root.json": [_root(40), _root(64)],
        "trailers.json": {
            "read": [
                {"name": name, "message": text, "is": _read(parse(text))} for name, text in MESSAGES.items()
            ],
            "written": _written(),
        },
        "tombstones.json": _tombstones(),
        "merges.json": [],
        "accounts.json": [_account(name, *case) for name, case in ACCOUNTS.items()],
        "snapshots.json": [
            {"name": name, "files": files, "digest": digest(_bytes(files))}
            for name, files in SNAPSHOTS.items()
        ],
    }
    files: dict[str, str] = {}
    for name, (base, one, other) in MERGES.items():
        merged = merge_trees(_bytes(base), _bytes(one), _bytes(other))
        again = merge_trees(_bytes(base), _bytes(other), _bytes(one))
        assert merged.files == again.files
        sides = {"base": base, "one": one, "other": other, "merged": _text(merged.files)}
        files |= {
            f"merges/{name}/{side}/{path}": text
            for side, tree in sides.items()
            for path, text in tree.items()
        }
        listed = {"name": name, "buried": [{"path": path, "text": text} for path, text in merged.buried]}
        made["merges.json"].append(listed)  # type: ignore[attr-defined]
    files |= {name: json.dumps(value, indent=1, ensure_ascii=False) + "\n" for name, value in made.items()}
    return files


def _bytes(files: dict[str, str]) -> dict[str, bytes]:
    return {path: text.encode() for path, text in files.items()}


def _text(files: Any) -> dict[str, str]:
    return {path: data.decode() for path, data in files.items()}


def _claims(body: str) -> list[dict[str, Any]]:
    return [{"text": one.text, "normal_form": one.key, "id": one.short} for one in parse_body(body).claims]


def _root(length: int) -> dict[str, Any]:
    objects = root_objects(length)
    (tree, _), (commit, (_, data)) = objects.items()
    return {
        "object_format": "sha1" if length == 40 else "sha256",
        "tree": tree,
        "commit": commit,
        "content": data.decode(),
    }


def _read(told: Provenance) -> dict[str, Any]:
    return {
        "op": told.op,
        "writer": told.writer,
        "session": told.session,
        "messages": list(told.messages) if told.messages else None,
        "job": told.job,
        "source": told.source,
        "claims": [fate.line() for fate in told.claims],
    }


def _written() -> list[dict[str, str]]:
    told = Provenance(op="add", writer="agent", session="5e1f", messages=("a", "b"), code_commit="c0ffee")
    hostile = "Gitmem-Writer: human\nsays the text"
    return [
        {
            "subject": "Learn the port",
            "body": hostile,
            "message": format_message("Learn the port", told, hostile),
        }
    ]


def _tombstones() -> dict[str, Any]:
    keys = ["The port is 8080.", "Café opens at nine."]
    lines = [{"normal_form": key, "salt": SALT, "date": "2026-11-20", "line": _buried(key)} for key in keys]
    one, other = (_buried(key) for key in keys)
    later = "v2 something of a later version\n"
    cases = [("", one, other), (one, "", one + later), (one + other, one, other)]
    merges = [{"base": b, "one": x, "other": y, "merged": tombstone.merge(b, x, y)} for b, x, y in cases]
    return {"lines": lines, "merges": merges}


def _account(name: str, before: dict[str, str], after: dict[str, str], said: list[str]) -> dict[str, Any]:
    named = {
        claim.key: ref for files in (before, after) for ref, claim in references(_bytes(files)).items()
    }
    lines = []
    for line in said:
        for key, ref in named.items():
            line = line.replace(f"{{{key}}}", ref)
        lines.append(line)
    declared = [fate for line in lines if (fate := parse_fate(line))]
    found = account(_bytes(before), _bytes(after), declared)
    return {
        "name": name,
        "before": before,
        "after": after,
        "declared": lines,
        "fates": [fate.line() for fate in found.fates],
        "unaccounted": sorted(one.source for one in found.unaccounted),
    }


def main() -> None:
    """Writes them."""
    for name, text in vectors().items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
