"""Conversations and notes of other programs, from their files to the graph."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.cli.commands.imports import KIND_NAMES
from mycel.errors import ConstraintViolation, NotFound
from mycel.imports.kinds import KINDS, recognise, usual_source
from mycel.imports.run import import_source, preview_source
from mycel.imports.text_streams import json_items
from mycel.imports.turns import SourceProblem
from mycel.knowledge.knowledge import Knowledge
from tests.stored_bytes import stored_bytes

TOKEN = "ghp_" + "a1B2c3D4" * 5


def claude_line(number: int, role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": role,
        "uuid": f"m{number}",
        "sessionId": "s1",
        "timestamp": f"2026-03-0{number}T10:00:00.000Z",
        "message": {"role": role, "content": content},
        **more,
    }


CLAUDE_CODE = [
    {"type": "summary", "summary": "Login", "leafUuid": "x"},
    claude_line(1, "user", "Where is src/cart.py? Ask Ada Lovelace."),
    claude_line(2, "assistant", [{"type": "text", "text": "It is there."}]),
    claude_line(3, "user", "<command-name>/clear</command-name>"),
    claude_line(4, "user", "hidden", isMeta=True),
    claude_line(5, "assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]),
    claude_line(6, "user", f"the token is {TOKEN}"),
]
CODEX = [
    {"type": "session_meta", "payload": {"id": "k1", "cwd": "/shop"}},
    {
        "type": "response_item",
        "timestamp": "2026-03-01T10:00:00Z",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Fix the cart"}],
        },
    },
    {
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Done"}],
        },
    },
]
CHATGPT = [
    {
        "conversation_id": "c1",
        "title": "Trip",
        "current_node": "n3",
        "mapping": {
            "n1": {"parent": None, "children": ["n2", "nx"], "message": None},
            "n2": {
                "parent": "n1",
                "children": ["n3"],
                "message": {
                    "id": "m2",
                    "author": {"role": "user"},
                    "create_time": 1767225600.5,
                    "content": {"content_type": "text", "parts": ["Where to?"]},
                },
            },
            "nx": {
                "parent": "n1",
                "children": [],
                "message": {
                    "id": "mx",
                    "author": {"role": "user"},
                    "content": {"content_type": "text", "parts": ["a branch that was left"]},
                },
            },
            "n3": {
                "parent": "n2",
                "children": [],
                "message": {
                    "id": "m3",
                    "author": {"role": "assistant"},
                    "content": {"content_type": "text", "parts": ["Porto"]},
                },
            },
        },
    }
]
CLAUDE = [
    {
        "uuid": "c2",
        "name": "Plans",
        "chat_messages": [
            {"uuid": "a", "sender": "human", "text": "Hello", "created_at": "2026-01-01T00:00:00Z"},
            {"uuid": "b", "sender": "assistant", "content": [{"type": "text", "text": "Hi"}]},
        ],
    }
]
TURNS = [
    {"conversation": "c3", "speaker": "Ada", "text": "I moved to Porto", "time": "2026-01-01"},
    {"conversation": "c3", "speaker": "Bob", "text": "When?"},
]


@pytest.fixture
def knowledge(tmp_path: Path) -> Knowledge:
    return Knowledge(mycel.open(tmp_path / "x.db"), workspace="shop")


def lines(path: Path, values: list[Any]) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


CLAUDE_MEM = f"""
CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, type TEXT,
    title TEXT, narrative TEXT, facts TEXT, files_modified TEXT, created_at_epoch INTEGER);
INSERT INTO observations VALUES
    (1, 's', 'shop', 'decision', 'Cents, not floats', 'Amounts are integers of cents.',
     '["Floats round.", "See cart.py"]', '["cart.py"]', 1767225600000),
    (2, 's', 'shop', 'discovery', 'Token', 'The token is {TOKEN}.', NULL, 'no list', NULL),
    (3, 's', 'bank', 'discovery', 'Other', 'Of another project.', '[broken', NULL, NULL),
    (4, 's', 'shop', 'change', NULL, NULL, NULL, NULL, NULL);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, project TEXT, request TEXT, learned TEXT,
    next_steps TEXT);
INSERT INTO session_summaries VALUES (1, 'shop', 'Fix it', 'The cart rounds twice.', 'Ask Ada.');
CREATE TABLE directives (id INTEGER PRIMARY KEY, project TEXT, content TEXT, status TEXT);
INSERT INTO directives VALUES (1, NULL, 'Never mock the database.', 'active'),
    (2, NULL, 'Use tabs.', 'inactive');
"""


def run(knowledge: Knowledge, path: Path) -> tuple[int, int, int]:
    result = import_source(knowledge, recognise(path))
    return result.written, result.known, result.deleted


def test_the_kinds_of_the_command_are_those_that_there_are() -> None:
    assert KIND_NAMES == KINDS


def test_a_session_becomes_turns_that_are_linked_and_found(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    knowledge.add("file://shop/src/cart.py")
    knowledge.add("people/ada", name="Ada Lovelace", content="A person.")
    path = lines(tmp_path / "s1.jsonl", CLAUDE_CODE)
    assert run(knowledge, path) == (3, 0, 0)
    session = knowledge.get("conversations/claude-code/s1")
    assert session.name == "Login"
    assert session.properties["start_time"] == "2026-03-01T10:00:00Z"
    targets = {r.target for r in knowledge.relations("conversations/claude-code/s1")}
    assert {"file://shop/src/cart.py", "concept://shop/people/ada"} <= targets
    turn = knowledge.get("conversations/claude-code/s1/m1")
    assert turn.properties["participants"] == ["user"]
    hits = knowledge.search("Where is the cart?")
    assert "concept://shop/conversations/claude-code/s1/m1" in [hit.uri for hit in hits]
    for mode in ("hybrid", "keyword", "semantic"):
        others = knowledge.search("Where is the cart?", without="Event", mode=mode)
        assert not any("/conversations/" in hit.uri for hit in others)
    assert knowledge.search("Who is Ada Lovelace?", without=["Event"])


def test_an_import_is_repeated_without_doubles_and_what_was_deleted_stays_so(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    path = lines(tmp_path / "s1.jsonl", CLAUDE_CODE)
    run(knowledge, path)
    entries = knowledge.db.snapshot().entries
    assert run(knowledge, path) == (0, 3, 0)
    assert knowledge.db.snapshot().entries == entries
    knowledge.delete("conversations/claude-code/s1/m2")
    lines(path, [*CLAUDE_CODE, claude_line(7, "user", "One more")])
    assert run(knowledge, path) == (1, 2, 1)
    assert knowledge.get("conversations/claude-code/s1").properties["end_time"][:10] == "2026-03-07"
    knowledge.delete("conversations/claude-code/s1")
    lines(path, [*CLAUDE_CODE, claude_line(8, "user", "And more")])
    assert run(knowledge, path)[0] == 0


def test_no_secret_is_stored(knowledge: Knowledge, tmp_path: Path) -> None:
    result = import_source(knowledge, recognise(lines(tmp_path / "s.jsonl", CLAUDE_CODE)))
    assert result.secrets == {"GitHub token": 1}
    again = import_source(knowledge, recognise(tmp_path / "s.jsonl"))
    assert not again.secrets, "nothing was written, so nothing was replaced"
    knowledge.db.close()
    assert TOKEN.encode() not in stored_bytes(tmp_path / "x.db")


@pytest.mark.parametrize(
    ("name", "values", "kind", "uris"),
    [
        ("a.jsonl", CODEX, "codex", {"codex/k1/000000", "codex/k1/000001"}),
        ("conversations.json", CHATGPT, "chatgpt", {"chatgpt/c1/m2", "chatgpt/c1/m3"}),
        ("conversations.json", CLAUDE, "claude", {"claude/c2/a", "claude/c2/b"}),
        ("talk.jsonl", TURNS, "turns", {"turns/c3/0", "turns/c3/1"}),
        ("talk.json", TURNS, "turns", {"turns/c3/0", "turns/c3/1"}),
    ],
)
def test_each_form_of_a_conversation_is_recognised(
    knowledge: Knowledge, tmp_path: Path, name: str, values: list[Any], kind: str, uris: set[str]
) -> None:
    path = tmp_path / name
    if name.endswith("l"):
        lines(path, values)
    else:
        path.write_text(json.dumps(values, indent=1))
    source = recognise(path)
    assert source.kind == kind
    assert preview_source(source).items == len(uris)
    assert import_source(knowledge, source).written == len(uris)
    assert all(knowledge.has(f"conversations/{uri}") for uri in uris)


def test_parts_that_cannot_be_read_are_named_and_the_rest_is_imported(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    path = tmp_path / "s1.jsonl"
    good = [json.dumps(line) for line in CLAUDE_CODE]
    path.write_text("\n".join([good[1], '{"broken', "7", good[2], "x" * 100_000]))
    source = recognise(path)
    with pytest.raises(ConstraintViolation, match="line 2"):
        import_source(knowledge, source, strict=True)
    assert not knowledge.has("conversations/claude-code/s1/m1")
    result = import_source(knowledge, source)
    assert result.written == 2
    assert [problem.place for problem in result.problems.first] == [
        "s1.jsonl, line 2",
        "s1.jsonl, line 3",
        "s1.jsonl, line 5",
    ]


def test_a_broken_item_of_a_list_takes_no_other_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = ['{"a": "[{ \\" }"}', '{"b": [1, {}]}', '{"c": 3}']
    path = tmp_path / "list.json"
    for chunk in (7, 64, 1 << 20):
        monkeypatch.setattr("mycel.imports.text_streams._CHUNK", chunk)
        for bad in ('{"x": oops}', "oops", "{'x': 1}", "}", '{"x": "\n"}', '{"x" 1, "y": [{}]}'):
            path.write_text(f"[{good[0]}, {bad}, {good[1]}, {bad},\n{good[2]}]")
            items = list(json_items(path))
            values = [item.value for item in items if not isinstance(item, SourceProblem)]
            assert values == [json.loads(text) for text in good], (chunk, bad)
            places = [item.place for item in items if isinstance(item, SourceProblem)]
            assert places == ["list.json, item 2", "list.json, item 4"], (chunk, bad)
        # A bracket of the wrong kind hides what follows, and is named.
        path.write_text(f'[{good[0]}, {{"x": [1}}, {good[1]}]')
        items = list(json_items(path))
        assert [isinstance(item, SourceProblem) for item in items][:2] == [False, True]


def test_an_export_that_ends_in_the_middle_keeps_what_is_before(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([*CLAUDE, *CLAUDE])[:-40])
    result = import_source(knowledge, recognise(path))
    assert result.written == 2
    assert result.problems.first[0].place == "conversations.json, item 2"


def test_notes_keep_their_links_and_changes_of_the_user(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "Login.md").write_text("---\ntags: [auth]\n---\nUses [[Keys|them]] and [[Gone#x]].")
    (vault / "Keys.md").write_text("Keys.")
    assert run(knowledge, vault) == (2, 0, 0)
    targets = {r.target for r in knowledge.relations("obsidian/Login")}
    assert targets == {"concept://shop/obsidian/Keys", "concept://shop/obsidian/Gone"}
    knowledge.update("obsidian/Keys", content="Passkeys.")
    knowledge.delete("obsidian/Login")
    assert run(knowledge, vault) == (0, 1, 1)
    assert knowledge.get("obsidian/Keys").content == "Passkeys."
    (vault / "Keys.md").write_text("Other keys.")
    assert run(knowledge, vault) == (1, 0, 1)
    assert knowledge.get("obsidian/Keys").content == "Other keys."


def test_a_note_whose_file_is_gone_is_archived_until_the_file_is_back(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    vault, other = tmp_path / "vault", tmp_path / "other"
    for folder, names in ((vault, ("Login", "Keys", "Mine", "Bad")), (other, ("Far",))):
        (folder / ".obsidian").mkdir(parents=True)
        for name in names:
            (folder / f"{name}.md").write_text(f"About {name}. [[Keys]]")
    run(knowledge, vault)
    run(knowledge, other)
    knowledge.update("obsidian/Mine", content="My own words.")
    for name in ("Login", "Mine"):
        (vault / f"{name}.md").unlink()
    (vault / "Bad.md").write_bytes(b"\xff\xfe\x00")
    result = import_source(knowledge, recognise(vault))
    assert (result.archived, result.problems.count) == (1, 1)
    assert import_source(knowledge, recognise(vault)).archived == 0

    def is_shown(name: str) -> bool:
        return bool(
            knowledge.db.execute("FIND(?n) WHERE { ?n {name: :name} }", name=uri(name)).rows
        )

    def uri(name: str) -> str:
        return f"concept://shop/obsidian/{name}"

    assert [is_shown(name) for name in ("Login", "Keys", "Mine", "Bad", "Far")] == [False] + 4 * [
        True
    ]
    (vault / "Login.md").write_text("About Login. [[Keys]]")
    assert run(knowledge, vault)[0] == 1
    assert is_shown("Login")
    (vault / "Login.md").unlink()
    run(knowledge, vault)
    (vault / "Login.md").write_text("About another login.")
    assert run(knowledge, vault)[0] == 1
    # A folder that is not mounted has no notes, and takes none away.
    for file in vault.glob("*.md"):
        file.unlink()
    assert import_source(knowledge, recognise(vault)).archived == 0
    assert is_shown("Login")


def test_a_section_of_instructions_that_is_gone_is_archived(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    file = tmp_path / "CLAUDE.md"
    file.write_text("# Style\nTabs.\n# Tests\nNo mocks.\n")
    run(knowledge, file)
    file.write_text("# Tests\nNo mocks.\n")
    result = import_source(knowledge, recognise(file))
    assert (result.known, result.archived) == (1, 1)
    assert not knowledge.search("Which style: tabs?", threshold=0.5)


def test_relations_that_a_file_no_longer_has_are_removed_and_others_stay(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    note = vault / "Login.md"
    note.write_text("Uses [[Keys]], [[Sechs Flöße]] and [[Seven]].")
    run(knowledge, vault)
    knowledge.link("obsidian/Login", "links_to", "obsidian/Own")
    note.write_text("Uses [[Keys]], [[Seven]] and [[Own]].")
    run(knowledge, vault)
    names = {r.target.rpartition("/")[2] for r in knowledge.relations("obsidian/Login")}
    assert names == {"Keys", "Seven", "Own"}
    note.write_text("Uses [[Keys]].")
    run(knowledge, vault)
    names = {r.target.rpartition("/")[2] for r in knowledge.relations("obsidian/Login")}
    assert names == {"Keys", "Own"}


def test_links_of_every_form_find_notes_and_files(knowledge: Knowledge, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "attachments").mkdir()
    (vault / "attachments" / "diagram.png").write_bytes(b"x")
    (vault / "people").mkdir()
    (vault / "people" / "Mara Voß.md").write_text("---\naliases: [Mara]\n---\nPlans.")
    (vault / "Project 5.md").write_text(
        '---\nowner: "[[Mara]]"\nteam: [[Core]]\nof:\n  - "[[A]]"\n  - "[[B]]"\n---\n'
        "![[diagram.png]] [md](people/Mara%20Vo%C3%9F.md#x) [web](https://example.org/x.md)\n"
        "[[gone.png]] ![p](attachments/diagram.png)"
    )
    (vault / "people" / "Ada.md").write_text("[up](../Project%205.md) [out](../../x.md)")
    run(knowledge, vault)
    mara = knowledge.get("obsidian/people/Mara Voß").uri
    assert {(r.relation, r.target) for r in knowledge.relations("obsidian/Project 5")} >= {
        ("owner", mara),
        ("team", "concept://shop/obsidian/Core"),
        ("of", "concept://shop/obsidian/A"),
        ("of", "concept://shop/obsidian/B"),
        ("links_to", "file://shop/obsidian/attachments/diagram.png"),
        ("links_to", mara),
        ("links_to", "concept://shop/obsidian/gone.png"),
    }
    assert knowledge.get("file://shop/obsidian/attachments/diagram.png").type == "Resource"
    (up,) = knowledge.relations("obsidian/people/Ada")
    assert up.target == knowledge.get("obsidian/Project 5").uri


def test_a_preview_counts_files_and_names_a_front_matter_that_is_broken(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / ".obsidian" / "hidden.md").write_text("x")
    for number in range(30):
        (vault / f"n{number}.md").write_text(f"---\nstatus: draft\n---\nNote {number}")
    (vault / "n7.md").write_text("---\ntags: [a, b\n---\nSeven")
    (vault / "n8.md").write_text("---\nA line, and no front matter.")
    source = recognise(vault)
    preview = preview_source(source)
    assert preview.to_dict()["files"] == 30
    assert preview.items == 30
    (problem,) = preview.problems.first
    assert problem.place == "the front matter of n7.md"
    assert import_source(knowledge, source).written == 30


def test_relations_of_basic_memory_have_their_names(knowledge: Knowledge, tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "coffee.md").write_text(
        "---\ntitle: Coffee\ntype: note\npermalink: coffee\n---\n- relates to [[Tea]]\n- [[Milk]]\n"
    )
    assert recognise(folder).kind == "basic-memory"
    run(knowledge, folder)
    relations = {(r.relation, r.target) for r in knowledge.relations("basic-memory/coffee")}
    assert relations == {
        ("relates_to", "concept://shop/basic-memory/Tea"),
        ("links_to", "concept://shop/basic-memory/Milk"),
    }


def test_instructions_become_a_note_for_each_section(knowledge: Knowledge, tmp_path: Path) -> None:
    path = tmp_path / "AGENTS.md"
    path.write_text("Use uv.\n# Tests\nRun make.\n```\n# no heading\n```\n")
    assert run(knowledge, path) == (2, 0, 0)
    assert "# no heading" in str(knowledge.get("instructions/agents/tests").content)


def test_rules_of_cursor_are_instructions(knowledge: Knowledge, tmp_path: Path) -> None:
    folder = tmp_path / ".cursor" / "rules"
    folder.mkdir(parents=True)
    (folder / "style.mdc").write_text("---\nglobs: *.py\n---\n# Style\nNo mocks.\n")
    assert run(knowledge, folder) == (1, 0, 0)
    assert knowledge.get("instructions/style/style").content == "No mocks."


def test_memories_of_mem0_become_notes(knowledge: Knowledge, tmp_path: Path) -> None:
    path = tmp_path / "mem0.json"
    path.write_text(json.dumps({"results": [{"id": "a", "memory": "Likes tea", "user_id": "u"}]}))
    assert run(knowledge, path) == (1, 0, 0)
    assert knowledge.get("mem0/a").properties["user_id"] == "u"


def test_a_file_of_claude_mem_becomes_notes_of_this_project(
    knowledge: Knowledge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".claude-mem").mkdir()
    path = tmp_path / ".claude-mem" / "claude-mem.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(CLAUDE_MEM)
    source = recognise(path)
    assert (source.kind, preview_source(source).items) == ("claude-mem", 5)
    usual = usual_source("claude-mem", Path("/home/ada/shop"))
    assert usual is not None
    result = import_source(knowledge, usual)
    assert (result.written, result.problems.count) == (4, 1)
    assert result.secrets == {"GitHub token": 1}
    decision = knowledge.get("claude-mem/observation-1")
    assert (decision.type, decision.name) == ("Decision", "Cents, not floats")
    assert decision.content == "Amounts are integers of cents.\n\n- Floats round.\n- See cart.py"
    assert decision.metadata["observed_at"] == "2026-01-01T00:00:00Z"
    assert decision.properties["files_modified"] == ["cart.py"]
    summary = knowledge.get("claude-mem/summary-1").content or ""
    assert summary.startswith("Learned: The cart rounds twice.\n\nNext steps: Ask Ada.")
    assert knowledge.get("claude-mem/rule-1").type == "Guideline"
    assert import_source(knowledge, usual).written == 0
    path.write_bytes(path.read_bytes()[:5_000])
    assert import_source(knowledge, usual).problems.count == 1


def test_what_is_no_source_is_refused_with_the_way_on(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ConstraintViolation) as refusal:
        recognise(tmp_path / "rows.csv")
    assert "--from" in str(refusal.value.hint)
    with pytest.raises(NotFound):
        recognise(tmp_path / "nothing")
