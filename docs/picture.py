#!/usr/bin/env python3
"""Draws docs/picture.svg: the README's sessions as a terminal that plays them.

The sessions are what the program printed (tests/test_readme.py runs them), so the picture is, too:
`python docs/picture.py` draws it anew, tests/test_readme.py says when that is due. It moves by CSS
alone, which code hosts let stand, and shows its first scene where nothing moves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = Path(__file__).parent / "picture.svg"

COLUMNS = 92
CELL, LINE, LEFT, TOP = 8.43, 20, 18, 66
"""Pixels: a letter of the font at 14 pixels, a line, and where text begins."""
TYPED, PRINTED, PAUSE, READ = 0.028, 0.3, 0.5, 4.0
"""Seconds: a letter that is typed, a line that is printed, after a command, and at the end of a scene."""

STYLE = """\
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;
fill:#d6dbe1;white-space:pre}
.title{fill:#8b949e}.typed{fill:#fff;font-weight:bold}.prompt{fill:#7ee787}
"""


@dataclass(frozen=True)
class Row:
    """One line on the screen.

    Attributes:
        prompt: what stands before a command, empty for what is printed.
        begins, ends: seconds from the start between which it appears.
    """

    text: str
    prompt: str
    begins: float
    ends: float


def scenes(readme: str) -> Iterator[tuple[str, str]]:
    """Each session with the title of its section."""
    for section in re.split(r"^## ", readme, flags=re.MULTILINE)[1:]:
        found = re.search(r"^```console\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
        if found:
            yield section.partition("\n")[0], found[1]


def rows(session: str, begin: float) -> list[Row]:
    """The lines of a session, and when each appears."""
    found, time = [], begin + PAUSE
    for line in session.splitlines():
        command = re.match(r"((?:bob)?\$ )(.*)", line)
        prompt, text = command.groups() if command else ("", line)
        for number, part in enumerate(folded(text, COLUMNS - len(prompt))):
            ends = time + (TYPED * len(part) if command else 0)
            found.append(
                Row(part, (prompt if not number else " " * len(prompt)) if command else "", time, ends)
            )
            time = ends + (PRINTED if not command else 0)
        time += PAUSE if command else 0
    return found


def folded(text: str, columns: int) -> list[str]:
    """Pieces that a line of the screen holds, broken at spaces."""
    pieces = []
    while len(text) > columns:
        at = text.rfind(" ", 1, columns + 1)
        at = at if at > 0 else columns
        pieces.append(text[:at])
        text = "  " + text[at:].lstrip()
    return [*pieces, text]


def drawn(readme: str) -> str:
    """The picture."""
    plans, time = [], 0.0
    for title, session in scenes(readme):
        lines = rows(session, time)
        plans.append((title, time, lines))
        time = lines[-1].ends + READ
    total = time
    css, body = [STYLE], []
    for number, (title, begin, lines) in enumerate(plans):
        end = plans[number + 1][1] if number + 1 < len(plans) else total
        shown = "visible" if number == 0 else "hidden"
        css.append(f".s{number}{{visibility:{shown};animation:s{number} {total:.1f}s step-end infinite}}")
        css.append(f"@keyframes s{number}{{{span(begin, end, total)}}}")
        body.append(f'<g class="s{number}"><text class="title" x="{LEFT}" y="44">{escape(title)}</text>')
        for at, row in enumerate(lines):
            name = f"r{number}-{at}"
            css.append(f".{name}{{animation:{name} {total:.1f}s step-end infinite}}")
            css.append(f"@keyframes {name}{{{appears(row.begins, total)}}}")
            y = TOP + at * LINE
            x = LEFT + len(row.prompt) * CELL
            prompt = (
                f'<text class="prompt" x="{LEFT}" y="{y}">{escape(row.prompt)}</text>' if row.prompt else ""
            )
            kind = ' class="typed"' if row.prompt else ""
            text = f'<text{kind} x="{x:.1f}" y="{y}">{escape(row.text)}</text>'
            body.append(f'<g class="{name}">{prompt}{text}{cover(row, name, x, y, total, css)}</g>')
        body.append("</g>")
    width, height = round(2 * LEFT + COLUMNS * CELL), TOP + max(len(lines) for _, _, lines in plans) * LINE
    css.append("@media (prefers-reduced-motion:reduce){*{animation:none!important}}")
    dots = "".join(
        f'<circle cx="{22 + 18 * n}" cy="18" r="6" fill="{colour}"/>'
        for n, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-labelledby="t">\n'
        f'<title id="t">A terminal plays the sessions of the README</title>\n'
        f"<style>\n{''.join(css)}\n</style>\n"
        f'<rect width="{width}" height="{height}" rx="10" fill="#0d1117"/>{dots}\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def cover(row: Row, name: str, x: float, y: int, total: float, css: list[str]) -> str:
    """A patch that draws back from a command, so that it is typed letter by letter."""
    if not row.prompt:
        return ""
    letters = max(1, len(row.text))
    wide = letters * CELL + 4
    a, b = 100 * row.begins / total, 100 * row.ends / total
    css.append(f".c{name}{{transform:translateX({wide:.0f}px);animation:c{name} {total:.1f}s infinite}}")
    css.append(
        f"@keyframes c{name}{{0%{{transform:none}}{a:.3f}%{{transform:none;"
        f"animation-timing-function:steps({letters})}}"
        f"{b:.3f}%,to{{transform:translateX({wide:.0f}px)}}}}"
    )
    # Behind the text's own box nothing is covered: the patch leaves through its right edge.
    return (
        f'<svg x="{x:.1f}" y="{y - 15}" width="{wide:.0f}" height="{LINE}" overflow="hidden">'
        f'<rect class="c{name}" width="{wide:.0f}" height="{LINE}" fill="#0d1117"/></svg>'
    )


def appears(begin: float, total: float) -> str:
    """Nothing before a moment, all from then on."""
    return f"0%{{opacity:0}}{100 * begin / total:.3f}%,to{{opacity:1}}"


def span(begin: float, end: float, total: float) -> str:
    """Shown from one moment to another alone."""
    a, b = 100 * begin / total, 100 * end / total
    before = "0%{visibility:hidden}" if begin else ""
    after = f"{b:.3f}%,to{{visibility:hidden}}" if b < 100 else "to{visibility:visible}"
    return f"{before}{a:.3f}%{{visibility:visible}}{after}"


def main() -> None:
    """Draws it."""
    PICTURE.write_text(drawn((ROOT / "README.md").read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
