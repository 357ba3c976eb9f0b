"""Measures secret detectors on planted secrets and look-alikes: found, false blocks, cost.

usage: python tests/bench/secret_scan.py [--seeds N] [--rules FILE] [--misses] [--json]

Beside gitmem's guard stands betterleaks as it comes. FILE has rule tests of others:
JSON, gzipped, in base64: `{"tp": {rule: [text]}, "fp": {rule: [text]}}`; its rules are told apart in two
halves by a hash of their names, of which one was tuned on.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from figures import Figure, options, say
from planted_secrets import SEED, look_alikes, planted

Scan = Callable[[str], tuple[bool, bool]]
"""Whether a text is blocked, and whether anything is found in it."""


def _gitmem() -> Scan:
    from gitmem.rules.secrets import find_secrets

    def scan(text: str) -> tuple[bool, bool]:
        found = find_secrets(text)
        return any(finding.severity == "block" for finding in found), bool(found)

    scan("x")
    return scan


def _betterleaks() -> Scan:
    from betterleaks import scan_string

    scan_string("x")
    return lambda text: (bool(scan_string(text)),) * 2


OURS = "gitmem"
DETECTORS: dict[str, Callable[[], Scan]] = {
    OURS: _gitmem,
    "betterleaks as it comes": _betterleaks,
}


def measure(name: str, seeds: int, rules: Path | None) -> dict[str, Any] | None:
    """Counts of one detector; None where it cannot be imported."""
    hidden = [sample for turn in range(seeds) for sample in planted(SEED + turn)]
    plain = [sample for turn in range(seeds) for sample in look_alikes(SEED + turn)]
    hard = [sample for sample in hidden if not sample.soft]
    soft = [sample for sample in hidden if sample.soft]
    began = time.process_time()
    try:
        scan = DETECTORS[name]()
    except ImportError:
        return None
    loaded = time.process_time()
    seen = {sample: scan(sample.text) for sample in (*hard, *soft, *plain)}
    each = 1000 * (time.process_time() - loaded) / len(seen)
    found = {
        f"planted secrets found, of {len(hard)}": sum(seen[sample][0] for sample in hard),
        f"those in addresses and prose shown, of {len(soft)}": sum(seen[sample][1] for sample in soft),
        f"look-alikes that are blocked, of {len(plain)}": sum(seen[sample][0] for sample in plain),
        "the detector is loaded, ms CPU": 1000 * (loaded - began),
        "one memory is scanned, ms CPU": each,
    }
    missed = {f"{sample.kind} ({sample.place})" for sample in hard if not seen[sample][0]}
    false = {sample.kind for sample in plain if seen[sample][0]}
    return {
        "counts": found | (_of_others(scan, rules) if rules else {}),
        "missed": sorted(missed),
        "false": sorted(false),
    }


def _of_others(scan: Scan, rules: Path) -> dict[str, int]:
    """How many texts of others' rule tests are seen, of each half."""
    data = json.loads(gzip.decompress(base64.b64decode(rules.read_bytes())))
    found: dict[str, int] = {}
    for half in ("tuned", "held"):
        for kind, what in (("tp", "secrets"), ("fp", "look-alikes")):
            texts = [text for rule, some in data[kind].items() if _half(rule) == half for text in some]
            found[f"{what} of others' rules seen, {half}, of {len(texts)}"] = sum(
                scan(text)[1] for text in texts
            )
    return found


def _half(rule: str) -> str:
    """The half that a rule belongs to, by its name alone."""
    return ("tuned", "held")[hashlib.sha256(rule.encode()).digest()[0] % 2]


def _apart(name: str, words: Sequence[str]) -> dict[str, Any] | None:
    """The same in a process of its own, so that what one loads helps no other."""
    command = [sys.executable, __file__, "--only", name, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] | None = json.loads(done.stdout)
    return found


def rows(ours: dict[str, float], others: dict[str, dict[str, float]]) -> Iterator[Figure]:
    """Each count beside that of each other detector."""
    for label, count in ours.items():
        what, _, unit = label.partition(", ms") if label.endswith("ms CPU") else (label, "", "")
        for name, theirs in others.items():
            yield Figure(what, f"ms{unit}" if unit else "", count, theirs[label], name)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="how many sets of values")
    parser.add_argument("--rules", type=Path, metavar="FILE", help="rule tests of others")
    parser.add_argument("--misses", action="store_true", help="name what gitmem misses or blocks in vain")
    parser.add_argument("--only", choices=tuple(DETECTORS))
    given = parser.parse_args()
    if given.only:
        print(json.dumps(measure(given.only, given.seeds, given.rules)))
        return
    words = ["--seeds", str(given.seeds), *(["--rules", str(given.rules)] if given.rules else [])]
    found = {name: one for name in DETECTORS if (one := _apart(name, words))}
    counts = {name: one["counts"] for name, one in found.items()}
    say(rows(counts.pop(OURS), counts), given.json)
    if given.misses:
        print(f"missed: {found[OURS]['missed']}\nfalse: {found[OURS]['false']}", file=sys.stderr)


if __name__ == "__main__":
    main()
