"""The map of memory: what links to what, which files and commits are named, and what would leave here."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gitmem.core.errors import GitmemError
from gitmem.core.memory import Memory, parse
from gitmem.core.names import file_address
from gitmem.core.references import NameFate, named
from gitmem.engines.offline.links import Names, inline_links, links
from gitmem.flows.context import Edges
from gitmem.flows.disputes import disputes
from gitmem.flows.json_values import sound
from gitmem.flows.last_recalls import record_of
from gitmem.git.trees import read_paths
from gitmem.ledger.land import memory_commit
from gitmem.ledger.lookup import ListedMemory, headers
from gitmem.ledger.moments import became
from gitmem.ledger.push_plan import Leaving
from gitmem.ledger.share import held_back, plan_share
from gitmem.ledger.workspace import SCOPES, Workspace
from gitmem.search.code import CodeNow

MOST = 400
"""Memories on the map, those taught last: more is no picture. The list beside it has the same."""

SECONDS = 3.0
"""What a person waits for the code to be asked about."""


def graph(place: MemoryView) -> dict[str, Any]:
    """Nodes and edges, and what would leave this machine.

    Returns:
        `memories`, `names` (files, symbols and commits, each with what became of it) and `edges`, pairs of
        ids with a kind; `total` of memories; `leaving`.
    """
    space = place.workspace
    listed = [one for one in headers(space, missed={}) if one.scope in place.scopes]
    total = len(listed)
    listed = sorted(listed, key=lambda one: (-one.time, one.scope, one.agent, one.file))[:MOST]
    known: dict[str, Memory] = {}
    for where in space.scopes:
        tip = memory_commit(where.repo, where.ref)
        paths = {f"{one.agent}/{one.file}" for one in listed if one.scope == where.name and not one.secret}
        files = read_paths(where.repo, where.repo.commit(tip).tree, paths) if tip and paths else {}
        known |= {f"{where.name}/{path}": parse(path, text) for path, text in files.items()}
    disputed = {f"{one.scope}/{one.path}" for one in disputes(space)}
    leaves = leaving(place)
    memories = []
    for one in sorted(listed, key=lambda one: (one.scope, one.agent, one.file)):
        path = f"{one.scope}/{one.agent}/{one.file}"
        memories.append(
            {
                "id": sound(file_address(path)),
                "name": sound(one.name),
                "scope": one.scope,
                "agent": sound(one.agent),
                "type": one.type,
                "disputed": path in disputed,
                "leaves": path in leaves["paths"],
            }
        )
    names, edges = _named(place, known, {f"{one.scope}/{one.agent}/{one.file}": one.time for one in listed})
    taught = {f"{one.scope}/{one.agent}/{one.file}": one.code for one in listed if one.code}
    for oid, now in became(space, taught.values()).items():
        id = f"commit {oid}"
        names[id] = {
            "id": id,
            "kind": "commit",
            "name": oid[:9],
            "state": "there",
            "now": sound(now.subject),
        }
        edges += [(path, id, "taught at") for path, code in taught.items() if code == oid]
    edges += _links(known)
    return {
        "memories": memories,
        "names": list(names.values()),
        "edges": [[sound(file_address(a)), _end(b), kind] for a, b, kind in edges],
        "total": total,
        "leaving": {key: value for key, value in leaves.items() if key != "paths"},
    }


def _end(id: str) -> str:
    return sound(id if id.startswith(("file ", "word ", "commit ")) else file_address(id))


def _links(known: Mapping[str, Memory]) -> list[tuple[str, str, str]]:
    found = []
    for scope in dict.fromkeys(path.partition("/")[0] for path in known):
        mine = {path: memory for path, memory in known.items() if path.startswith(f"{scope}/")}
        names = Names(mine, {})
        for path, memory in mine.items():
            for link in (*links(memory.body), *inline_links(memory.body)):
                to = names.remembered(link)
                if to and to != path:
                    found.append((path, to, "links"))
    return list(dict.fromkeys(found))


def _named(
    place: MemoryView, known: Mapping[str, Memory], times: Mapping[str, int]
) -> tuple[dict[str, dict[str, Any]], list[tuple[str, str, str]]]:
    space = place.workspace
    asked = {path: named(f"{m.description}\n\n{m.body}", times.get(path, 0)) for path, m in known.items()}
    asked = {path: one for path, one in asked.items() if one.paths or one.words}
    code = CodeNow(space.git, space.top, space.layout.common_dir, space.state, SECONDS)
    found = code.look(list(asked.values()))
    names: dict[str, dict[str, Any]] = {}
    edges = []
    for (path, one), told in zip(asked.items(), found, strict=True):
        became: dict[str, NameFate] = {finding.name: finding for finding in told}
        words = [word for word, _ in one.words if word in became and became[word].kind != "there"]
        for kind, some in (("file", one.paths), ("word", words)):
            for name in some:
                finding = became.get(name)
                if kind == "file" and finding is None:
                    continue  # nothing is known about it
                id = f"{kind} {name}"
                names[id] = {
                    "id": sound(id),
                    "kind": "file" if kind == "file" else "symbol",
                    "name": sound(name),
                    "state": finding.kind if finding else "there",
                    "now": sound(finding.now) if finding else "",
                }
                edges.append((path, id, "names"))
    return names, edges


def leaving(place: MemoryView) -> dict[str, Any]:
    """What a push would send for the first time: with sharing on the next sync, else what `share` would.

    Nobody is asked for it, and nothing is written.
    """
    space = place.workspace
    remote = ""
    leaves: tuple[Leaving, ...] = ()
    personal: tuple[Leaving, ...] = ()
    if "project" not in place.scopes:
        return {"remote": "", "on": False, "memories": [], "held": [], "paths": frozenset()}
    with suppress(GitmemError):  # without a remote nothing can leave
        if space.sharing == "off":
            plan = plan_share(space)
            remote, leaves, personal = plan.remote.name, plan.leaves, plan.personal
        elif held := held_back(space):
            remote, leaves, personal = held.remote, held.leaves, held.personal
    return {
        "remote": sound(remote),
        "on": space.sharing != "off",
        "memories": [sound(str(one)) for one in leaves],
        "held": [sound(str(one)) for one in personal],
        "paths": frozenset(f"project/{one.path}" for one in leaves),
    }


FAMILIES = ("refs/gitmem/", "refs/heads/gitmem/", "refs/remotes/")


@dataclass(frozen=True)
class MemoryView:
    """One look at memory.

    Attributes:
        at: the moment at which the page opens; empty for the present.
        scopes: what may be shown.
        lists: lists of memories that were read before, by the state and the moment that they are of.
    """

    workspace: Workspace
    edges: Edges
    at: str = ""
    scopes: tuple[str, ...] = SCOPES
    lists: dict[tuple[str, str | None], list[ListedMemory]] = field(default_factory=dict, compare=False)

    @cached_property
    def tag(self) -> str:
        """Names the state of refs, recalls and settings; folders of agents are not looked at."""
        space = self.workspace
        refs = [*(space.code.refs(family) for family in FAMILIES), space.private.refs("refs/")]
        parts = [refs, space.code_head(), self.at]
        files = [record_of(scope) for scope in space.scopes]
        files += [space.layout.common_dir / "config", space.layout.git_dir / "HEAD"]
        times = []
        for file in files:
            with suppress(OSError):
                times.append((file.name, file.stat().st_mtime_ns))
        return hashlib.sha256(repr([parts, times]).encode()).hexdigest()[:24]
