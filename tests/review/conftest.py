"""A small data set that is reviewed; tests do not change it."""

import pytest

pytest.importorskip("starlette", reason="trilabel review needs the extra [web]")
pytest.importorskip("uvicorn", reason="trilabel review needs the extra [web]")

from tests.support.review_cases import make_dataset
from trilabel.data.dataset import Dataset


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return make_dataset(tmp_path_factory.mktemp("photos"))
