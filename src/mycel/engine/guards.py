"""The guards of every graph, in the order in which a transaction asks them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from mycel.store.write.transaction import Guard


class GraphGuards(Sequence[Guard]):
    """The guards of the engine, then those of the caller.

    Only the first transaction imports the guards, so a process that only reads starts faster.
    """

    def __init__(self, own: Sequence[Guard] = (), *, strict: bool = False) -> None:
        self._own: Final = own
        self._strict: Final = strict

    @cached_property
    def _all(self) -> tuple[Guard, ...]:
        from mycel.engine.archived_guard import ArchivedGuard  # noqa: PLC0415
        from mycel.engine.definition_guard import DefinitionGuard  # noqa: PLC0415
        from mycel.engine.functional_guard import FunctionalGuard  # noqa: PLC0415
        from mycel.engine.kept_guard import KeptGuard  # noqa: PLC0415
        from mycel.engine.missing_concepts import HealingGuard  # noqa: PLC0415
        from mycel.engine.protection_guard import ProtectionGuard  # noqa: PLC0415
        from mycel.engine.schema_guard import SchemaGuard  # noqa: PLC0415
        from mycel.engine.supersede import SupersessionGuard  # noqa: PLC0415

        return (
            FunctionalGuard(),
            # This guard runs before the guards that check the final state of the transaction.
            HealingGuard(),
            ProtectionGuard(),
            KeptGuard(),
            SchemaGuard(),
            DefinitionGuard(strict=self._strict),
            ArchivedGuard(),
            SupersessionGuard(),
            *self._own,
        )

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, at: Any) -> Any:
        return self._all[at]
