"""Requests and responses as KIP §6 has them: a command or a batch, errors as part of the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from mycel import kip
from mycel.errors import ImmutableTarget, InvalidSyntax, MycelError, ResourceExhausted
from mycel.kip import ast
from mycel.model.limits import BATCH_COMMANDS_MAX
from tests.reference.graph import Graph, JsonObject


class Nexus(Protocol):
    """Answers the commands of a request."""

    graph: Graph

    def answer(self, command: ast.Command, parameters: Mapping[str, Any]) -> JsonObject: ...


class _Command(NamedTuple):
    """One command of a request: its tree, or its error."""

    tree: ast.Command | MycelError
    parameters: Mapping[str, Any]

    @property
    def writes(self) -> bool:
        return not isinstance(self.tree, MycelError) and kip.is_write(self.tree)


def respond(nexus: Nexus, request: Any, *, readonly: bool) -> JsonObject:
    """Answer a request. A dry run is a run whose graph is forgotten."""
    try:
        request, door = _arguments(request)
        readonly = readonly or door
        commands, is_batch, dry_run = _read(request)
    except MycelError as error:
        return {"error": error.to_dict()}
    before = nexus.graph
    try:
        responses = _run(nexus, commands, readonly=readonly)
    finally:
        if dry_run:
            nexus.graph = before
    return {"result": responses} if is_batch else responses[0]


def _run(nexus: Nexus, commands: list[_Command], *, readonly: bool) -> list[JsonObject]:
    """Run commands in order. One that writes and fails is the last; others fail by themselves."""
    if readonly and any(command.writes for command in commands):
        refused = ImmutableTarget(
            "Nothing was run: a command writes, and this door only reads.",
            hint="Send commands that write through execute_kip.",
        )
        return [{"error": refused.to_dict()} for _ in commands]
    responses = []
    for command in commands:
        response = _answer(nexus, command)
        responses.append(response)
        if "error" in response and command.writes:
            break
    return responses


def _answer(nexus: Nexus, command: _Command) -> JsonObject:
    try:
        if isinstance(command.tree, MycelError):
            raise command.tree
        return nexus.answer(command.tree, command.parameters)
    except MycelError as error:
        return {"error": error.to_dict()}


# Reading the request.


def _arguments(request: Any) -> tuple[Any, bool]:
    """The arguments of a function call, or a plain request; and True if the function only reads."""
    call = request.get("function", request) if isinstance(request, Mapping) else request
    if not isinstance(call, Mapping) or "arguments" not in call:
        return call, False
    if call.get("name") not in ("execute_kip", "execute_kip_readonly"):
        raise InvalidSyntax("There is no such function.")
    arguments = call["arguments"]
    try:
        found = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        raise InvalidSyntax("The arguments are no JSON.") from None
    return found, call["name"] == "execute_kip_readonly"


def _read(request: Any) -> tuple[list[_Command], bool, bool]:
    """The commands of a request, True if they are a batch, and True for a dry run."""
    if not isinstance(request, Mapping):
        raise InvalidSyntax("A request is an object.")
    command, commands = request.get("command"), request.get("commands")
    shared = _parameters(request)
    dry_run = request.get("dry_run")
    if dry_run is not None and not isinstance(dry_run, bool):
        raise InvalidSyntax("`dry_run` is true or false.")
    if (command is None) == (commands is None):
        raise InvalidSyntax("A request has either `command` or `commands`.")
    if commands is None:
        if not isinstance(command, str):
            raise InvalidSyntax("`command` is a text.")
        return [_command(command, shared)], False, bool(dry_run)
    if not isinstance(commands, list | tuple):
        raise InvalidSyntax("`commands` is an array.")
    if len(commands) > BATCH_COMMANDS_MAX:
        raise ResourceExhausted(f"A batch has at most {BATCH_COMMANDS_MAX} commands.")
    return [_command(each, shared) for each in commands], True, bool(dry_run)


def _command(element: Any, shared: Mapping[str, Any]) -> _Command:
    """A command of a batch: a text, or an object with a text and parameters of its own."""
    try:
        if isinstance(element, str):
            return _Command(kip.parse(element), shared)
        if isinstance(element, Mapping) and isinstance(element.get("command"), str):
            return _Command(kip.parse(element["command"]), {**shared, **_parameters(element)})
        raise InvalidSyntax("A command is a text, or an object with `command` and `parameters`.")
    except MycelError as error:
        return _Command(error, shared)


def _parameters(container: Mapping[str, Any]) -> Mapping[str, Any]:
    given = container.get("parameters")
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidSyntax("`parameters` is an object.")
    return given
