"""Many memories blamed in one walk get the origins that each gets alone."""

from __future__ import annotations

import random
from pathlib import Path

from gitmem.core.trailers import Provenance
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.refs import move_ref
from gitmem.git.repository import Repository, Signature
from gitmem.ledger.blame import blame_memory, origins_of
from gitmem.ledger.land import Ref, Write, land
from gitmem.ledger.merge import merge_commits

REF = "refs/gitmem/project"


def write(repo: Repository, ref: str, files: dict[str, str | None], time: int, op: str = "update") -> str:
    edits = {path: None if text is None else text.encode() for path, text in files.items()}
    who = Signature("Ann", "ann@example.com", time)
    done = land(Ref(repo, ref), lambda _: Write(edits, "Learn", Provenance(op=op)), who)
    assert done is not None
    return done.commit


def text(number: int, *claims: str) -> str:
    return f"---\nname: m{number}\ndescription: About {number}\n---\n\n" + "\n\n".join(claims) + "\n"


def test_together_as_one_by_one(repo: Path) -> None:
    """With edits, a paging, a restore, a move between files, and a merge of two lines."""
    found = open_repository(repo, GitCommand({"PATH": "/usr/bin:/bin"}), prefer="git")
    chance = random.Random(5)
    claims = {number: [f"Fact {number}.0 holds."] for number in range(8)}
    time = 1_700_000_000
    write(found, REF, {f"main/m{n}.md": text(n, *some) for n, some in claims.items()}, time)
    for step in range(20):
        number = chance.randrange(8)
        claims[number].append(f"Fact {number}.{step + 1} holds.")
        time += 60
        write(found, REF, {f"main/m{number}.md": text(number, *claims[number])}, time)
    write(found, REF, {"main/m0.md": text(0, "Something else.")}, time + 60)
    write(found, REF, {"main/m0.md": text(0, *claims[0])}, time + 120, "restore")
    moved = claims[1].pop()
    write(
        found,
        REF,
        {"main/m1.md": text(1, *claims[1]), "main/m2.md": text(2, *claims[2], moved)},
        time + 180,
    )
    fork = found.ref(REF)
    assert fork is not None
    move_ref(found, "refs/gitmem/other", fork, None, "test")
    write(found, "refs/gitmem/other", {"main/m3.md": text(3, *claims[3], "Said on a branch.")}, time + 240)
    ours = write(found, REF, {"main/m3.md": text(3, *claims[3], "Said on the line.")}, time + 300)
    theirs = found.ref("refs/gitmem/other")
    assert theirs is not None
    merged = merge_commits(found, ours, theirs).commit
    alone = {}
    wanted = {}
    for number in range(8):
        path = f"main/m{number}.md"
        for one in blame_memory(found, merged, path):
            alone[path, one.claim.id] = one.origins
            wanted.setdefault(path, set()).add(one.claim.id)
    assert origins_of(found, merged, wanted) == alone and len(alone) > 30
