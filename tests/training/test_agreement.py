"""All processes learn at the same step that one of them wants to save or stop."""

from types import SimpleNamespace

from tests.support.two_processes import agree
from trilabel.training.agreement import Agreement


def test_one_process_is_asked_alone():
    agreement = Agreement(SimpleNamespace(count=1))
    assert [agreement.any(here, wait) for here in (True, False) for wait in (True, False)] == [True, True, False, False]
    assert not agreement.finish()


def test_two_processes_get_the_same_answer_one_step_later_or_at_once_where_they_wait(in_two):
    steps = [(0, 0, False), (1, 0, False), (0, 0, False), (0, 0, False), (0, 1, True), (0, 0, False), (1, 0, False)]
    expected = [False, False, True, False, True, False, False]
    assert in_two(agree, steps) == [expected, expected]
