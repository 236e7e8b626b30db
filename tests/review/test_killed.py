"""The server is killed in the middle of a burst of answers, again and again: nothing acknowledged is missing."""

import http.client
import itertools
import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.review_cases import TOKEN, Servers
from trilabel.review.store import read_records

TIMES, PEOPLE, TOGETHER = 20, 4, 3


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    servers = Servers(tmp_path)
    yield servers
    servers.close()


class Person(threading.Thread):
    """Sends answers as fast as the server acknowledges them, until it is gone."""

    def __init__(self, servers: Servers, who: str, numbers: Iterator[int], acknowledged: set[tuple[str, int]]) -> None:
        super().__init__()
        self._host, self._who, self._numbers = servers.address.removeprefix("http://"), who, numbers
        self._acknowledged, self.enough, self.wanted = acknowledged, threading.Event(), 0

    def run(self) -> None:
        try:
            connection = http.client.HTTPConnection(self._host, timeout=60)
            connection.request("GET", f"/?token={TOKEN}")
            answer = connection.getresponse()
            answer.read()
            headers = {"Origin": f"http://{self._host}", "Content-Type": "application/json"}
            headers["Cookie"] = str(answer.getheader("set-cookie")).partition(";")[0]
            for sent, number in enumerate(self._numbers):
                if sent == self.wanted:
                    self.enough.set()
                places = [divmod((number * TOGETHER + one) % 3200, 4) for one in range(TOGETHER)]
                given = [{"row": row, "column": column, "value": 1} for row, column in places]
                body = json.dumps({"batch": f"b{number}", "sheet": "", "view": "grid", "answers": given})
                connection.request("POST", f"/by/{self._who}/answers", body, headers)
                answer = connection.getresponse()
                if answer.status == 200 and json.loads(answer.read())["saved"] == TOGETHER:
                    self._acknowledged.add((self._who, number))
        except (OSError, http.client.HTTPException, ValueError):  # it was killed
            pass
        finally:
            self.enough.set()


def test_nothing_that_was_acknowledged_is_missing(servers: Servers) -> None:
    numbers, acknowledged, draw = itertools.count(), set[tuple[str, int]](), random.Random(0)
    for time in range(TIMES):
        servers.start()
        people = [Person(servers, f"person-{number}", numbers, acknowledged) for number in range(PEOPLE)]
        people[0].wanted = draw.randrange(1, 12)
        for person in people:
            person.start()
        assert people[0].enough.wait(120)
        servers.kill()
        for person in people:
            person.join()
        stored = read_records(servers.store)
        batches = Counter((one.who, int(one.batch[1:])) for one in stored)
        assert acknowledged <= batches.keys(), f"lost at kill {time + 1}"
        assert set(batches.values()) <= {TOGETHER}  # all answers of a page or none
    assert len(acknowledged) >= TIMES
