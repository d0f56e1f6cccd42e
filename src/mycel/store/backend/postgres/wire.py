"""Sends statements to a server and reads their answers, in place of psycopg's cursor.

Statements can be sent together and their answers read together, in one round trip. A statement is
prepared when it is sent for the second time. Values go and come in the binary form. Connecting,
cancelling, COPY and the conversion of values are psycopg's.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, Final, NoReturn

import orjson
import psycopg
from psycopg import adapt, errors, pq, waiting
from psycopg.types.numeric import Int8BinaryDumper, NumericBinaryLoader
from psycopg.types.string import StrDumper

from mycel.errors import InvalidValueType
from mycel.model.limits import INTEGER_MAX, INTEGER_MIN
from mycel.model.values import has_nul
from mycel.store.backend.interface import Failure
from mycel.store.backend.postgres.markers import number_markers, values_of
from mycel.store.file.rows import NumberList, TextList

_LOOK_EVERY_S: Final = 0.05
_PREPARED_MAX: Final = 400
_SEEN_MAX: Final = 4_000
"""The maximum number of texts that are remembered until they are sent a second time."""
_TOGETHER_MAX: Final = 1_000
"""The maximum number of statements that are sent before their answers are read."""
_ROWS_AT_ONCE: Final = 200
"""The rows that a cursor turns into Python's values at once."""
_AUTO: Final = [adapt.PyFormat.AUTO]
_BINARY: Final = pq.Format.BINARY
_FAILED: Final = pq.ExecStatus.FATAL_ERROR
_ABORTED: Final = pq.ExecStatus.PIPELINE_ABORTED
_END: Final = pq.ExecStatus.PIPELINE_SYNC


def _is_document_with_nul(text: str) -> bool:
    """True if a text is JSON with U+0000 in it; False for a text that only mentions the escape."""
    if not has_nul(text):
        return False
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _refuse_nul() -> NoReturn:
    raise Failure(
        InvalidValueType(
            "A text with the character U+0000 cannot be kept in PostgreSQL.",
            hint="Leave the character out.",
        )
    )


class _Text(StrDumper):
    """Texts. Neither a text nor a JSON document may contain U+0000 in PostgreSQL."""

    def dump(self, obj: str) -> bytes | bytearray | memoryview | None:
        if "\0" in obj or ("\\u0000" in obj and _is_document_with_nul(obj)):
            _refuse_nul()
        return super().dump(obj)


class _Boolean(Int8BinaryDumper):
    """Booleans as the numbers that tables hold."""

    def dump(self, obj: Any) -> bytes | bytearray | memoryview | None:
        return super().dump(int(obj))


class _Number(psycopg.adapt.Dumper):
    """Floats as decimal numbers with the digits that JSON shows."""

    oid = 1700

    def dump(self, obj: float) -> bytes:
        return repr(obj).encode()


class _Numbers(psycopg.adapt.Dumper):
    """Lists of numbers as arrays."""

    oid = 1016

    def dump(self, obj: str) -> bytes:
        return b"{%s}" % obj[1:-1].encode()


class _Texts(psycopg.adapt.Dumper):
    """Lists of texts as arrays."""

    oid = 1009

    def dump(self, obj: str) -> bytes:
        if has_nul(obj):
            _refuse_nul()
        quoted = (
            '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
            for text in orjson.loads(obj.encode())
        )
        return f"{{{','.join(quoted)}}}".encode()


class _Numeric(NumericBinaryLoader):
    """Decimal numbers as the integers or floats that JSON would show."""

    def load(self, data: Any) -> Any:
        value = super().load(data)
        exponent = value.as_tuple().exponent
        if isinstance(exponent, int) and exponent >= 0 and INTEGER_MIN <= value <= INTEGER_MAX:
            return int(value)
        return float(value)


class Driver(psycopg.Connection[Any]):
    """A connection of psycopg that can stop waiting when a limit is exceeded."""

    are_over: Callable[[], bool] | None = None

    def __del__(self, *_: Any) -> None:
        """Do nothing: an unclosed connection gives no warning, as with files."""

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **options: Any) -> Any:
        if self.are_over is None or self.pgconn.status != psycopg.pq.ConnStatus.OK:
            return super().wait(gen, *args, **options)
        is_cancelled = False
        try:
            waits_for = next(gen)
            poll = select.poll()
            while True:
                events = select.POLLIN if waits_for & waiting.WAIT_R else 0
                events |= select.POLLOUT if waits_for & waiting.WAIT_W else 0
                poll.register(self.pgconn.socket, events)
                events_ready = poll.poll(_LOOK_EVERY_S * 1000)
                if events_ready:
                    ready: Any = waiting.READY_NONE
                    for _, event in events_ready:
                        if event & ~select.POLLOUT:
                            ready |= waiting.READY_R
                        if event & ~select.POLLIN:
                            ready |= waiting.READY_W
                    waits_for = gen.send(ready)
                elif not is_cancelled and self.are_over():
                    is_cancelled = True
                    self.cancel()
        except StopIteration as end:
            return end.value


def connect(url: str) -> Driver:
    """A connection in which every statement is a transaction, unless one is begun.

    Raises:
        psycopg.Error: the server cannot be reached, or refuses it.
    """
    driver = Driver.connect(url, autocommit=True, application_name="mycel", client_encoding="utf8")
    for type_, dumper in (
        (str, _Text), (int, Int8BinaryDumper), (bool, _Boolean), (float, _Number),
        (NumberList, _Numbers), (TextList, _Texts),
    ):  # fmt: skip
        driver.adapters.register_dumper(type_, dumper)
    driver.adapters.register_loader("numeric", _Numeric)
    return driver


class PostgresCursor:
    """The rows of an answer."""

    __slots__ = ("_at", "_loader", "_result", "_rows", "_size")

    def __init__(self) -> None:
        self._result: Any = None
        self._loader: Any = None
        self._rows: list[Any] = []
        """Rows that were converted, and not yet read: the last one comes first."""
        self._at = self._size = 0

    def take(self, result: Any, loader: Any) -> None:
        """Hold the rows of a result from now on."""
        self._result, self._loader = result, loader
        self._rows, self._at, self._size = [], 0, result.ntuples

    def _convert(self, most: int) -> list[Any]:
        """The next rows."""
        begin, self._at = self._at, min(self._at + most, self._size)
        if begin == self._at:
            return []
        self._loader.set_pgresult(self._result, set_loaders=False)
        rows: list[Any] = self._loader.load_rows(begin, self._at, tuple)
        return rows

    def fetchone(self) -> Any:
        if not self._rows:
            self._rows = self._convert(_ROWS_AT_ONCE)
            self._rows.reverse()
        return self._rows.pop() if self._rows else None

    def fetchall(self) -> list[Any]:
        rows, self._rows = self._rows[::-1], []
        return rows + self._convert(self._size)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    @property
    def get(self) -> Any:
        """The only row, or its only cell; None if there is none."""
        row = self.fetchone()
        return row[0] if row is not None and len(row) == 1 else row

    def close(self) -> None:
        self._result, self._rows, self._size = None, [], 0


@lru_cache(4096)
def _encoded(statement: str) -> tuple[bytes, tuple[Any, ...], list[adapt.PyFormat]]:
    """A statement with numbered parameters, the keys of its values, and their forms."""
    text, keys = number_markers(statement)
    return text.encode(), keys, _AUTO * len(keys)


class _Prepared:
    """A statement that the server knows by a name."""

    __slots__ = ("loader", "name")

    def __init__(self, name: bytes) -> None:
        self.name: Final = name
        self.loader: Any = None
        """The converter of its rows, once there were some."""


_Key = tuple[bytes, tuple[int, ...] | None]
"""The text of a statement and the types of its values."""


class BoundStatement:
    """A statement with its values in the form of the wire."""

    __slots__ = ("formats", "key", "prepared", "values")

    def __init__(self, key: _Key, values: Any, formats: Any) -> None:
        self.key: Final = key
        self.values: Final = values
        self.formats: Final = formats
        self.prepared: _Prepared | None = None


class Wire:
    """Sends statements over one connection, and reads their answers."""

    def __init__(self, driver: Driver) -> None:
        self._driver: Final = driver
        self._pgconn: Final = driver.pgconn
        self._dumper: Final = adapt.Transformer.from_context(driver)
        self._prepared: Final[dict[_Key, _Prepared]] = {}
        self._seen: Final[set[_Key]] = set()
        self._named = 0

    def command(self, statement: str, bindings: Any = ()) -> BoundStatement:
        """A statement and its values, ready to be sent."""
        text, keys, forms = _encoded(statement)
        if not keys:
            return BoundStatement((text, None), None, None)
        dumper = self._dumper
        values = dumper.dump_sequence(values_of(keys, bindings), forms)
        return BoundStatement((text, dumper.types), values, dumper.formats)

    def send(self, commands: Sequence[BoundStatement]) -> list[Any]:
        """Send statements together, and return the results up to the first failure.

        The result of a failed statement is the last one: the server skips the statements after it.

        Raises:
            psycopg.Error: the connection is lost.
        """
        results: list[Any] = []
        for begin in range(0, len(commands), _TOGETHER_MAX):
            results += self._send_some(commands[begin : begin + _TOGETHER_MAX])
            if results[-1].status == _FAILED:
                break
        return results

    def _send_some(self, commands: Sequence[BoundStatement]) -> list[Any]:
        pgconn = self._pgconn
        steps: list[tuple[Callable[[], None], BoundStatement | None]] = []
        new: dict[_Key, _Prepared] = {}
        for command in commands:
            self._add_steps(command, steps, new)
        is_alone = len(steps) == 1
        if not is_alone:
            pgconn.enter_pipeline_mode()
        for step, _ in steps:
            step()
        if not is_alone:
            pgconn.pipeline_sync()
        answers = self._wait(is_alone)
        if not is_alone:
            pgconn.exit_pipeline_mode()
        results = []
        for (_, owner), answer in zip(steps, answers, strict=True):
            if answer.status == _ABORTED:
                break
            is_failed = answer.status == _FAILED
            if owner is not None or is_failed:
                results.append(answer)
            if is_failed:
                break
            if owner is not None and owner.key in new:
                self._prepared[owner.key] = new.pop(owner.key)
        return results

    def _add_steps(
        self,
        command: BoundStatement,
        steps: list[tuple[Callable[[], None], BoundStatement | None]],
        new: dict[_Key, _Prepared],
    ) -> None:
        """The messages to the server for one statement; those beside it belong to no command."""
        pgconn, key = self._pgconn, command.key
        prepared = self._prepared.get(key) or new.get(key)
        if prepared is None and key in self._seen:
            self._seen.discard(key)
            self._named += 1
            prepared = new[key] = _Prepared(b"m%d" % self._named)
            if len(self._prepared) >= _PREPARED_MAX:
                oldest = self._prepared.pop(next(iter(self._prepared)))
                forget = b"DEALLOCATE " + oldest.name
                steps.append((partial(pgconn.send_query_params, forget, None), None))
            steps.append(
                (partial(pgconn.send_prepare, prepared.name, key[0], param_types=key[1]), None)
            )
        command.prepared = prepared
        if prepared is None:
            if len(self._seen) >= _SEEN_MAX:
                self._seen.clear()
            self._seen.add(key)
            run = partial(
                pgconn.send_query_params, key[0], command.values, param_types=key[1],
                param_formats=command.formats, result_format=_BINARY,
            )  # fmt: skip
        else:
            run = partial(
                pgconn.send_query_prepared, prepared.name, command.values,
                param_formats=command.formats, result_format=_BINARY,
            )  # fmt: skip
        steps.append((run, command))

    def send_text(self, statements: str) -> list[Any]:
        """Run several statements without values in one message.

        Raises:
            psycopg.Error: one of them failed, or the connection is lost.
        """
        self._pgconn.send_query(statements.encode())
        results = self._wait(is_alone=True)
        check(results)
        return results

    def _wait(self, is_alone: bool) -> list[Any]:
        try:
            results: list[Any] = self._driver.wait(_gather(self._pgconn, is_alone))
        except BaseException:
            self._driver.close()  # The next answer could belong to any statement.
            raise
        return results

    def fill(
        self, cursor: PostgresCursor, result: Any, command: BoundStatement | None = None
    ) -> None:
        """Let a cursor read the rows of a result."""
        prepared = None if command is None else command.prepared
        loader = None if prepared is None else prepared.loader
        if loader is None:
            loader = adapt.Transformer.from_context(self._driver)
            loader.set_pgresult(result)
            if prepared is not None:
                prepared.loader = loader
        cursor.take(result, loader)


def _gather(pgconn: Any, is_alone: bool) -> Generator[Any, Any, list[Any]]:
    """Send the waiting bytes, and read all answers."""
    results: list[Any] = []
    while True:
        ready = yield waiting.WAIT_RW if pgconn.flush() else waiting.WAIT_R
        if not ready & waiting.READY_R:
            continue
        pgconn.consume_input()
        while not pgconn.is_busy():
            result = pgconn.get_result()
            if result is None:
                if is_alone:
                    return results
                if pgconn.status == pq.ConnStatus.BAD:
                    raise psycopg.OperationalError(pgconn.get_error_message())
            elif result.status == _END:
                return results
            else:
                results.append(result)


def check(results: Sequence[Any]) -> None:
    """Raise the error of the statement that failed, if one did.

    Raises:
        psycopg.Error: a statement failed.
    """
    for result in results:
        if result.status == _FAILED:
            raise errors.error_from_result(result)
