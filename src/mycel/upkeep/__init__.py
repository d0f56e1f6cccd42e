"""Upkeep: what is certain by rule is done, what needs judgement becomes a task.

- `cycle`           one sleep cycle: its steps in small transactions, its lock, its report
- `due`             elements that retention lets go, and what becomes of them
- `tiers`           short-term and long-term memory, and strength that fades
- `weights`         weights of links that follow from use
- `duplicates`      concepts that may be one
- `contradictions`  links that cannot hold at the same time
- `questions`       what is found and no rule decides: repetitions, contradictions, changes, events
- `tasks`           SleepTasks: what a model or a person decides
- `tending`         the next task with its context, and its decision
- `tasks_api`       `db.tasks`
- `health`          what is stale, contested, duplicate and orphaned, and where a graph grows
- `upkeep_api`      `db.upkeep`
- `schedule`        cycles of a server, at their times
- `cycle_report`    what a cycle did, found and left
"""

from mycel.upkeep.cycle import Cycle
from mycel.upkeep.cycle_report import CycleReport, StepReport
from mycel.upkeep.tending import Decided, OpenTask, decide_task, next_task

__all__ = [
    "Cycle",
    "CycleReport",
    "Decided",
    "OpenTask",
    "StepReport",
    "decide_task",
    "next_task",
]
