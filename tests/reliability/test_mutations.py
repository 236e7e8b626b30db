"""2,000 of the mutated inputs that `make reliability` tries by the hundred thousand."""

import random
import sys

import pytest
from reliability.__main__ import table, verdict
from reliability.memory import peak, start_peak
from reliability.mutations import run_cases, summary
from reliability.mutators import mutate

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks and memory limits are of Unix")


def test_mutated_inputs_are_read_or_refused_in_one_line(tmp_path):
    found = run_cases(tmp_path, seed=0, cases=1200, workers=1)
    assert not [outcome for outcome in found if outcome.error]
    assert sorted(outcome.number for outcome in found) == list(range(1200))
    assert 0.3 < sum(outcome.refused for outcome in found) / len(found) < 0.99
    whole, *parts = summary(found)
    assert whole["tried"] == sum(row["tried"] for row in parts) == 1200


@pytest.mark.parametrize("kind", ["", "json", "jsonl", "csv", "xml", "yaml", "npz", "safetensors", "gz", "png"])
def test_a_mutation_can_be_made_again(kind):
    content = b'{"a": [1, 2, {"b": "c"}], "name": "x"}\n<image name="1.jpg">1</image>\nimage,cat\n1.jpg,1\n'
    made = [mutate(content, kind, random.Random(number)) for number in range(50)]
    assert made == [mutate(content, kind, random.Random(number)) for number in range(50)]
    assert sum(one != content for one in made) > 40


@pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot start anew")
def test_the_memory_of_each_case_is_measured():
    def most(megabytes):
        before = start_peak()
        b"x" * (megabytes << 20)
        return (peak() - before) >> 20

    assert [most(each) > 90 for each in (200, 10, 200)] == [True, False, True]


def test_what_there_was_no_time_for_is_told():
    rows = [
        {"fault": "killed", "wanted": 200, "tried": 3, "lost": 1},
        {"fault": "killed: train", "tried": 3, "lost": 1},
    ]
    assert table({"rows": rows}).splitlines()[2:] == ["| killed | 200 | 3 | 1 |", "| killed: train |  | 3 | 1 |"]
    assert verdict({"rows": rows}) == (1, "1 lost; fewer than wanted, give it more minutes: killed (3 of 200)")
