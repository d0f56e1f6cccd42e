"""`mycel kip`: where a command comes from, how it is answered, and what it may do."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

import mycel
import mycel.store.query.reader
from mycel.cli.console import labels
from mycel.cli.console.kip_output import statement_lines, text
from tests.adapters.cli.conftest import COMMAND, Run, Terminal, needs_posix

pytestmark = pytest.mark.usefixtures("garden")

NAMES = 'FIND(?p.name) WHERE { ?p {type: "Plant"} } ORDER BY ?p.name'
RENAME = 'UPDATE ?p SET ATTRIBUTES {height_m: 21} WHERE { ?p {type: "Plant", name: "Oak"} }'
SLOW = 'FIND(COUNT(?a)) WHERE { ?a {type: "$PropositionType"} ?b {type: "Person"} ' + (
    " ".join(f'?v{n} {{type: "$PropositionType"}}' for n in range(4)) + " }"
)


# Where a command comes from.


def test_a_command_comes_from_the_command_line_a_file_or_standard_input(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "names.kip"
    file.write_text(f"// Which plants are there?\n{NAMES}\n", encoding="utf-8")
    expected = "?p.name\nFern\nOak\n"
    assert run("kip", NAMES).stdout == expected
    assert run("kip", "--file", file).stdout == expected
    assert run("kip", input=NAMES).stdout == expected
    assert run("kip", "-", input=NAMES).stdout == expected
    assert run("kip", "--file", "-", input=NAMES).stdout == expected


def test_a_command_may_be_several_words(run: Run) -> None:
    assert "Plant" in run("kip", "DESCRIBE", "CONCEPT", "TYPES").lines


def test_a_command_comes_through_a_real_pipe(spawn: Run) -> None:
    done = spawn("kip", "--json", input=NAMES)
    assert done.object == {"result": ["Fern", "Oak"]}
    assert done.stderr == ""


def test_several_commands_run_one_after_the_other(run: Run) -> None:
    moss = 'UPSERT { CONCEPT { {type: "Plant", name: "Moss; wet"} } }'
    script = f"// Before;\n{NAMES};\n{moss}; // now\n{NAMES};\n"
    first, _, last = run("kip", "--json", input=script).objects
    assert first == {"result": ["Fern", "Oak"]}
    assert last == {"result": ["Fern", "Moss; wet", "Oak"]}
    assert run("kip", f"{NAMES};").stdout == "?p.name\nFern\nMoss; wet\nOak\n"


def test_the_first_command_that_fails_is_the_last_one_that_runs(run: Run) -> None:
    moss = 'UPSERT { CONCEPT { {type: "Plant", name: "Moss"} } }'
    done = run("kip", input=f"{NAMES};\n  FIND(;\n{moss};")
    assert done.status == 2
    assert done.stdout == "?p.name\nFern\nOak\n"
    assert "Line 2, column 8" in done.stderr
    assert "    2 |   FIND(\n      |        ^" in done.stderr
    assert run("kip", NAMES).stdout == "?p.name\nFern\nOak\n"


def test_commands_without_semicolons_between_them_are_told_of_these(run: Run) -> None:
    done = run("kip", input=f"{NAMES}\n\nDESCRIBE PRIMER")
    assert done.status == 2
    assert "Put a semicolon between commands" in done.stderr


@pytest.mark.parametrize("text", [";", " ;; // nothing\n;"])
def test_semicolons_alone_are_no_command(run: Run, text: str) -> None:
    done = run("kip", input=text)
    assert done.status == 2
    assert "Expected `FIND`" in done.stderr


def test_a_file_may_begin_with_a_byte_order_mark(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "names.kip"
    file.write_text(NAMES, encoding="utf-8-sig")
    assert run("kip", "--file", file).status == 0
    assert run("kip", input=f"\ufeff{NAMES}").status == 0


def test_a_capsule_may_be_larger_than_a_command(run: Run) -> None:
    plants = "\n".join(f'CONCEPT {{ {{type: "Plant", name: "P{n}"}} }}' for n in range(8000))
    done = run("kip", "--json", input=f"// many\nUPSERT {{ {plants} }}")
    assert done.object["result"]["blocks"] == 8000
    too_long = run("kip", "--json", input=f'FIND(?p) WHERE {{ ?p {{type: "Plant"}} }} // {plants}')
    assert (too_long.status, too_long.error["code"]) == (1, "KIP_4002")


def test_upserts_one_after_another_are_applied_together_or_not_at_all(run: Run) -> None:
    good = 'UPSERT { CONCEPT { {type: "Plant", name: "Moss"} } }'
    bad = 'UPSERT { CONCEPT { {type: "Plnat", name: "Ivy"} } }'
    assert run("kip", f"{good}\n{bad}").status == 2
    assert run("kip", NAMES).stdout == "?p.name\nFern\nOak\n"
    assert run("kip", f"{good}\n{bad.replace('Plnat', 'Plant')}").status == 0
    assert run("kip", NAMES, "--json").object["result"] == ["Fern", "Ivy", "Moss", "Oak"]


# Placeholders.


@pytest.mark.parametrize(
    "words",
    [
        ("--param", "type=Plant", "--param", "least=15"),
        ("--param", ':type="Plant"', "--params", '{"least": 15}'),
        ("--params", '{"type": "Person", "least": 15}', "--param", "type=Plant"),
        ("--params", "values.json"),
        ("--params", "@values.json"),
    ],
)
def test_placeholders_get_values_by_name_as_an_object_or_from_a_file(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("values.json").write_text('{"type": "Plant", "least": 15}', encoding="utf-8")
    question = "FIND(?p.name) WHERE { ?p {type: :type} FILTER(?p.attributes.height_m > :least) }"
    assert run("kip", question, *words, "--json").object == {"result": ["Oak"]}


def test_a_value_cannot_change_the_command(run: Run) -> None:
    question = 'FIND(?p.name) WHERE { ?p {type: "Plant", name: :name} }'
    injected = 'x"} } UNION { ?p {type: "Plant'
    assert run("kip", question, "--param", f"name={injected}", "--json").object["result"] == []


# Answers.


def test_a_find_is_a_table_with_a_column_for_each_expression(run: Run) -> None:
    done = run(
        "kip",
        "FIND(?p, ?p.attributes.height_m, ?p.attributes.tags, ?l)"
        ' WHERE { ?p {type: "Plant"} OPTIONAL { ?l (?p, "shades", ?x) } } ORDER BY ?p.name',
    )
    head, fern, oak = done.lines
    assert head.split() == ["?p", "?p.attributes.height_m", "?p.attributes.tags", "?l"]
    assert fern.split("  ")[0].startswith('Plant "Fern" (C:')
    assert fern.split()[-3:] == ["null", "null", "null"]
    assert '["old","tall"]' in oak
    assert re.search(r" C:\d+ Plant:Oak shades C:\d+ Plant:Fern \(P:\d+:shades\)$", oak)
    assert done.stderr == ""


def test_totals_are_a_row_and_nothing_is_a_note(run: Run) -> None:
    assert run("kip", 'FIND(COUNT(?p)) WHERE { ?p {type: "Plant"} }').lines == ["COUNT(?p)", "2"]
    nothing = run("kip", 'FIND(?p) WHERE { ?p {type: "Event"} }')
    assert (nothing.status, nothing.stdout, nothing.stderr) == (0, "", "No rows.\n")


def test_json_is_the_response_of_kip(run: Run) -> None:
    done = run("kip", f"{NAMES} LIMIT 1", "--json")
    assert done.object.keys() == {"result", "next_cursor"}
    rest = f"{NAMES} LIMIT 1 CURSOR :next"
    following = run("kip", rest, "--param", f"next={done.object['next_cursor']}", "--json")
    assert following.object == {"result": ["Oak"]}
    with mycel.open(os.environ["MYCEL_DB"]) as db:
        assert db.request({"command": f"{NAMES} LIMIT 1"})["result"] == done.object["result"]


def test_a_page_that_is_not_the_last_says_how_to_go_on(run: Run) -> None:
    done = run("kip", f"{NAMES} LIMIT 1")
    assert done.stdout == "?p.name\nFern\n"
    cursor = done.stderr.partition('CURSOR "')[2].partition('"')[0]
    assert run("kip", f'{NAMES} LIMIT 1 CURSOR "{cursor}"').stdout == "?p.name\nOak\n"


def test_what_was_written_is_one_line_and_warnings_go_elsewhere(run: Run) -> None:
    written = run("kip", 'UPSERT { CONCEPT { {type: "$ConceptType", name: "Bed"} } }')
    assert written.stdout.startswith("1 block: C:")
    assert written.stderr.startswith("Warning: ")
    as_json = run("kip", 'UPSERT { CONCEPT { {type: "$ConceptType", name: "Path"} } }', "--json")
    assert as_json.stderr == ""
    assert len(as_json.object["warnings"]) == 1
    assert run("kip", RENAME).stdout == "updated: 1, matched: 1\n"


def test_many_ids_are_not_all_listed(run: Run) -> None:
    plants = " ".join(f'CONCEPT {{ {{type: "Plant", name: "P{n}"}} }}' for n in range(30))
    assert run("kip", f"UPSERT {{ {plants} }}").stdout.endswith(" and 18 more\n")


def test_strict_refuses_what_is_otherwise_a_warning(run: Run) -> None:
    incomplete = 'UPSERT { CONCEPT { {type: "$ConceptType", name: "Bed"} } }'
    refused = run("kip", incomplete, "--strict", "--json")
    assert (refused.status, refused.error["code"]) == (2, "KIP_2002")
    assert run("kip", incomplete).status == 0


def test_a_description_is_an_outline(run: Run) -> None:
    shown = run("kip", 'DESCRIBE CONCEPT TYPE "Plant"').stdout
    assert "\nattributes:\n  description: It grows\n" in shown
    assert "instance_count: 2\n" in shown
    assert run("kip", "DESCRIBE PRIMER").stdout.startswith("identity:\n")


def test_an_explanation_shows_every_stage(run: Run) -> None:
    shown = run("kip", f"EXPLAIN ANALYZE {NAMES} LIMIT 1").lines
    titles = [line for line in shown if not line.startswith(" ")]
    assert titles[0] == "command"
    assert titles[-4:] == ["sql", "bindings", "steps of SQLite", "analyze"]
    assert any(title.startswith("plan: ") for title in titles)
    assert '    ?p {type: "Plant"}' in shown
    assert any(line.startswith("  FROM concept") for line in shown)
    assert "  result: Fern" in shown


def test_explaining_a_write_without_analyze_writes_nothing(run: Run) -> None:
    before = run("snapshot", "--json").object
    assert run("kip", f"EXPLAIN {RENAME}").status == 0
    assert run("snapshot", "--json").object == before


def test_a_search_shows_scores(run: Run) -> None:
    done = run("kip", 'SEARCH CONCEPT "oak"')
    assert done.lines[1].startswith('1.00   Plant "Oak" (C:')
    assert run("kip", 'SEARCH CONCEPT "zebra"').stderr == "Nothing was found.\n"


def test_a_link_that_was_searched_for_names_what_it_joins(run: Run) -> None:
    shown = re.compile(r" C:\d+ Plant:Oak shades C:\d+ Plant:Fern")
    assert shown.search(run("kip", 'SEARCH PROPOSITION "shades"').lines[1])
    assert any(shown.search(line) for line in run("search", "shades").lines)


def test_only_so_many_ends_of_links_are_looked_up(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labels, "NAMES_MAX", 1)
    shown = run("kip", 'FIND(?l) WHERE { ?l (?a, "shades", ?b) }').lines[1]
    assert re.match(r"C:\d+ Plant:Oak shades C:\d+ \(P:", shown)


def test_an_upsert_that_says_nothing_new_says_so(run: Run) -> None:
    moss = 'UPSERT { CONCEPT { {type: "Plant", name: "Moss"} } }'
    first, again = run("kip", moss).stdout, run("kip", moss).stdout
    assert "nothing changed" not in first
    assert again == first.replace("\n", "; nothing changed\n")
    assert "nothing changed" not in run("kip", moss, "--dry-run").stdout


def test_an_export_is_a_capsule_that_can_be_run_again(run: Run, tmp_path: Path) -> None:
    exported = run("kip", 'EXPORT ?p WHERE { ?p {type: "Plant"} }')
    assert exported.stdout.startswith("UPSERT {\n")
    assert exported.stderr == "2 concepts, 1 link.\n"
    again = run("kip", input=exported.stdout)
    assert again.stdout.startswith("3 blocks: ")
    assert again.stdout.endswith("; nothing changed\n")
    assert run("kip", 'EXPORT ?p WHERE { ?p {type: "Event"} }').stderr == "Nothing matches.\n"


def test_what_others_wrote_cannot_act_on_the_terminal(run: Run) -> None:
    evil = "red\x1b[31m"
    run(
        "kip",
        'UPSERT { CONCEPT { {type: "Plant", name: :name} SET ATTRIBUTES {note: :name} } }',
        "--params",
        json.dumps({"name": evil}),
    )
    for question in (
        'FIND(?p, ?p.name) WHERE { ?p {type: "Plant"} }',
        'DESCRIBE CONCEPT TYPE "Plant"',
        'SEARCH CONCEPT "red"',
    ):
        shown = run("kip", question)
        assert "\x1b" not in shown.stdout
        assert "red" in shown.stdout


def test_the_clauses_of_a_statement_are_told_apart_from_those_inside_brackets_and_quotes() -> None:
    sql = "SELECT a, (SELECT b FROM c WHERE d) FROM e LEFT JOIN f ON g WHERE 'h AND i' AND j"
    assert statement_lines(sql) == [
        "SELECT a, (SELECT b FROM c WHERE d)",
        "FROM e",
        "LEFT JOIN f ON g",
        "WHERE 'h AND i'",
        "AND j",
    ]


def test_a_link_that_is_only_half_of_one_is_shown_as_json() -> None:
    assert text({"_type": "PropositionLink", "id": "P:1:p"}) == (
        '{"_type":"PropositionLink","id":"P:1:p"}'
    )


@needs_posix
def test_a_terminal_gets_a_table_and_json_on_request() -> None:
    assert "─" in Terminal("kip", NAMES).read_to_end()
    assert '{"result":["Fern","Oak"]}' in Terminal("kip", NAMES, "--json").read_to_end()


@needs_posix
def test_a_terminal_is_told_once_that_elements_are_in_short() -> None:
    whole = 'FIND(?p, ?p) WHERE { ?p {type: "Plant"} }'
    assert Terminal("kip", whole).read_to_end().count("--json shows everything") == 1
    assert Terminal("kip", 'SEARCH CONCEPT "oak"').read_to_end().count("--json shows") == 1
    assert "--json shows" not in Terminal("kip", NAMES).read_to_end()
    assert "--json shows" not in Terminal("kip", whole, "--json").read_to_end()


def test_output_in_a_narrow_encoding_is_escaped(spawn: Run) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    spawn(
        "kip",
        'UPSERT { CONCEPT { {type: "Plant", name: :n} } }',
        "--param",
        "n=樫",
        env=environment,
    )
    question = 'FIND(?p.name) WHERE { ?p {type: "Plant", name: "樫"} }'
    assert spawn("kip", question, cold=True, env=environment).lines[1] == "\\u6a2b"
    assert spawn("kip", question, "--json", env=environment).object == {"result": ["樫"]}


# What a command may do.


def test_a_rehearsal_writes_nothing(run: Run) -> None:
    before = run("snapshot", "--json").object
    assert run("kip", RENAME, "--dry-run").stdout == (
        "Valid. It would do this: updated: 1, matched: 1\n"
    )
    as_json = run("kip", RENAME, "--dry-run", "--json").object
    assert as_json["result"] == {"valid": True, "would": {"updated": 1, "matched": 1}}
    upsert = 'UPSERT { CONCEPT { {type: "Plant", name: "Ivy"} } }'
    assert run("kip", upsert, "--dry-run").stdout.startswith("Valid. It would do this: 1 b")
    assert run("kip", NAMES, "--dry-run").stdout == "Valid.\n"
    assert run("kip", "FIND(?p) WHERE { ?p {type: 'Plant'} }", "--dry-run").status == 2
    assert run("snapshot", "--json").object == before


@pytest.mark.parametrize(
    "command",
    [RENAME, 'UPSERT { CONCEPT { {type: "Plant", name: "Ivy"} } }', f"EXPLAIN ANALYZE {RENAME}"],
)
def test_reading_only_refuses_to_write(run: Run, command: str) -> None:
    before = run("snapshot", "--json").object
    refused = run("kip", command, "--readonly", "--json")
    assert (refused.status, refused.error["code"]) == (1, "KIP_3004")
    assert "--readonly" in refused.error["hint"]
    assert run("snapshot", "--json").object == before


def test_reading_only_allows_to_read(run: Run) -> None:
    assert run("kip", NAMES, "--readonly").status == 0
    assert run("kip", f"EXPLAIN {RENAME}", "--readonly").status == 0


def test_a_file_that_may_only_be_read_can_be_asked(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    assert run("kip", NAMES).status == 0
    assert run("kip", "DESCRIBE PRIMER").status == 0


def test_the_journal_says_who_wrote(run: Run) -> None:
    run("kip", RENAME, "--actor", "bob")
    last = run("log", "--limit", "1", "--json").object
    assert (last["actor"], last["message"]) == ("bob", "change 1 Plant")


# What goes wrong.


@pytest.mark.parametrize(
    ("command", "status", "code"),
    [
        ("", 2, "KIP_1001"),
        ("SELECT 1", 2, "KIP_1001"),
        ("FIND(?x)", 2, "KIP_1001"),
        ('FIND(?x) WHERE { ?x {type: "Plnat"} }', 2, "KIP_2001"),
        ('FIND(?y) WHERE { ?x {type: "Plant"} }', 2, "KIP_3001"),
        ("FIND(?x) WHERE { ?x {type: :missing} }", 2, "KIP_3001"),
        ('DELETE CONCEPT ?x DETACH WHERE { ?x {type: "Plant", name: "Ivy"} }', 1, "KIP_3002"),
        (
            'DELETE CONCEPT ?x DETACH WHERE { ?x {type: "$ConceptType", name: "$ConceptType"} }',
            1,
            "KIP_3004",
        ),
    ],
)
def test_an_error_of_the_language_has_its_code_and_status(
    run: Run, command: str, status: int, code: str
) -> None:
    for more in ((), ("--json",)):
        done = run("kip", command, *more)
        assert done.status == status
        assert done.stdout == ""
        assert done.error["code"] == code if more else done.stderr.startswith(f"{code} ")


def test_an_error_points_at_its_place(run: Run) -> None:
    done = run("kip", "FIND(?p)\nWHERE {\n  ?p {type: 'Plant'}\n}")
    message, line, caret, hint = done.stderr.splitlines()
    assert message.startswith("KIP_1001 InvalidSyntax: Line 3, column 13: ")
    assert line == "    3 |   ?p {type: 'Plant'}"
    assert caret.index("^") == line.index("'")
    assert hint.startswith("  ")
    as_json = run("kip", "FIND(?p)\nWHERE {\n  ?p {type: 'Plant'}\n}", "--json").error
    assert (as_json["data"]["line"], as_json["data"]["column"]) == (3, 13)


def test_the_name_of_a_file_is_told_apart_from_a_command(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("names.kip").write_text(NAMES, encoding="utf-8")
    done = run("kip", "names.kip")
    assert done.status == 2
    assert "use --file names.kip" in done.stderr
    assert "--file" not in run("kip", "other.kip").stderr
    assert "--file" not in run("kip", "x" * 5000).stderr
    assert "--file" not in run("kip", input="names.kip").stderr


def test_a_missing_parameter_says_how_it_is_given(run: Run) -> None:
    done = run("kip", "FIND(?x) WHERE { ?x {type: :kind} }", "--param", "knid=Plant")
    assert "--param kind=…" in done.stderr
    assert ":knid" in done.stderr


def test_help_calls_the_argument_what_it_is(run: Run) -> None:
    shown = run("kip", "--help").stdout
    assert "[COMMAND]" in shown
    assert "WORDS" not in shown


@pytest.mark.parametrize(
    "words",
    [
        (NAMES, "--file", "x.kip"),
        ("--file", "/nowhere/x.kip"),
        (NAMES, "--param", "nameless"),
        (NAMES, "--param", "=5"),
        (NAMES, "--params", "/nowhere.json"),
        (NAMES, "--params", "[1]"),
        (NAMES, "--timeout", "0"),
        (NAMES, "--timeout", "soon"),
    ],
)
def test_a_wrong_command_line_is_refused(run: Run, words: tuple[str, ...]) -> None:
    done = run("kip", *words)
    assert done.status == 2
    assert done.stderr.startswith("KIP_1001 InvalidSyntax: ")


def test_text_that_is_no_utf8_is_refused() -> None:
    done = subprocess.run([*COMMAND, "kip"], input=b"FIND(\xff)", capture_output=True, check=False)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_a_command_that_takes_too_long_is_given_up(run: Run) -> None:
    done = run("kip", SLOW, "--timeout", "0.000001", "--json")
    assert (done.status, done.error["code"]) == (1, "KIP_4001")


def test_a_command_can_be_interrupted_while_it_runs(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt() -> float:
        signal.raise_signal(signal.SIGINT)
        return 0.0

    # The engine looks at the clock while SQLite works.
    monkeypatch.setattr(mycel.store.query.reader, "monotonic", interrupt)
    done = run("kip", SLOW)
    assert done.status == 130
    assert done.stderr.strip() == "Interrupted."
    monkeypatch.undo()


@needs_posix
def test_without_standard_input_there_is_no_command(spawn: Run) -> None:
    done = spawn("kip", cold=True, preexec_fn=lambda: os.close(0))
    assert done.status == 2
    assert done.stderr.startswith("KIP_1001 InvalidSyntax: ")


@needs_posix
def test_a_reader_that_has_seen_enough_is_no_error(garden: Path) -> None:
    with mycel.open(garden) as db, db.transaction() as tx:
        for number in range(3000):
            tx.put_concept("Plant", f"A plant with a long name of its own, number {number}")
    with subprocess.Popen(
        [*COMMAND, "kip", NAMES], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141


@needs_posix
def test_a_session_needs_a_terminal_to_write_to(tmp_path: Path) -> None:
    import pty

    master, slave = pty.openpty()
    with (tmp_path / "out").open("w") as out:
        done = subprocess.run(
            [*COMMAND, "kip"],
            stdin=slave,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    os.close(slave)
    os.close(master)
    assert done.returncode == 2
    assert "a session needs a terminal" in done.stderr
