"""2,000 of the mutated inputs that `make reliability` tries by the hundred thousand."""

import random
import sys

import pytest
from reliability.mutations import run_cases, summary
from reliability.mutators import mutate

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks and memory limits are of Unix")


def test_mutated_inputs_are_read_or_refused_in_one_line(tmp_path):
    found = run_cases(tmp_path, seed=0, cases=2000, workers=1)
    assert not [outcome for outcome in found if outcome.error]
    assert sorted(outcome.number for outcome in found) == list(range(2000))
    assert 0.3 < sum(outcome.refused for outcome in found) / len(found) < 0.99
    assert sum(row["tried"] for row in summary(found)) == 2000


@pytest.mark.parametrize("kind", ["", "json", "jsonl", "csv", "xml", "yaml", "npz", "safetensors", "gz", "png"])
def test_a_mutation_can_be_made_again(kind):
    content = b'{"a": [1, 2, {"b": "c"}], "name": "x"}\n<image name="1.jpg">1</image>\nimage,cat\n1.jpg,1\n'
    made = [mutate(content, kind, random.Random(number)) for number in range(50)]
    assert made == [mutate(content, kind, random.Random(number)) for number in range(50)]
    assert sum(one != content for one in made) > 40
