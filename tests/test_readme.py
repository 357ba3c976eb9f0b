"""The README's sessions, and those of docs/, are run and compared: what they show is what happens.

`python tests/test_readme.py` writes those that come out otherwise now, and draws the picture: read the
difference.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
from html import unescape
from pathlib import Path
from types import ModuleType

import pytest
from shown_sessions import ROOT, blocks, make_home, normalised, renewed, run_session

README = ROOT / "README.md"
PAGES = [README, *sorted(page for page in (ROOT / "docs").rglob("*.md") if "vectors" not in page.parts)]
"""Vectors of the specification are memories, not pages."""
MOST_WORDS = 900


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def picture() -> ModuleType:
    spec = importlib.util.spec_from_file_location("picture", ROOT / "docs/picture.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules["picture"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=str(page.relative_to(ROOT)), marks=() if page == README else pytest.mark.long)
        for page in PAGES
        if blocks(text_of(page))
    ],
)
def test_the_sessions_come_out_as_shown(page: Path, tmp_path: Path) -> None:
    home, environ = make_home(tmp_path)
    for block in blocks(text_of(page)):
        ran = normalised(run_session(block, home, environ))
        assert ran == normalised(block), "where it is meant: .venv/bin/python tests/test_readme.py"


def test_the_readme_shows_its_four_moments_in_few_words() -> None:
    assert len(blocks(text_of(README))) == 4
    assert len(text_of(README).split()) <= MOST_WORDS, "say it in docs/, and link it"


def test_the_picture_plays_the_sessions_that_the_readme_shows() -> None:
    """`python docs/picture.py` draws it."""
    drawn = picture().drawn(text_of(README))
    assert drawn == text_of(ROOT / "docs/picture.svg"), "run: .venv/bin/python docs/picture.py"
    assert "<script" not in drawn and "href" not in drawn
    shown = "".join(unescape("".join(re.findall(r"<text[^>]*>([^<]*)</text>", drawn))).split())
    for block in blocks(text_of(README)):
        for line in block.splitlines():
            assert "".join(line.split()) in shown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_inside_the_repository_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$|^    .*?$|`[^`]*`", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    for target, anchor in re.findall(r"\]\(([^)#:]*)(#[^)]*)?\)", prose):
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), target
        if anchor:
            heads = re.findall(r"^#+ (.*)$", text_of(file), re.MULTILINE)
            made = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
            assert anchor[1:] in made, (target, anchor)


if __name__ == "__main__":
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            if blocks(shown := text_of(page)):
                now = renewed(shown, *make_home(Path(folder).resolve()))
                # Ids are others in every run, as they are made of where it was.
                if normalised(now) != normalised(shown):
                    page.write_text(now, encoding="utf-8")
    picture().main()
