"""The outside world of a process: its clock, its folder, and variables that are not passed on."""

from __future__ import annotations

import os
import time
from pathlib import Path

from gitmem.app.context import UNSAFE_VARIABLES, real_edges
from gitmem.core.limits import LATEST


def test_the_clock_is_the_machines_unless_a_time_is_given(tmp_path: Path, monkeypatch) -> None:
    for given, now in (("1800000000", 1_800_000_000.0), ("1.5", 1.5), ("9" * 40, LATEST)):
        monkeypatch.setenv("GITMEM_NOW", given)
        assert real_edges(tmp_path).now == now
    for given in ("", "noon", "-5"):
        monkeypatch.setenv("GITMEM_NOW", given)
        assert abs(real_edges(tmp_path).now - time.time()) < 3600


def test_what_would_lead_elsewhere_is_not_passed_on(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in UNSAFE_VARIABLES:
        monkeypatch.setenv(name, "/elsewhere")
    edges = real_edges()
    assert not UNSAFE_VARIABLES & (edges.environ.keys() | os.environ.keys())
    assert edges.cwd == edges.person_in == tmp_path.resolve()
