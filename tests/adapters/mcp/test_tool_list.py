"""The tools, instructions and prompts that a model reads before it does anything."""

import json
import subprocess
import sys

import pytest

from mycel.mcp.kip_tools import CHEAT_SHEET
from mycel.mcp.prompts import instructions
from mycel.mcp.tool_list import TOOLS, offered
from tests.prepared import NEW


def test_the_list_of_tools_loads_no_part_of_the_protocol() -> None:
    code = (
        "import sys, mycel.mcp.tool_list, mycel.mcp.prompts, mycel.mcp.resources;"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"mcp", "mcp_types", "starlette", "anyio"} & set(done.stdout.split())


@pytest.mark.parametrize("by_handle", [False, True])
def test_the_tools_are_few_and_cost_few_tokens(by_handle: bool) -> None:
    assert len(TOOLS) <= 14
    wire = [tool.to_wire(by_handle=by_handle) for tool in TOOLS]
    assert len(json.dumps(wire, ensure_ascii=False)) / 4 < 3_500


def test_what_every_session_begins_with_fits_the_clients() -> None:
    for readonly in (False, True):
        text = instructions("w" * 63, readonly=readonly, several=True)
        assert len(text.encode()) < 2_048
    assert all(len(tool.description.encode()) < 2_048 for tool in TOOLS)


def test_tools_are_called_by_a_verb_and_a_noun() -> None:
    names = [tool.name for tool in TOOLS]
    assert len(set(names)) == len(names)
    assert all(name.count("_") >= 1 and name.islower() for name in names)
    assert {"execute_kip", "execute_kip_readonly"} <= set(names)


def test_what_instructions_and_prompts_name_is_offered() -> None:
    for readonly in (False, True):
        told = instructions("shop", readonly=readonly)
        known = {tool.name for tool in offered(readonly=readonly)}
        named = {tool.name for tool in TOOLS if tool.name in told}
        assert named
        assert named <= known


def test_every_command_of_the_cheat_sheet_runs() -> None:
    words = ("FIND", "SEARCH", "UPSERT", "UPDATE", "MERGE", "DELETE", "DESCRIBE")
    commands: list[str] = []
    for line in CHEAT_SHEET.splitlines():
        if line.startswith("  ") and line.strip().startswith(words):
            commands += [each for each in line.split("    ") if each.strip()] or []
        elif line.startswith(("    ", "  }")):
            commands[-1] += "\n" + line
    assert len(commands) > 10
    with NEW.opened() as db:
        db.execute(
            'UPSERT { CONCEPT { {type: "$ConceptType", name: "Concept"} } '
            'CONCEPT { {type: "$PropositionType", name: "depends_on"} } '
            'CONCEPT { {type: "$PropositionType", name: "calls"} } '
            'CONCEPT { {type: "Concept", name: "concept://shop/bill"} } '
            'CONCEPT { {type: "Concept", name: "concept://shop/billing"} } '
            'CONCEPT { {type: "Concept", name: "concept://shop/auth/login"} } }'
        )
        for command in commands:
            response = db.request({"command": command.strip()})
            assert "error" not in response, (command, response)
