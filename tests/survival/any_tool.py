"""Runs any memory tool through what happens to memory, by an adapter of a few commands.

    python tests/survival/any_tool.py [ADAPTER.toml ...] [--only CASE] [--json] [--markdown FILE]

An adapter (`adapters/*.toml`) names the tool and gives commands as lists of words:

    name = "…"            what it is called
    version = […]         prints its version
    setup = [[…], …]      once a folder, before anything else; `{origin}` is a bare git repository
    add = […]             stores `{text}` under the name `{id}`
    edit = […]            changes the memory of that name to `{text}`
    delete = […]          removes it, for good
    sync = […]            exchanges with the other folder; left out by a tool that cannot
    search = […]          prints what it finds for `{query}`
    consolidate = […]     has the tool clean up its memory by itself, and what it proposes accepted
    dump = […]            prints everything that it remembers
    files = "…"           glob, below the folder, of its files, one a memory; left out where there are none
    note = "…"            for the reader of the table

`{dir}` is the folder that stands for a clone, `{home}` the home directory, `{python}` this interpreter,
and `{here}` the folder of this file; the commands run in `{dir}`. Environment variables in braces
(`{env:NAME}`) say where a tool is installed. Nothing of the machine's own configuration is seen.

A case is held (●), lost (○, with what was), or not to be asked of the tool (–).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from planted_secrets import GITHUB  # noqa: E402

SECONDS = 120
WRITERS = 8
HELD, LOST, NOT_ASKED = "●", "○", "–"

_BRACES = re.compile(r"\{(env:)?(\w+)\}")


class CannotRunError(Exception):
    """The tool is not here, or its own setup fails."""


@dataclass
class Tool:
    """An adapter, with the folders of one case."""

    told: dict[str, Any]
    root: Path
    environ: dict[str, str]
    said: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.told["name"])

    def has(self, command: str) -> bool:
        return command in self.told

    def folder(self, clone: str = "a") -> Path:
        """A clone's folder, set up when it is first asked for."""
        place = self.root / clone
        if not place.exists():
            place.mkdir(parents=True)
            if not (self.root / "origin.git").exists():
                subprocess.run(
                    ["git", "init", "-q", "--bare", "-b", "main", str(self.root / "origin.git")], check=True
                )
            for words in self.told.get("setup", []):
                done = self._run(words, place, {})
                if done.returncode:
                    raise CannotRunError(
                        f"setup: {' '.join(words)[:60]}: {(done.stderr or done.stdout)[-200:]}"
                    )
        return place

    def __call__(self, command: str, clone: str = "a", **values: str) -> subprocess.CompletedProcess[str]:
        return self._run(self.told[command], self.folder(clone), values)

    def words(self, words: list[str], place: Path, values: dict[str, str]) -> list[str]:
        known = {
            "dir": str(place), "home": self.environ["HOME"], "python": sys.executable, "here": str(HERE),
            "origin": str(self.root / "origin.git"), **values,
        }  # fmt: skip

        def filled(match: re.Match[str]) -> str:
            if match[1]:
                if match[2] not in os.environ:
                    raise CannotRunError(f"{match[2]} is not set")
                return os.environ[match[2]]
            value = known.get(match[2], match[0])
            return json.dumps(value)[1:-1] if in_json else value

        found = []
        for word in words:
            in_json = word.startswith('{"')
            found.append(_BRACES.sub(filled, word))
        return found

    def _run(
        self, words: list[str], place: Path, values: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        given = self.words(words, place, values)
        try:
            return subprocess.run(
                given, cwd=place, env=self.environ, capture_output=True, text=True, timeout=SECONDS,
                stdin=subprocess.DEVNULL, check=False, errors="replace",
            )  # fmt: skip
        except FileNotFoundError as error:
            raise CannotRunError(f"{given[0]} is not installed") from error
        except subprocess.TimeoutExpired as error:
            # A slow machine is no fault of the tool's.
            raise CannotRunError(f"a command took longer than {error.timeout:g} s") from error

    def dump(self, clone: str = "a") -> str:
        return self("dump", clone).stdout

    def files(self, clone: str = "a") -> list[Path]:
        return sorted(self.folder(clone).glob(self.told["files"]))


def writers(tool: Tool) -> str:
    """Eight processes add at once; each that was told that it worked must be there."""
    tool.folder()
    with ThreadPoolExecutor(WRITERS) as pool:
        numbers = range(WRITERS)
        done = list(
            pool.map(lambda n: tool("add", id=f"writer-{n}", text=f"Writer {n} knows w{n}w."), numbers)
        )
    there = tool.dump()
    acknowledged = [n for n in numbers if done[n].returncode == 0]
    lost = [n for n in acknowledged if f"w{n}w" not in there]
    if not acknowledged:
        return f"none of {WRITERS} could write"
    refused = WRITERS - len(acknowledged)
    return (
        f"{len(lost)} of {WRITERS} lost" if lost else f"{refused} of {WRITERS} refused" if refused else ""
    )


def killed(tool: Tool) -> str:
    """A writer is killed in the middle of it, often: what was acknowledged stays, and it goes on."""
    place, told = tool.folder(), []
    for n in range(12):
        words = tool.words(tool.told["add"], place, {"id": f"kill-{n}", "text": f"Killed writer k{n}k."})
        process = subprocess.Popen(
            words, cwd=place, env=tool.environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(0.05 + 0.11 * n)
            if process.returncode == 0:
                told.append(n)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if tool("add", id="after", text="It goes on: zafterz.").returncode:
        return "cannot write any more"
    there = tool.dump()
    lost = [n for n in told if f"k{n}k" not in there]
    return (
        "cannot be read any more"
        if "zafterz" not in there
        else f"{len(lost)} acknowledged lost"
        if lost
        else ""
    )


def clones(tool: Tool) -> str:
    """Two clones add and exchange: both have both."""
    tool.folder("a"), tool.folder("b")
    (
        tool("add", "a", id="from-a", text="Ann knows qaq."),
        tool("add", "b", id="from-b", text="Bob knows qbq."),
    )
    for clone in "abab":
        tool("sync", clone)
    lost = [
        f"{clone} lacks {word}" for clone in "ab" for word in ("qaq", "qbq") if word not in tool.dump(clone)
    ]
    return ", ".join(lost)


def _shared(tool: Tool) -> None:
    tool.folder("a"), tool.folder("b")
    tool("add", "a", id="shared", text="The port is p0p.")
    for clone in "ab":
        tool("sync", clone)
    if "p0p" not in tool.dump("b"):
        raise CannotRunError("an addition did not arrive")


def both_edit(tool: Tool) -> str:
    """Both change one memory: neither text is lost without a word of it."""
    _shared(tool)
    (
        tool("edit", "a", id="shared", text="The port is p1p."),
        tool("edit", "b", id="shared", text="The port is p2p."),
    )
    done = [tool("sync", clone) for clone in "abab"]
    lost = [word for word in ("p1p", "p2p") if not any(word in tool.dump(clone) for clone in "ab")]
    stuck = [clone for clone, one in zip("ab", done[2:], strict=True) if one.returncode]
    if lost:
        return f"{' and '.join(lost)} lost"
    apart = [word for word in ("p1p", "p2p") for clone in "ab" if word not in tool.dump(clone)]
    return f"left to a person in {' and '.join(stuck)}" if stuck else "the two stay apart" if apart else ""


def deleted(tool: Tool) -> str:
    """What was deleted stays so when a clone that still has it exchanges."""
    _shared(tool)
    tool("delete", "a", id="shared", text="The port is p0p.")
    if "p0p" in tool.dump("a"):
        return "it is not deleted where it was"
    tool("add", "b", id="other", text="Bob goes on with something else.")
    for clone in "abab":
        tool("sync", clone)
    back = [clone for clone in "ab" if "p0p" in tool.dump(clone)]
    return f"back in {' and '.join(back)}" if back else ""


def secret(tool: Tool) -> str:
    """A credential does not come to lie in what it keeps."""
    place = tool.folder()
    tool("add", id="token", text=f"The deploy token is {GITHUB}")
    for base in (place, Path(tool.environ["HOME"])):
        for path in base.rglob("*"):
            if path.is_file() and not path.is_symlink() and GITHUB.encode() in path.read_bytes():
                return f"stored in {path.relative_to(base.parent)}"
    return "told back" if GITHUB in tool.dump() else ""


def symlink(tool: Tool) -> str:
    """A memory file that became a link leads nobody to write outside."""
    tool.folder()
    tool("add", id="linked", text="A fact that is linked l0l.")
    found = [path for path in tool.files() if b"l0l" in path.read_bytes()]
    if not found:
        raise CannotRunError("there is no file of it")
    outside = tool.root / "outside.txt"
    outside.write_text("not yours\n")
    found[0].unlink()
    found[0].symlink_to(outside)
    tool("edit", id="linked", text="A changed fact l1l.")
    tool("add", id="another", text="Another fact l2l.")
    return "" if outside.read_text() == "not yours\n" else "wrote outside"


def bad_yaml(tool: Tool) -> str:
    """One file that is broken keeps nothing else from being found."""
    tool.folder()
    tool("add", id="sound", text="A sound fact y0y.")
    tool("add", id="broken", text="A broken fact y1y.")
    for path in tool.files():
        if b"y1y" in path.read_bytes():
            path.write_text("---\nname: a: b: [\n\t- x\n---\n\nA broken fact y1y.\n")
    there = tool.dump() + tool("search", query="sound fact").stdout
    return "" if "y0y" in there else "nothing is found any more"


def search(tool: Tool) -> str:
    """Of forty memories the one that a question's words ask for is found."""
    tool.folder()
    things = ["payment gateway", "cache key", "release train", "login page", "search index", "backup disk",
              "mail queue", "build agent"]  # fmt: skip
    for n, thing in enumerate(things):
        for m in range(3):
            tool("add", id=f"fact-{n}-{m}", text=f"The {thing} was looked at in week {m}.")
    tool("add", id="wanted", text="Deploys of the payment gateway wait for Carol's word s0s.")
    found = tool("search", query="who decides on deploys of the payment gateway").stdout
    return "" if "s0s" in found else "not found"


def consolidation(tool: Tool) -> str:
    """Of memories that say partly the same, what only one of them says is still there."""
    tool.folder()
    tool("add", id="deploys", text="Deploys go out on Tuesdays after the smoke test c0c.")
    tool(
        "add",
        id="deploy-day",
        text="Deploys go out on Tuesdays after the smoke test c0c, and Carol is told c1c.",
    )
    tool("add", id="port", text="The gateway listens on port c2c.")
    tool("add", id="gateway-port", text="The gateway listens on port c2c.")
    done = tool("consolidate")
    if done.returncode:
        raise CannotRunError(f"consolidate: {(done.stderr or done.stdout)[-200:]}")
    there = tool.dump()
    lost = [word for word in ("c0c", "c1c", "c2c") if word not in there]
    return f"{', '.join(lost)} lost" if lost else ""


@dataclass(frozen=True)
class Case:
    """One row of the table, the commands without which it cannot be asked, and what is said then."""

    title: str
    run: Callable[[Tool], str]
    needs: tuple[str, ...]
    without: str = ""


CASES = {
    "writers": Case("8 writers at once", writers, ("add", "dump")),
    "killed": Case("kill −9", killed, ("add", "dump")),
    "clones": Case("two clones", clones, ("add", "sync", "dump")),
    "both-edit": Case("both edit", both_edit, ("add", "edit", "sync", "dump")),
    "deleted": Case("deleted stays so", deleted, ("add", "delete", "sync", "dump")),
    "secret": Case("a secret", secret, ("add", "dump")),
    "symlink": Case("a symlink", symlink, ("add", "edit", "files")),
    "bad-yaml": Case("bad YAML", bad_yaml, ("add", "files", "search", "dump")),
    "search": Case("search in words", search, ("add", "search")),
    "consolidation": Case(
        "consolidation", consolidation, ("add", "consolidate", "dump"), "has none of its own"
    ),
}


def environment(home: Path) -> dict[str, str]:
    """Variables of a machine on which nobody has worked yet."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "NODE_PATH") if name in os.environ}
    rows = ["[user]", "\tname = Ann", "\temail = ann@example.com", "[init]", "\tdefaultBranch = main", ""]
    (home / ".gitconfig").write_text("\n".join(rows))
    return {
        **kept,
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "GIT_TERMINAL_PROMPT": "0",
    }


def measure(told: dict[str, Any], only: str = "") -> dict[str, Any]:
    """What came of each case: `HELD`, `NOT_ASKED`, or `LOST` with what was."""
    version, results = "", {}
    for name, case in CASES.items():
        if only and name != only:
            continue
        if any(need not in told for need in case.needs):
            results[name] = {"mark": NOT_ASKED, "said": case.without}
            continue
        with tempfile.TemporaryDirectory(prefix="survival-") as folder:
            home = Path(folder) / "home"
            home.mkdir()
            tool = Tool(told, Path(folder), environment(home))
            begun = time.monotonic()
            try:
                if not version and "version" in told:
                    version = (tool("version").stdout.strip().splitlines() or [""])[0]
                said = case.run(tool)
                results[name] = {"mark": LOST if said else HELD, "said": said}
            except CannotRunError as error:
                results[name] = {"mark": NOT_ASKED, "said": str(error)}
            print(
                f"{told['name']}: {name}: {results[name]} ({time.monotonic() - begun:.0f} s)",
                file=sys.stderr,
            )
    return {"tool": told["name"], "version": version, "note": told.get("note", ""), "cases": results}


def table(rows: list[dict[str, Any]], day: str) -> str:
    """The results as markdown."""
    titles = [case.title for case in CASES.values()]
    lines = [f"| tool | {' | '.join(titles)} |", "|---|" + ":-:|" * len(titles)]
    notes = []
    for row in rows:
        marks = [row["cases"].get(name, {"mark": ""})["mark"] for name in CASES]
        lines.append(f"| {row['tool']} {row['version']} | {' | '.join(marks)} |")
        for name, one in row["cases"].items():
            if one["said"]:
                notes.append(f"- {row['tool']}, {CASES[name].title}: {one['said']}")
    return "\n".join(
        [
            *lines,
            "",
            f"Run on {day}. {HELD} held, {LOST} lost, {NOT_ASKED} not asked, blank not run.",
            "",
            *notes,
            "",
        ]
    )


def main() -> int:
    """Runs the adapters, and prints what came of it."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    asked.add_argument("adapters", nargs="*", type=Path)
    asked.add_argument("--only", default="", choices=["", *CASES])
    asked.add_argument("--json", action="store_true")
    asked.add_argument("--markdown", type=Path, metavar="FILE")
    given = asked.parse_args()
    paths = given.adapters or sorted((HERE / "adapters").glob("*.toml"))
    rows = [measure(tomllib.loads(path.read_text()), given.only) for path in paths]
    text = table(rows, datetime.now(UTC).date().isoformat())
    if given.markdown:
        given.markdown.write_text(text)
    print(json.dumps(rows, indent=1, ensure_ascii=False) if given.json else text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
