"""LSEP: against plain loops over all pairs."""

from hypothesis import given, settings

from tests.oracles import losses as oracle
from tests.support.loss_cases import assert_same, batches
from trilabel.losses import lsep

quick = settings(max_examples=80, deadline=None)


@quick
@given(batches())
def test_lsep_is_the_plain_loop(batch):
    assert_same(lsep, oracle.lsep, batch)
