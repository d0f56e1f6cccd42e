"""Finds the targets of calls: the class of the object decides which method is called.

The class is known for the object whose method runs, for instances of classes, and for results of
functions with a written type. It is also known for fields and variables that hold one of these. For
other objects, every method with the name is a candidate, up to `CANDIDATES_MAX`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final, NamedTuple

from mycel.knowledge.code.module_paths import Unit, outward
from mycel.knowledge.code.name_resolution import Meaning, SymbolNames
from mycel.knowledge.code.relation_values import CodeLocation, family
from mycel.knowledge.code.scopes import CLASS_KINDS
from mycel.knowledge.code.source_facts import LITERAL, RESULT, UNKNOWN

CANDIDATES_MAX: Final = 5
"""The maximum number of methods that a call on an object of unknown class may mean; with more, the
call has no target."""

_RESULTS_MAX: Final = 6
"""The maximum number of functions that are followed in a row, each of which returns the result of
the next."""

_OUTSIDE: Final = CodeLocation("", "")
"""Stands for the class of an object from outside the project."""
_OWN: Final = frozenset({"Self", "self", "this"})


class CallTargets(NamedTuple):
    """The targets of a call. If `is_sure` is False, the call has one of these targets or none."""

    targets: tuple[CodeLocation, ...] = ()
    is_sure: bool = True


_NOTHING: Final = CallTargets()


class Receivers:
    """The methods and fields of a project, indexed for finding the targets of calls."""

    def __init__(self, names: SymbolNames) -> None:
        self._names = names
        self._methods: defaultdict[tuple[str, str], list[CodeLocation]] = defaultdict(list)
        self._macros: defaultdict[str, list[CodeLocation]] = defaultdict(list)
        """The macros of Rust by name: most of them can be used everywhere without an import."""
        self._fields: dict[CodeLocation, str] = {}
        self._candidates: dict[tuple[str, str, bool], CallTargets] = {}
        self._instances: dict[tuple[str, str, str], CodeLocation | None] = {}
        for path in sorted(names.facts):
            facts = names.facts[path]
            for symbol in facts.symbols:
                if symbol.kind == "method":
                    key = (family(facts.language), symbol.name)
                    self._methods[key].append(CodeLocation(path, symbol.qualified))
                elif symbol.kind == "macro" and facts.language == "rust":
                    self._macros[symbol.name].append(CodeLocation(path, symbol.qualified))
            for qualified, of in facts.fields:
                self._fields[CodeLocation(path, qualified)] = of

    def called(self, path: str, caller: str, parts: tuple[str, ...]) -> CallTargets:
        """The targets of a call, which a function of a file makes."""
        self._names.begin()
        head, method = parts[0], parts[-1]
        if head == UNKNOWN:
            return self._find_methods(path, method)
        if head == "super" and self._names.facts[path].language != "rust":
            owner = self._names.own_class(path, caller)
            code_location = self._names.inherited(owner, method, 0) if owner is not None else None
            return _sure(self._names.target(code_location))
        if head == "self":
            return self._on_own(path, caller, parts)
        if head.endswith(RESULT):
            owner = self._instance(path, caller, head.removesuffix(RESULT))
            return self._on(path, self._through(owner, parts[1:-1]), method)
        target = self._names.target(self._names.follow(path, caller, parts))
        return _sure(target) if target is not None else self._unresolved(path, caller, parts)

    def _on_own(self, path: str, caller: str, parts: tuple[str, ...]) -> CallTargets:
        """The targets of a call on the object whose method runs, or on a field of that object."""
        owner = self._names.own_class(path, caller)
        call_targets = self._on(path, self._through(owner, parts[1:-1]), parts[-1])
        # The class lacks the method, so a subclass may define it.
        return (
            call_targets
            if call_targets.targets or len(parts) > 2
            else self._find_methods(path, parts[-1])
        )

    def _on(self, path: str, owner: CodeLocation | None, method: str) -> CallTargets:
        if owner is None:
            return self._find_methods(path, method)
        if owner == _OUTSIDE:
            return _NOTHING
        return _sure(self._names.target(self._names.class_member(owner, method, 0)))

    def _unresolved(self, path: str, caller: str, parts: tuple[str, ...]) -> CallTargets:
        """The targets of a call whose name has no meaning in this place."""
        if len(parts) == 1 and self._names.facts[path].language == "rust":
            macros = self._macros.get(parts[0], ())
            return _sure(macros[0]) if len(macros) == 1 else _NOTHING
        if len(parts) == 1:
            return self._inherited_from_outside(path, caller, parts[0])
        first = self._names.follow(path, caller, parts[:1])
        if isinstance(first, Unit) and len(parts) == 2:
            return _NOTHING  # The module has no function of this name.
        if first is None and self._is_outside(path, caller, parts[0]):
            return _NOTHING
        return self._find_methods(path, parts[-1])

    def _inherited_from_outside(self, path: str, caller: str, name: str) -> CallTargets:
        """The targets of a bare name that a base class outside the project may define."""
        if not self._names.locator(path).class_members_visible:
            return _NOTHING
        owner = self._names.own_class(path, caller)
        is_open = owner is not None and self._names.is_open(owner)
        return self._find_methods(path, name) if is_open else _NOTHING

    def _is_outside(self, path: str, scope: str, name: str) -> bool:
        """True if a name without a meaning in this place comes from outside the project."""
        bindings = self._names.bound(path)
        for prefix in outward(scope, "."):
            bound = bindings.get((prefix, name))
            if bound is not None:
                return self._names.unit(path, bound[0]) is None
        return True

    def _find_methods(self, path: str, method: str) -> CallTargets:
        """The methods with a name that a call in this file may mean; none if there are too many."""
        facts = self._names.facts
        language = family(facts[path].language)
        places = self._methods.get((language, method))
        if places is None:
            return _NOTHING
        key = (language, method, facts[path].is_test)
        if key not in self._candidates:
            code_locations = {
                self._names.definition(place)
                for place in places
                if facts[path].is_test or not facts[place.path].is_test
            }
            few = len(code_locations) <= CANDIDATES_MAX
            self._candidates[key] = CallTargets(
                tuple(sorted(code_locations)) if few else (), is_sure=False
            )
        return self._candidates[key]

    # Objects.

    def _through(self, owner: CodeLocation | None, fields: tuple[str, ...]) -> CodeLocation | None:
        """The class of the object that a path of fields leads to."""
        for name in fields:
            if owner is None or owner == _OUTSIDE:
                return owner
            owner = self._field(owner, name)
        return owner

    def _field(self, owner: CodeLocation, name: str) -> CodeLocation | None:
        for place in (owner, *self._names.all_bases(owner)):
            of = (
                self._fields.get(CodeLocation(place.path, f"{place.qualified}.{name}"))
                if place
                else None
            )
            if place is not None and of is not None:
                return self._instance(place.path, place.qualified, of)
        return None

    def _instance(self, path: str, scope: str, maker: str, steps: int = 0) -> CodeLocation | None:
        """The class of an instance, or of the result of a function; None if it is not known."""
        if maker == LITERAL:
            return _OUTSIDE
        key = (path, scope, maker)
        if key not in self._instances:
            self._instances[key] = None  # This ends cycles.
            code_location = self._instances[key] = self._find_instance(path, scope, maker, steps)
            if self._names.is_over:
                del self._instances[key]
            return code_location
        return self._instances[key]

    def _find_instance(self, path: str, scope: str, maker: str, steps: int) -> CodeLocation | None:
        parts = tuple(maker.split("."))
        if parts[0] in _OWN:
            owner = self._names.own_class(path, scope) or self._class_at(path, scope)
            if len(parts) == 1 or owner is None:
                return owner
            holder = self._through(owner, parts[1:-1])
            if holder is None or holder == _OUTSIDE:
                return holder
            meaning: Meaning | None = self._names.class_member(holder, parts[-1], 0)
        else:
            meaning = self._names.follow(path, scope, parts)
        if meaning is None and len(parts) > 1:
            owner = self._instance(path, scope, ".".join(parts[:-1]), steps + 1)
            if owner is None or owner == _OUTSIDE:
                return owner
            meaning = self._names.class_member(owner, parts[-1], 0)
        if meaning is None:
            is_variable = len(maker) == 1 and maker.isupper()  # A type variable, such as `T`.
            is_outside = not is_variable and self._is_outside(path, scope, parts[0])
            return _OUTSIDE if is_outside else None
        if isinstance(meaning, Unit) or steps >= _RESULTS_MAX:
            return None
        symbol = self._names.symbols[meaning.path].get(meaning.qualified)
        if symbol is None:
            return None
        if symbol.kind in CLASS_KINDS:
            return meaning
        if not symbol.returns:
            return None
        return self._instance(meaning.path, meaning.qualified, symbol.returns, steps + 1)

    def _class_at(self, path: str, scope: str) -> CodeLocation | None:
        symbol = self._names.symbols[path].get(scope)
        return (
            CodeLocation(path, scope) if symbol is not None and symbol.kind in CLASS_KINDS else None
        )


def _sure(target: CodeLocation | None) -> CallTargets:
    return CallTargets((target,)) if target is not None else _NOTHING
