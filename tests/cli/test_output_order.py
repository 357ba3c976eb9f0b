"""Data and talk come in the order in which they were written, also where both go to one place."""

from __future__ import annotations

import sys

from gitmem.cli.output import Output


def test_data_and_talk_keep_their_order_in_one_file(tmp_path, monkeypatch) -> None:
    """An agent reads them so: without it `undo:` would stand before what was done."""
    path = tmp_path / "both"
    with path.open("a") as out, path.open("a", buffering=1) as err:
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        Output().data("done")
        Output().say("undo: git mem undo")
    assert path.read_text() == "done\nundo: git mem undo\n"
