"""docs/errors.md, docs/cli.md and docs/mcp.md are made from the code, and stay current."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from mycel.errors import REGISTRY, Category
from tests.docs.blocks import ROOT, TOOL, docs_tool, rows_of

PAGE = ROOT / "docs" / "errors.md"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return docs_tool()


def test_the_page_is_the_one_that_the_registry_makes(tool: ModuleType) -> None:
    assert PAGE.read_text(encoding="utf-8") == tool.errors_page(), "Run `python tools/docs.py`."


def test_a_stale_page_is_noticed_and_written_anew(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("cli.md", "mcp.md"):
        (tmp_path / name).write_text("# A page\n\n" + tool.MARK, encoding="utf-8")
    monkeypatch.setattr(tool, "DOCS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["docs.py", "--check"])
    assert tool.main() == 1
    monkeypatch.setattr(sys, "argv", ["docs.py"])
    assert tool.main() == 0
    monkeypatch.setattr(sys, "argv", ["docs.py", "--check"])
    assert tool.main() == 0
    (tmp_path / "errors.md").write_text("old", encoding="utf-8")
    assert tool.main() == 1


def test_the_tool_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, TOOL, "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_error_has_a_row_with_its_codes_and_what_to_do() -> None:
    rows = rows_of(PAGE.read_text(encoding="utf-8"), "Every error")
    assert [row[0] for row in rows] == [f"`{name}`" for name in REGISTRY]
    for row, error in zip(rows, REGISTRY.values(), strict=True):
        category = error.category
        statuses = [str(category.exit_code), str(category.http_status)]
        assert row[1:5] == [error.code, category.name, *statuses]
        assert row[6] == error.default_hint


def test_every_category_has_a_row() -> None:
    rows = rows_of(PAGE.read_text(encoding="utf-8"), "Categories")
    assert [row[0] for row in rows] == [category.name for category in Category]
