"""Every block of Python and bash in the documents runs, and prints what it says it prints."""

import shutil
from pathlib import Path

import pytest

from tests.cases import cases
from tests.docs.blocks import DOCUMENTS, ROOT, blocks_of
from tests.docs.running import BASH, Session, agrees, comments_of, stated_outputs


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the reader types: empty but for the examples of the repository. Nothing is at home."""
    folder, home = tmp_path / "reader", tmp_path / "home"
    home.mkdir()
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(home))
    shutil.copytree(
        ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__")
    )
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.skipif(BASH is None, reason="the documents use bash")
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_example_runs_and_prints_what_it_states(path: Path, folder: Path) -> None:
    session = Session(path, folder)
    try:
        for block in blocks_of(path.read_text(encoding="utf-8")):
            session.run(block)
    finally:
        session.close()


@cases(
    "name",
    [
        "README.md",
        "tutorial.md",
        "kip.md",
        "schema-language.md",
        "loading.md",
        "knowledge.md",
        "python.md",
        "format.md",
    ],
)
def test_a_guide_has_examples_that_run(name: str) -> None:
    (path,) = (each for each in DOCUMENTS if each.name == name)
    blocks = blocks_of(path.read_text(encoding="utf-8"))
    assert any(block.runs and block.language == "python" for block in blocks)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "some.md"
    path.write_text(text, encoding="utf-8")
    return path


def run(tmp_path: Path, text: str) -> None:
    session = Session(written(tmp_path, text), tmp_path)
    for block in blocks_of(text):
        session.run(block)


@pytest.mark.parametrize(
    "text",
    [
        "```python\nprint(1 + 1)  # 3\n```\n",
        "```python\nfor n in (1, 2):\n    print(n)  # 1\n```\n",
        "```python\nfor n in (1, 2):\n    print(n)\n# 1\n```\n",
        "```python\nprint('12')  # 1\n```\n",
        "```python\nprint('1')  # 12\n```\n",
        "```python\nif False:\n    print(1)  # 1\n```\n",
    ],
)
def test_an_output_that_is_not_the_stated_one_is_noticed(tmp_path: Path, text: str) -> None:
    with pytest.raises(AssertionError, match=r"some\.md:"):
        run(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "```python\nprint(1 + 1)  # 2\n```\n",
        "```python\nprint(1 + 1)  # 2: as expected\n```\n",
        "```python\nprint('a, b')  # a, b\n```\n",
        "```python\nprint('#')  # #\n```\n",
        "```python\nprint('0123456789')  # 01...9\n```\n",
        "```python\nfor n in (1, 2):\n    print(n)\n# 1\n# 2\n```\n",
        "```python\nprint(\n    1,\n    2,\n)  # 1 2\n```\n",
        "```python\nn = 1\n```\ntext\n```python\nprint(n)  # 1\n```\n",
        "<!-- no-run: it fails -->\n\n```python\nraise ValueError\n```\n",
    ],
)
def test_an_output_that_is_the_stated_one_passes(tmp_path: Path, text: str) -> None:
    run(tmp_path, text)


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_bash_blocks_share_an_environment_and_state_their_output_in_a_text_block(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "reader"
    folder.mkdir()
    text = "```bash\nmake nonsense\nexport A=1\n```\n\n```bash\necho $A\n```\n\n```text\n{}\n```\n"
    for stated in ("1", "..."):
        session = Session(tmp_path / "some.md", folder)
        for block in blocks_of(text.format(stated)):
            session.run(block)
    *earlier, last = blocks_of(text.format("2"))
    for block in earlier:
        session.run(block)
    with pytest.raises(AssertionError):
        session.run(last)


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_a_bash_block_that_fails_in_the_middle_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        run(tmp_path, "```bash\nfalse\ntrue\n```\n")


def test_a_comment_behind_code_is_told_from_a_mark_in_a_string() -> None:
    comments = comments_of('print("#")\nprint("#")  # yes\n\nprint(1)\n# 1\n# 2\nx = 2  # no\n')
    assert stated_outputs(comments, 1) == []
    assert stated_outputs(comments, 2) == ["yes"]
    assert stated_outputs(comments, 4) == ["1", "2"]


def test_a_remark_may_follow_an_output_but_not_replace_it() -> None:
    assert agrees("1: the past", "1")
    assert agrees("True, and more", "True")
    assert not agrees("1: the past", "2")
    assert not agrees("True and more", "True")
