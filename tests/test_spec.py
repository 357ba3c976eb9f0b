"""The specification's vectors are what gitmem does, all of them, and can be used without gitmem."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path

from spec_vectors import FOLDER, vectors


def test_the_vectors_are_what_gitmem_does() -> None:
    """A difference is a change of the format; with a migration `python tests/spec_vectors.py` writes it."""
    made = vectors()
    there = {
        str(path.relative_to(FOLDER)): path.read_text() for path in FOLDER.rglob("*") if path.is_file()
    }
    assert there == made


def test_each_vector_that_the_page_names_is_there() -> None:
    """And none lies about that it does not."""
    named = set(re.findall(r"`vectors/([\w-]+(?:\.json|/))", (FOLDER.parent / "README.md").read_text()))
    assert named == {path.name + ("/" if path.is_dir() else "") for path in FOLDER.iterdir()}


def test_digests_and_names_follow_without_gitmem(tmp_path: Path) -> None:
    """What the page says in words, done by hand: hashes of claims, stones, snapshots and the root."""
    for one in json.loads((FOLDER / "claims.json").read_text()):
        seen: dict[str, int] = {}
        for claim in one["claims"]:
            key = claim["normal_form"]
            said = key if key not in seen else f"{key}\0{seen[key]}"
            seen[key] = seen.get(key, 0) + 1
            assert hashlib.sha256(said.encode()).hexdigest()[:12] == claim["id"]
    for one in json.loads((FOLDER / "tombstones.json").read_text())["lines"]:
        digest = hashlib.sha256(f"{one['salt']}\0{one['normal_form']}".encode()).hexdigest()
        assert one["line"] == f"v1 {one['salt']} {digest} {one['date']} forgot\n"
    for one in json.loads((FOLDER / "snapshots.json").read_text()):
        rows = [
            f"{name}\0{hashlib.sha256(text.encode()).hexdigest()}\n"
            for name, text in sorted(one["files"].items())
        ]
        assert hashlib.sha256("".join(rows).encode()).hexdigest() == one["digest"]
    for one in json.loads((FOLDER / "root.json").read_text()):
        words = [
            "git",
            "init",
            "-q",
            "--bare",
            f"--object-format={one['object_format']}",
            one["object_format"],
        ]
        subprocess.run(words, cwd=tmp_path, check=True)
        done = subprocess.run(
            ["git", "hash-object", "-t", "commit", "--stdin", "--literally"],
            cwd=tmp_path / one["object_format"],
            input=one["content"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == one["commit"]
