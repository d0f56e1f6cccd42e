"""docs/graph.svg is drawn from a graph, and drawn again when that or the drawing changes."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from tests.docs.blocks import ROOT

TOOL = ROOT / "tools" / "picture.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tools_picture", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_is_the_one_that_the_graph_gives(tool: ModuleType) -> None:
    drawn = tool.draw(tool.read())
    assert tool.PICTURE.read_text(encoding="utf-8") == drawn, "Run `python tools/picture.py`."
    texts = ["".join(each.itertext()) for each in ElementTree.fromstring(drawn).iter()]
    for _, relation, _, weight in tool.RELATIONS:
        assert f"{relation} {weight:g}" in texts
    assert "not written yet" in texts


def test_a_stale_picture_is_noticed_and_drawn_anew(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool, "PICTURE", tmp_path / "graph.svg")
    for arguments, expected in ((["--check"], 1), ([], 0), (["--check"], 0)):
        monkeypatch.setattr(sys, "argv", ["picture.py", *arguments])
        assert tool.main() == expected
