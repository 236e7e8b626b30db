"""For all tests of metrics."""

import pytest
import torch


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Tests run in a process for each core; more threads would mostly wait for one another."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
