"""Nodes and files as resources; prompts that teach a model to use the graph."""

import base64
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from tests.adapters.mcp.clients import Session, connected
from tests.cases import cases


def test_concepts_are_listed_a_page_at_a_time(session: Session) -> None:
    session.ok("remember_knowledge", concepts=[{"uri": f"listed/{at:03}"} for at in range(250)])
    uris: list[str] = []
    cursor = None
    while True:
        page = session.ask("list_resources", cursor=cursor)
        assert len(page.resources) <= 100
        uris += [each.uri for each in page.resources]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert len(set(uris)) == len(uris) == 250


def test_concepts_of_every_type_are_listed_but_no_symbols(project: Path, db: Path) -> None:
    with connected(db, "--root", str(project)) as session:
        assert session.ask("list_resources").resources == []
        session.ok(
            "remember_knowledge",
            concepts=[
                {"uri": "why", "type": "Decision", "name": "Why"},
                {"uri": "plain"},
                {"uri": "src/a.py/f", "type": "Symbol"},
                {"uri": "concept://other/x"},
                {"uri": "file://shop/a.py"},
            ],
            relations=[{"source": "why", "relation": "needs", "target": "unwritten"}],
        )
        listed = session.ask("list_resources").resources
        assert [(each.uri, each.name) for each in listed] == [
            ("concept://shop/plain", "plain"),
            ("concept://shop/why", "Why"),
        ]
        (page,) = session.ask("read_resource", "concept://shop/why").contents
        assert page.text.startswith("# Why\n")


def test_a_listing_ends_long_before_a_whole_graph_was_listed(session: Session) -> None:
    session.ok("remember_knowledge", concepts=[{"uri": f"crowd/{at}"} for at in range(1500)])
    count, cursor = 0, None
    while True:
        page = session.ask("list_resources", cursor=cursor)
        count, cursor = count + len(page.resources), page.next_cursor
        if cursor is None:
            break
    assert count == 1000


def test_templates_tell_how_uris_are_made(session: Session) -> None:
    templates = session.ask("list_resource_templates").resource_templates
    assert [each.uri_template for each in templates] == [
        "concept://{workspace}/{+path}",
        "file://{workspace}/{+path}",
    ]


def test_a_concept_is_read_as_a_page(session: Session) -> None:
    session.ok(
        "remember_knowledge",
        concepts=[{"uri": "page", "name": "A page", "content": "What it says."}],
        relations=[{"source": "page", "relation": "cites", "target": "https://example.org/x"}],
    )
    (content,) = session.ask("read_resource", "concept://shop/page").contents
    assert content.mime_type == "text/markdown"
    assert content.text.startswith("# A page\n")
    assert "What it says." in content.text
    assert "- → cites https://example.org/x" in content.text


def test_files_are_read_as_text_or_as_bytes(session: Session) -> None:
    (text,) = session.ask("read_resource", "file://shop/src/login.py").contents
    assert "def login" in text.text
    (picture,) = session.ask("read_resource", "file://shop/logo.png").contents
    assert picture.mime_type == "image/png"
    assert base64.b64decode(picture.blob).startswith(b"\x89PNG")


def test_a_resource_that_is_not_there_is_an_error_with_a_next_step(session: Session) -> None:
    with pytest.raises(MCPError) as refused:
        session.ask("read_resource", "concept://shop/nowhere")
    assert refused.value.error.code == -32602
    assert "There is no node" in refused.value.error.message
    assert refused.value.error.data["error"]["code"] == "KIP_3002"


def test_a_cursor_that_no_page_gave_out_is_refused(session: Session) -> None:
    for cursor in ("x", "1.", "1.nonsense", "99999.x"):
        with pytest.raises(MCPError):
            session.ask("list_resources", cursor=cursor)


def test_prompts_are_listed_with_their_arguments(session: Session) -> None:
    prompts = {each.name: each for each in session.ask("list_prompts").prompts}
    assert list(prompts) == [
        "use_knowledge",
        "record_learnings",
        "explore_codebase",
        "resolve_merge",
        "sleep_cycle",
    ]
    assert [each.name for each in prompts["explore_codebase"].arguments] == ["path", "question"]
    assert prompts["use_knowledge"].arguments[0].required


@cases(
    ("name", "arguments", "words"),
    [
        ("use_knowledge", {"task": "fix the login"}, "I want to: fix the login"),
        ("record_learnings", {}, "Record what you learned in this conversation"),
        ("record_learnings", {"topic": "caching"}, "about caching"),
        ("explore_codebase", {}, "Get to know this workspace"),
        ("explore_codebase", {"path": "src", "question": "what fails?"}, 'path "src"'),
    ],
)
def test_a_prompt_names_the_tools_and_what_it_is_about(
    session: Session, name: str, arguments: dict[str, str], words: str
) -> None:
    (message,) = session.ask("get_prompt", name, arguments).messages
    assert words in message.content.text
    assert "search_knowledge" in message.content.text


@cases(
    ("name", "arguments", "words"),
    [
        ("use_knowledge", {}, "needs the argument 'task'"),
        ("use_knowledge", {"tsk": "x"}, "Did you mean 'task'"),
        ("use_knowlege", {}, "Did you mean 'use_knowledge'"),
    ],
)
def test_a_prompt_that_cannot_be_made_says_why(
    session: Session, name: str, arguments: dict[str, str], words: str
) -> None:
    with pytest.raises(MCPError, match=words):
        session.ask("get_prompt", name, arguments)
