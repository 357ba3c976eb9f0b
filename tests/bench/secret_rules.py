"""Measures the detector on the rule tests of others: true positives that are seen, and look-alikes.

Run it by hand: `python tests/bench/secret_rules.py [PATH] [--json FILE] [--misses]`. The data is JSON,
gzipped, in base64: `{"tp": {rule: [text]}, "fp": {rule: [text]}}`. The rules are told apart in two halves
by a hash of their names: what is tuned on one is checked on the other. Without the data it says so
and ends.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

from gitmem.rules.secrets import find_secrets  # noqa: E402

DATA = Path("../shared/data/secrets/rules-dev.json.gz.b64")
HALVES = ("tuned", "checked")


def half(rule: str) -> str:
    """The half that a rule belongs to, by its name alone."""
    return HALVES[hashlib.sha256(rule.encode()).digest()[0] % 2]


def measure(path: Path) -> tuple[dict[str, object], list[tuple[str, str, str]]]:
    """Returns the figures, and what was missed or seen in vain: kind, rule, text."""
    data = json.loads(gzip.decompress(base64.b64decode(path.read_bytes())))
    find_secrets("warm")
    rows: dict[str, dict[str, dict[str, int]]] = {
        part: {kind: {"texts": 0, "blocked": 0, "warned": 0} for kind in ("tp", "fp")}
        for part in (*HALVES, "all")
    }
    wrong: list[tuple[str, str, str]] = []
    began = time.process_time()
    for kind in ("tp", "fp"):
        for rule, texts in sorted(data[kind].items()):
            for text in texts:
                severities = {secret.severity for secret in find_secrets(text)}
                for part in (half(rule), "all"):
                    row = rows[part][kind]
                    row["texts"] += 1
                    row["blocked"] += "block" in severities
                    row["warned"] += severities == {"warning"}
                if bool(severities) == (kind == "fp"):
                    wrong.append((kind, rule, text))
    spent = time.process_time() - began
    scans = sum(rows["all"][kind]["texts"] for kind in ("tp", "fp"))
    rates = {
        part: {
            **kinds,
            **{f"{kind} seen": _rate(row) for kind, row in kinds.items()},
        }
        for part, kinds in rows.items()
    }
    return {**rates, "a text, ms CPU": round(spent / scans * 1000, 3)}, wrong


def _rate(row: dict[str, int]) -> float:
    return round((row["blocked"] + row["warned"]) / max(1, row["texts"]), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", nargs="?", type=Path, default=DATA)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--misses", action="store_true", help="name what was missed or seen in vain")
    args = parser.parse_args()
    if not args.data.is_file():
        print(f"skipped: there is no {args.data}")
        return
    figures, wrong = measure(args.data)
    print("| rules | true positives seen | blocked | look-alikes seen | blocked |")
    print("|---|---|---|---|---|")
    for part in (*HALVES, "all"):
        row = figures[part]
        assert isinstance(row, dict)
        tp, fp = row["tp"], row["fp"]
        print(
            f"| {part} | {row['tp seen']:.1%} of {tp['texts']} | {tp['blocked']}"
            f" | {row['fp seen']:.1%} of {fp['texts']} | {fp['blocked']} |"
        )
    print(f"\n{figures['a text, ms CPU']} ms CPU a text")
    if args.misses:
        for kind, rule, text in wrong:
            print(f"{kind} {rule}: {text[:120]!r}")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
