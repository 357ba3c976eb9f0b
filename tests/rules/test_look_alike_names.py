"""No name of a tree is taken for another one, whatever alphabet it is spelt in."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from gitmem.core.errors import RepositoryError, UsageError
from gitmem.core.names import RESERVED, agent_folder_name
from gitmem.ledger.files import linked
from gitmem.ledger.layout import is_laid_out
from gitmem.ledger.merge import check_paths
from gitmem.rules.paths import check_path, colliding


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("main/M\u0415MORY.md", "mixes Cyrillic and Latin"),
        ("main/\u039cEMORY.md", "mixes Greek and Latin"),
        ("main/\uff2d\uff25\uff2d\uff2f\uff32\uff39.md", "looks like MEMORY.md"),
        ("main/\u217femory.md", "looks like MEMORY.md"),
        ("main/m\u00e9mory.md", "looks like MEMORY.md"),
        (".gitm\u0435m", "mixes"),
        (".\uff47itattributes", "looks like .gitattributes"),
        ("main/\u0430rchive/ab/a.md", "mixes"),
        ("main/\uff0e\uff0e/a.md", "dot"),
        ("main/\u2025/a.md", "dot"),
        ("main/a\uff0fb.md", "separator"),
        ("main/a\u2215b.md", "separator"),
        ("main/a\u2044b.md", "separator"),
        ("main/a\uff3cb.md", "separator"),
        ("main/c\uff1ab.md", "colon"),
        ("main/\uff052e\uff052e/a.md", "percent"),
        ("main/a\u200bb.md", "invisible"),
        ("main/a\u00adb.md", "invisible"),
        ("main/a\u202eb.md", "invisible"),
        ("main/a\u00a0b.md", "invisible"),
        ("main/a\ufeffb.md", "invisible"),
        ("main/a\U000e0041b.md", "invisible"),
        ("main/a\u200db.md", "invisible"),
        ("main/deploy\u3164.md", "invisible"),
        ("main/p\u0430ypal.md", "mixes"),
        ("main/\u03bc\u0430.md", "mixes"),
        ("main/\u043cemory.md", "looks like MEMORY.md"),
        ("main/\u0301/a.md", "is nothing"),
        ("main/.\u0301.\u0301/a.md", "is nothing"),
        ("main/a.\u20dd/a.md", "ends with a dot"),
    ],
)
def test_look_alikes_are_refused_with_a_reason(path: str, reason: str) -> None:
    refused = check_path(path)
    assert refused is not None
    assert reason in refused
    assert refused.isprintable()


@pytest.mark.parametrize(
    "path",
    [
        "main/m\u00e9moire.md", "main/na\u00efve-caf\u00e9.md",
        "main/\u0437\u0430\u043c\u0435\u0442\u043a\u0430.md",
        "main/\u03c3\u03b7\u03bc\u03b5\u03af\u03c9\u03c3\u03b7.md", "main/\u8a2d\u8a08-API.md",
        "main/\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645.md", "main/\u2764\ufe0f-notes.md",
        "main/\U0001f468\u200d\U0001f4bb.md", "main/wait\u2026-then.md", "main/\u0e44\u0e17\u0e22.md",
        "main/\u043f\u043b\u0430\u043d-Q3.md", "main/Gro\u00dfe Ma\u00dfe.md",
        "main/\u0394t-limits.md", "main/timeouts-in-\u03bcs.md", "main/\u0e17\u0e35\u0e48/\u0928\u093f.md",
    ],
)  # fmt: skip
def test_names_of_people_who_write_otherwise_pass(path: str) -> None:
    assert check_path(unicodedata.normalize("NFC", path)) is None


ALPHABET = st.sampled_from(
    "aeмсеοіMEY./\\%:~ \u200b\u202e\u00a0\uff0e\uff0f\u2215\u2025\u0301\u030a\u212b\u00e9\u2024\ufe52"
    + "2eFfgitmd"
)


@given(st.lists(st.text(ALPHABET, min_size=1, max_size=10), min_size=1, max_size=4).map("/".join))
@example("main/\u2024\u2024/a.md")
@example("main/.GIT\u200c/a.md")
def test_what_passes_stays_in_its_folder_on_every_kind_of_file_system(path: str) -> None:
    """Also where names are folded: by case, to NFD or NFKC, without what is ignorable, decoded, or cut."""
    if check_path(path) is not None:
        return
    foldings = (
        str,
        str.casefold,
        str.upper,
        lambda text: unicodedata.normalize("NFD", text),
        lambda text: unicodedata.normalize("NFKC", text),
        lambda text: unicodedata.normalize("NFKD", text).casefold(),
        lambda text: "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Mn")),
        lambda text: "/".join(part.rstrip(". ") for part in text.split("/")),
    )
    for fold in foldings:
        folded = fold(path)
        parts = folded.split("/")
        assert len(parts) == path.count("/") + 1
        assert not {"", ".", ".."} & set(parts)
        assert not folded.startswith("/")
        assert "\\" not in folded
        assert "\0" not in folded
        assert ".git" not in [part.casefold() for part in parts]
        root = PurePosixPath("/root/of/tree")
        assert PurePosixPath(os.path.normpath(root / folded)).is_relative_to(root)


@given(st.sampled_from(RESERVED), st.data())
def test_no_spelling_of_a_reserved_name_in_other_letters_passes(name: str, data: st.DataObject) -> None:
    twins = {
        "a": "\u0430",
        "e": "\u0435",
        "o": "\u043e",
        "c": "\u0441",
        "i": "\u0456",
        "m": "\uff4d",
        "r": "\uff52",
    }
    spots = [at for at, char in enumerate(name.lower()) if char in twins]
    assume(spots)
    chosen = data.draw(st.sets(st.sampled_from(spots), min_size=1))
    spelt = "".join(twins[char.lower()] if at in chosen else char for at, char in enumerate(name))
    assert check_path(f"main/{spelt}") is not None
    assert not is_laid_out(spelt)


@given(st.text(max_size=12))
def test_an_agent_of_any_folder_is_one_safe_part_of_a_path(folder: str) -> None:
    try:
        name = agent_folder_name(folder)
    except UsageError:
        return
    assert check_path(folder) is None
    assert "/" not in name
    assert name not in (".", "..")


def test_two_names_that_read_as_one_are_not_in_one_tree() -> None:
    with pytest.raises(RepositoryError, match="read as one path"):
        check_paths({"main/file.md", "main/\ufb01le.md"})
    assert colliding(["main/deploy.md", "main/Deploy.md", "main/x.md"]) is None
    check_paths({"main/deploy.md", "main/Deploy.md"})


@pytest.mark.parametrize("where", ["a", "a/b", "a/b/c.md"])
def test_a_link_anywhere_on_the_way_is_seen_also_a_dangling_one(tmp_path: Path, where: str) -> None:
    at = tmp_path / where
    at.parent.mkdir(parents=True, exist_ok=True)
    at.symlink_to(tmp_path / "missing")
    assert linked(tmp_path, tmp_path / "a/b/c.md")
    assert not linked(tmp_path, tmp_path)
    assert linked(tmp_path / "other", tmp_path / "a"), "what is not below the anchor is not trusted"
