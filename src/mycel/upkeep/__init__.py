"""Upkeep acts where a rule is certain; questions that need judgement become tasks.

- `cycle`           one sleep cycle: its steps in small transactions, its lock, its report
- `tiers`           short-term and long-term memory, and its fading strength
- `weights`         weights of links from their use
- `duplicates`      concepts that may be one
- `contradictions`  links that cannot hold at the same time
- `questions`       questions that no rule decides: repetitions, contradictions, changes, events
- `tasks`           SleepTasks, which a model or a person decides
- `tending`         the next task with its context, and its decision
- `tasks_api`       `db.tasks`
- `health`          stale, contested, duplicate and orphaned elements, and the growth of a graph
- `upkeep_api`      `db.upkeep`
- `schedule`        the times of the cycles of a server
- `cycle_report`    the report of a cycle
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
