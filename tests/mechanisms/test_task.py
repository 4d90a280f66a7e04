"""What a method is asked for, and the last look at what it made."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from oneoff.errors import BadValue, Defect, UnreachableGuarantee
from oneoff.mechanisms.partitioning import burel, hilbert, mondrian, packing
from oneoff.mechanisms.served import refuse_unknown, refuse_unreachable
from oneoff.mechanisms.task import Task, finish, task_of
from oneoff.models import Joined, KAnonymity, LDiversity, Model
from oneoff.models.limits import ANYBODY
from oneoff.plans import Partition
from oneoff.table import Attribute, Table


def task(model: Model) -> Task:
    """Six people, three with each of two values."""
    age, disease = Attribute("age", "numeric", np.arange(6)), Attribute("s", "numeric", np.arange(2))
    values = np.array([0, 0, 0, 1, 1, 1], dtype=np.int32)
    return task_of("some method", Table((age,), np.arange(6, dtype=np.int32)[:, None], disease, values), model)


def test_values_are_those_the_limits_count() -> None:
    about_values = task(Joined((LDiversity(2), KAnonymity(3))))
    assert about_values.counts(np.array([0, 1, 5])).tolist() == [2, 1]
    assert about_values.limits.least_size == 3
    about_identity = task(KAnonymity(3))
    assert about_identity.limits == ANYBODY.with_least_size(3)
    assert about_identity.counts(np.array([0, 1, 5])).tolist() == [3]


def test_groups_that_keep_the_promise_are_a_plan() -> None:
    plan = finish(task(LDiversity(2)), np.array([0, 1, 1, 0, 1, 1], dtype=np.int32), ("a note",))
    assert plan.groups == 2
    assert plan.notes == ("a note",)


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ([0, 0, 1, 0, 1, 1], "some method made a group that breaks l-diversity:2"),
        ([0, 1, 1, 0, 1], "some method left somebody without a group"),
        ([0, 1, -1, 0, 1, 1], "some method left somebody without a group"),
    ],
)
def test_anything_else_is_a_defect(group: list[int], message: str) -> None:
    with pytest.raises(Defect, match=message):
        finish(task(LDiversity(2)), np.array(group, dtype=np.int32))


def test_refusals_say_what_is_possible() -> None:
    with pytest.raises(UnreachableGuarantee, match="not even as one group"):
        refuse_unreachable(task(LDiversity(3)).table, LDiversity(3))
    with pytest.raises(BadValue, match="unknown effort; allowed: fast, best; got: 'heroic'"):
        refuse_unknown("effort", "heroic", {"fast": 1, "best": 2})


@pytest.mark.parametrize("method", [burel, hilbert, mondrian, packing])
def test_no_method_groups_a_table_that_cannot_keep_the_promise(method: Callable[[Table, Model], Partition]) -> None:
    with pytest.raises(UnreachableGuarantee, match="the table cannot keep l-diversity:3, not even as one group"):
        method(task(LDiversity(3)).table, LDiversity(3))
