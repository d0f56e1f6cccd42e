"""Requests and responses of KIP (§6), for one command or a batch. No exception is raised.

A request is an object with `command` or `commands`, `parameters`, `dry_run` and `message`, the
reason that the journal keeps for writes of the commands; or a function call (§6.1) with such an
object as its arguments. A response is `{result, next_cursor?, warnings?}` or `{error}`. A batch
answers with an array of responses:

- commands run in order, each as a transaction; consecutive ones that write share one commit;
- a command that writes and fails ends the batch, since later commands may rely on it;
- any other failure is the answer of its command, and the batch continues;
- a batch with a command that writes is refused as a whole by a read-only door.

A malformed request is refused with `KIP_1001`. So is a misspelt key, because a command sent with
`dryRun` must not run. Other unknown keys are ignored with a warning. An unforeseen exception is
logged and answered with `KIP_4003`, without details.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from difflib import get_close_matches
from itertools import groupby
from typing import Any, Final, NamedTuple, Protocol

from mycel.engine.engine import read_only
from mycel.engine.result import Result
from mycel.errors import (
    InternalError,
    InvalidIdentifier,
    InvalidSyntax,
    MycelError,
    ResourceExhausted,
)
from mycel.kip import is_write, parse
from mycel.kip.statements import READING, WRITING, first_word
from mycel.model import allowance
from mycel.model.json_text import read_json
from mycel.model.limits import BATCH_COMMANDS_MAX
from mycel.model.names import kind_of, shorten
from mycel.store.write.writer import GroupMember

Response = dict[str, Any]
Responses = list[Response]

_FUNCTIONS: Final = ("execute_kip", "execute_kip_readonly")
_KEYS: Final = ("command", "commands", "parameters", "dry_run", "message")
_ELEMENT_KEYS: Final = ("command", "parameters")
_SHAPE_HINT: Final = (
    'Send {"command": "…"} or {"commands": ["…", …]}, and beside it "parameters": {…} if the'
    ' text has placeholders, "dry_run": true to validate only, "message": "why" for the journal.'
)
_MEANT: Final = {
    "dry": "dry_run",
    "params": "parameters",
    "param": "parameters",
    "cmd": "command",
    "cmds": "commands",
}
"""Short forms of keys."""
_ELSEWHERE: Final = {
    "readonly": "A request cannot decide if it may write. In Python, call"
    " db.request(…, readonly=True); over MCP and HTTP there is execute_kip_readonly.",
    "dry_run": "dry_run is a key beside `commands` and applies to all of them.",
    "commands": "A batch cannot contain another batch; list the commands one after the other.",
}
"""Hints for keys that are known, but not in this place."""
_LIKENESS: Final = 0.8
"""The least `difflib` ratio at which an unknown key counts as a misspelling."""
_KEY_LETTERS_MAX: Final = 40
_KEYS_MAX: Final = 32
"""The maximum number of keys of a request: each unknown one is compared and gets a warning."""

_log = logging.getLogger(__name__)


class Executor(Protocol):
    """The interface of an engine that runs one command."""

    def execute(
        self,
        text: str,
        parameters: Mapping[str, Any],
        *,
        readonly: bool,
        dry_run: bool,
        message: str,
    ) -> Result:
        """Run a command; the journal keeps the message of one that writes.

        With `readonly`, a command that writes is refused. With `dry_run`, it is checked, and
        nothing is written.
        """
        ...


class Stage(Executor, Protocol):
    """An executor that can also rehearse, and let commands share a commit."""

    def together(self, work: Callable[[Sequence[GroupMember]], Responses]) -> Responses:
        """Let the transactions that `work` runs share one commit at its end.

        `work` gets the list of these transactions, which grows as it runs them.
        """
        ...

    def rehearsal(self) -> AbstractContextManager[Executor]:
        """Let commands in the block see the writes of earlier commands, and undo all at its end."""
        ...


class _Command(NamedTuple):
    text: str
    parameters: Mapping[str, Any]
    message: str
    warnings: tuple[str, ...] = ()


class _Shared(NamedTuple):
    """The parts of a request that all its commands share."""

    parameters: Mapping[str, Any]
    message: str


class _Request(NamedTuple):
    commands: Sequence[_Command | MycelError]
    """The error takes the place of an element that is no command."""
    is_batch: bool
    dry_run: bool
    warnings: tuple[str, ...]


def respond(executor: Stage, request: Mapping[str, Any], *, readonly: bool) -> Response:
    """Answer any request, valid or not.

    A result may be a `Result`, whose cells are not decoded yet.
    """
    try:
        arguments, reads_only = _arguments(request)
        kip_request, readonly = _read(arguments), readonly or reads_only
        if (
            kip_request.dry_run
            and kip_request.is_batch
            and not readonly
            and _any_writes(kip_request.commands)
        ):
            with executor.rehearsal() as stage:
                responses = _run_in_order(stage, kip_request.commands, dry_run=True)
        else:
            responses = _run_all(executor, kip_request, readonly=readonly)
        payload = {"result": responses} if kip_request.is_batch else responses[0]
        return _with_warnings(payload, kip_request.warnings)
    except MycelError as error:
        return _failed(error)
    except Exception as error:  # noqa: BLE001 - The edge: the caller gets an answer to anything.
        return _unforeseen(error)


def plain(response: Response) -> Response:
    """A response with plain values instead of each `Result` in it."""
    result = response.get("result")
    if isinstance(result, Result):
        response["result"] = result.value
    elif isinstance(result, list):
        for part in result:  # The responses of a batch.
            if isinstance(part, dict) and isinstance(part.get("result"), Result):
                part["result"] = part["result"].value
    return response


def writes(text: str) -> bool:
    """True for the text of a command that writes; false for one that cannot be parsed."""
    if text.lstrip().startswith(READING):  # The usual case, without parsing.
        return False
    try:
        command = parse(text)
    except (InvalidSyntax, InvalidIdentifier):
        return False
    except MycelError:  # The text is too large to be parsed, so only its first word is read.
        return first_word(text) in WRITING
    return is_write(command)


# Running.


def _run_all(executor: Stage, kip_request: _Request, *, readonly: bool) -> Responses:
    if readonly and kip_request.is_batch and (refused := _refusals(kip_request.commands)):
        return refused
    if not kip_request.is_batch or kip_request.dry_run:
        return _run_in_order(
            executor, kip_request.commands, readonly=readonly, dry_run=kip_request.dry_run
        )
    responses: Responses = []
    for is_manipulation, group in groupby(kip_request.commands, _is_manipulation):
        commands = list(group)
        if is_manipulation and len(commands) > 1:
            batch = _run_together(executor, commands)
        else:
            batch = _run_in_order(executor, commands, readonly=readonly)
        responses += batch
        if len(batch) < len(commands) or _ends(commands[-1], batch[-1]):
            break
    return responses


def _run_in_order(
    executor: Executor,
    commands: Sequence[_Command | MycelError],
    *,
    readonly: bool = False,
    dry_run: bool = False,
    settled: Sequence[GroupMember] = (),
) -> Responses:
    """The responses up to the one that ends the batch, or up to a failed commit."""
    responses = []
    for command in commands:
        response = _run(executor, command, readonly=readonly, dry_run=dry_run)
        responses.append(response)
        if _ends(command, response) or any(group_member.error for group_member in settled):
            break
    return responses


def _run_together(executor: Stage, commands: Sequence[_Command | MycelError]) -> Responses:
    """The responses of commands that write, with one commit for all.

    If the commit fails, all of them are errors.
    """
    transactions: Sequence[GroupMember] = ()

    def work(settled: Sequence[GroupMember]) -> Responses:
        nonlocal transactions
        transactions = settled
        return _run_in_order(executor, commands, settled=settled)

    responses = executor.together(work)
    succeeded = (place for place, response in enumerate(responses) if "error" not in response)
    for place, transaction in zip(list(succeeded), transactions, strict=True):
        if transaction.error is not None:
            responses[place] = _failed(transaction.error)
    return responses


def _is_manipulation(command: _Command | MycelError) -> bool:
    """True for a text that begins as a command that writes, without parsing it."""
    if isinstance(command, MycelError):
        return False
    return first_word(command.text) in WRITING


def _ends(command: _Command | MycelError, response: Response) -> bool:
    """True if a command that writes has failed, so that the batch ends."""
    return "error" in response and isinstance(command, _Command) and writes(command.text)


def _any_writes(commands: Sequence[_Command | MycelError]) -> bool:
    return any(isinstance(command, _Command) and writes(command.text) for command in commands)


def _refusals(commands: Sequence[_Command | MycelError]) -> list[Response]:
    """A refusal for each command, if at least one of them writes; otherwise none."""
    writing = {
        place
        for place, command in enumerate(commands, 1)
        if isinstance(command, _Command) and writes(command.text)
    }
    if not writing:
        return []
    others = read_only(
        f"Not run: command {min(writing)} of this batch writes, and only reading is allowed here."
    )
    own = read_only()
    return [_failed(own if place in writing else others) for place in range(1, len(commands) + 1)]


def _run(
    executor: Executor, command: _Command | MycelError, *, readonly: bool, dry_run: bool
) -> Response:
    if isinstance(command, MycelError):
        return _failed(command)
    try:
        if not _is_manipulation(command):
            allowance.check()  # A batch has one deadline, which writes check themselves.
        result = executor.execute(
            command.text,
            command.parameters,
            readonly=readonly,
            dry_run=dry_run,
            message=command.message,
        )
        response = {"result": result} | result.to_dict_beside()
    except MycelError as error:
        return _with_warnings(_failed(error), command.warnings)
    except Exception as error:  # noqa: BLE001 - The edge: other commands of a batch still count.
        return _unforeseen(error)
    return _with_warnings(response, command.warnings)


def _with_warnings(response: Response, warnings: Sequence[str]) -> Response:
    if warnings:
        response["warnings"] = [*warnings, *response.get("warnings", ())]
    return response


def _failed(error: MycelError) -> Response:
    return {"error": _sendable(error.to_dict())}


def _unforeseen(error: Exception) -> Response:
    shortage = allowance.shortage(error)
    if shortage is not None:
        return _failed(shortage)
    _log.exception("A command failed with an unforeseen exception.")
    return _failed(InternalError("The command failed for a reason inside the engine."))


def _sendable(value: Any) -> Any:
    """A part of an error without characters that JSON cannot carry: errors quote the request."""
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case dict():
            return {_sendable(str(key)): _sendable(item) for key, item in value.items()}
        case list() | tuple():
            return [_sendable(item) for item in value]
        case None | bool() | int() | float():
            return value
        case _:
            return _sendable(repr(value))


# Reading the request.


def _arguments(request: object) -> tuple[object, bool]:
    """The arguments of a function call, or a plain request; and True if the function only reads.

    A call is `{"function": {"name": …, "arguments": …}}`, or the inner object alone. Its arguments
    are an object, or the JSON text of one.
    """
    call = request.get("function", request) if isinstance(request, Mapping) else request
    if not isinstance(call, Mapping) or "arguments" not in call:
        return call, False
    name, arguments = call.get("name"), call["arguments"]
    if name not in _FUNCTIONS:
        raise InvalidSyntax(
            f"There is no function {shorten(_sendable(repr(name)))}.",
            hint=f"Call {' or '.join(_FUNCTIONS)}, or send its arguments alone: {_SHAPE_HINT}",
        )
    if isinstance(arguments, str):
        try:
            arguments = read_json(arguments)
        except ValueError:
            raise _malformed("The arguments of the function call are no JSON.") from None
    return arguments, name == _FUNCTIONS[1]


def _read(request: object) -> _Request:
    """Read a request; raises InvalidSyntax if it is none."""
    if not isinstance(request, Mapping):
        raise _malformed(f"A request must be an object, not {kind_of(request)}.")
    unknown = tuple(_unknown(request, _KEYS, "The request"))
    command, commands = request.get("command"), request.get("commands")
    if (command is None) == (commands is None):
        message = "neither `command` nor" if command is None else "both `command` and"
        raise _malformed(f"The request has {message} `commands`.")
    dry_run = request.get("dry_run")
    if dry_run is not None and not isinstance(dry_run, bool):
        raise _malformed(f"`dry_run` is true or false, not {kind_of(dry_run)}.")
    shared = _Shared(_parameters(request.get("parameters")), _message(request.get("message")))
    if commands is None:
        return _Request(
            (_element(command, shared, "`command`", plain=True),), False, bool(dry_run), unknown
        )
    if not isinstance(commands, (list, tuple)):
        raise _malformed(f"`commands` must be an array of commands, not {kind_of(commands)}.")
    if len(commands) > BATCH_COMMANDS_MAX:
        raise ResourceExhausted(
            f"The batch has {len(commands)} commands; at most {BATCH_COMMANDS_MAX} are allowed.",
            hint="Send them in several requests.",
        )
    return _Request(
        [_or_error(command, shared, place) for place, command in enumerate(commands, 1)],
        True,
        bool(dry_run),
        unknown,
    )


def _or_error(element: object, shared: _Shared, place: int) -> _Command | MycelError:
    try:
        return _element(element, shared, f"Command {place} of the batch", plain=False)
    except MycelError as error:
        return error


def _element(element: object, shared: _Shared, label: str, *, plain: bool) -> _Command:
    if isinstance(element, str):
        return _Command(element, *shared)
    if plain or not isinstance(element, Mapping):
        form = "a text" if plain else "a text or an object with `command` and `parameters`"
        raise _malformed(f"{label} must be {form}, not {kind_of(element)}.")
    unknown = tuple(_unknown(element, _ELEMENT_KEYS, label))
    text = element.get("command")
    if not isinstance(text, str):
        raise _malformed(f"{label} has no text as its `command`.")
    own = _parameters(element.get("parameters"))
    return _Command(text, {**shared.parameters, **own}, shared.message, unknown)


def _message(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _malformed(f"`message` must be a text, not {kind_of(value)}.")
    return value


def _parameters(value: object) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _malformed(f"`parameters` must be an object, not {kind_of(value)}.")
    return value


def _unknown(keys: Mapping[str, Any], allowed: Sequence[str], where: str) -> Iterator[str]:
    """Warnings about unknown keys; raises InvalidSyntax if one was meant to be another."""
    if len(keys) > _KEYS_MAX:
        raise InvalidSyntax(
            f"{where} has {len(keys)} keys.", hint=f"It takes {', '.join(allowed)}."
        )
    for key in keys:
        if key in allowed:
            continue
        key_text = _sendable(shorten(str(key)))
        suggestion = _intended_key(str(key))
        if suggestion in allowed:
            raise InvalidSyntax(
                f"{where} has a key {key_text!r}, which means nothing; did you mean {suggestion}?",
                hint=f"Write {suggestion!r} instead, or leave the key out.",
            )
        if suggestion is not None:
            raise InvalidSyntax(
                f"{where} cannot have the key {key_text!r}.", hint=_ELSEWHERE[suggestion]
            )
        yield f"The key {key_text!r} of the request is unknown here and was ignored."


def _intended_key(key: str) -> str | None:
    """The key that was probably meant: with the same letters, the long form, or a similar key."""
    letters = "".join(letter for letter in key.casefold()[:_KEY_LETTERS_MAX] if letter.isalnum())
    spellings = {name.replace("_", ""): name for name in (*_KEYS, "readonly")} | _MEANT
    if letters in spellings:
        return spellings[letters]
    spelled = [name for name in spellings if name not in _MEANT]
    close = get_close_matches(letters, spelled, n=1, cutoff=_LIKENESS)
    return spellings[close[0]] if close else None


def _malformed(message: str) -> InvalidSyntax:
    return InvalidSyntax(message, hint=_SHAPE_HINT)
