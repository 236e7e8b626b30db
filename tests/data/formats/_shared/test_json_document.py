"""JSON of other programs: what is wrong with it is named by file, line and place."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trilabel.data.formats._shared.json_document import Json, first_key, line_of
from trilabel.errors import TrilabelError

DOCUMENT = """\
{"images": [
  {"id": 1, "name": "a"},
  {"id": 2,
   "name": null},
  {"id": "3", "name": "c", "size": [1, 2.5]}
 ],
 "nested": {"list": [[1],
   {"deep": "x"}]}, "images2": []
}"""


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "a.json"
    path.write_text(DOCUMENT)
    return path


def refusal(action, file: Path) -> str:
    with pytest.raises(TrilabelError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(file), "FILE")


def test_values_inside(file):
    document = Json.read(file)
    images = document.item("images")
    assert images.column("name", str, "") == ["a", "", "c"] and Json.read(file).item("images2").column("id", int) == []
    assert [key for key, _ in document.item("nested", dict).items(list)] == ["list"]
    assert document.item("nested", dict).item("list").item(1, dict).get("deep", str) == "x"
    assert (
        images.item(2, dict).item("size").get(1, float) == 2.5 and images.item(2, dict).item("size").get(0, float) == 1
    )
    assert document.item("nothing", list, []).value == []


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda d: d.item("images").column("id", int), "FILE, line 5: images[2].id is \"3\", not a whole number"),
        (lambda d: d.item("images").column("name", str), "FILE, line 4: images[1].name is missing"),
        (lambda d: d.item("images").column("size", list), "FILE, line 2: images[0].size is missing"),
        (lambda d: d.item("annotations"), "FILE, line 1: annotations is missing"),
        (lambda d: d.get("nested", int),
         "FILE, line 7: nested is {\"list\": [[1], {\"deep\": \"x\"}]}, not a whole number"),
        (lambda d: d.item("nested", dict).item("list").item(1, dict).get("deep", float),
         "FILE, line 8: nested.list[1].deep is \"x\", not a number"),
        (lambda d: list(d.item("nested", dict).item("list").items()),
         "FILE, line 7: nested.list[0] is [1], not an object"),
        (lambda d: (_ for _ in ()).throw(d.error_at("is odd", "nested")), "FILE, line 7: nested is odd"),
    ],
)  # fmt: skip
def test_mistakes_are_pointed_at(file, action, message):
    assert refusal(lambda: action(Json.read(file)), file) == message


def test_nothing_inside_a_plain_value():
    assert line_of('\n{"a": "xyz"}', ("a", "b")) == 2 and line_of("\n5", ("a",)) == 2


def test_true_is_no_number(file):
    file.write_text('{"id": true, "share": false}')
    assert refusal(lambda: Json.read(file).get("id", int), file) == "FILE, line 1: id is true, not a whole number"
    assert refusal(lambda: Json.read(file).get("share", float), file) == "FILE, line 1: share is false, not a number"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b" \n", "FILE, line 1: the file is empty; export or copy it again"),
        (b'{"a": 1,\n "b" 2}', "FILE, line 2, column 6: damaged JSON (Expecting ':' delimiter)"),
        (b'{"a": 1,\n "b', "FILE, line 2: damaged JSON: cut short after 12 characters; export or copy it again"),
        (b'[{"a": 1},\n', "FILE, line 2: damaged JSON: cut short after 11 characters; export or copy it again"),
        (b'{"a":\n\n "x\xff"}', "FILE, line 3: not UTF-8 text; save it as UTF-8"),
        (b"[1]", "FILE, line 1: the document is [1], not an object"),
        (b"[" * 100_000, "FILE: damaged JSON (maximum recursion depth exceeded"),
        (b'{"a": ' + b"1" * 5000 + b"}", "FILE: damaged JSON (Exceeds the limit (4300 digits)"),
    ],
)
def test_damaged_documents(file, content, message):
    file.write_bytes(content)
    assert refusal(lambda: Json.read(file), file).startswith(message)


def test_byte_order_mark_and_other_names(file, tmp_path):
    file.write_bytes('\ufeff{"Größe, 鳥": ["ä"]}'.encode())
    assert Json.read(file).item("Größe, 鳥").value == ["ä"] and first_key(file) == "Größe, 鳥"
    assert refusal(lambda: Json.read(tmp_path / "x"), tmp_path / "x") == (
        "FILE: cannot be read (No such file or directory)"
    )


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200)
@given(VALUES, st.data(), st.sampled_from([None, 1]))
def test_the_line_of_a_value_is_where_it_stands(value, data, indent):
    """A mark put into any place of any document is found again in the line where it stands."""
    path, here = [], value
    while isinstance(here, list | dict) and here and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(range(len(here)) if isinstance(here, list) else list(here)))
        path.append(key)
        here, parent = here[key], here
    if not path:
        value = "MARK"
    else:
        parent[path[-1]] = "MARK"
    text = json.dumps(value, indent=indent)
    assert line_of(text, tuple(path)) == text[: text.index('"MARK"')].count("\n") + 1


@pytest.mark.parametrize(
    ("text", "key"),
    [('{ "a b" : 1}', "a b"), (" \n[1]", "["), ("{}", None), ("1", None), ("", None), ('{"\\"x": 1}', '\\"x')],
)
def test_first_key(tmp_path, text, key):
    (tmp_path / "a").write_text(text)
    assert first_key(tmp_path / "a") == key and first_key(tmp_path) is None


def test_brackets_inside_brackets_are_refused_in_a_line(tmp_path):
    file = tmp_path / "a.json"
    for text in ("[" * 1_000_000, '{"a":' * 1_000_000, "[" * 100_000 + "]" * 100_000):
        file.write_text(text)
        with pytest.raises(TrilabelError, match="damaged JSON") as caught:
            Json.read(file, list)
        assert "\n" not in str(caught.value)


def test_a_deep_value_in_the_wrong_place_is_named(tmp_path):
    """As deep as can be read at all: showing it must not fail either."""
    file = tmp_path / "a.json"
    for depth in (500, 900, 940, 960, 980):
        file.write_text('{"images": {"x": ' + "[" * depth + "]" * depth + "}}")
        with pytest.raises(TrilabelError) as caught:
            Json.read(file).item("images").get("x", str)
        assert "\n" not in str(caught.value)
