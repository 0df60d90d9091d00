"""JSON that is broken is read as it stands, or not at all."""

import pytest

from deep_research.models.lenient_json import Lenient, lenient

READ = [
    (r'{"a": "C:\path"}', {"a": r"C:\path"}),
    (r'{"a": "C:\path\new\table", "b": 1}', {"a": r"C:\path\new\table", "b": 1}),
    (r'{"a": "C:\users\x"}', {"a": r"C:\users\x"}),
    (r'{"a": "C:\Users\u00e9"}', {"a": "C:\\Users\u00e9"}),
    (r'{"a": "\d+\.\w"}', {"a": r"\d+\.\w"}),
    (r'{"a": "$\alpha + \beta$"}', {"a": r"$\alpha + \beta$"}),
    (r'{"a": "snake\_case\nnext"}', {"a": "snake\\_case\nnext"}),
    (r'{"a": "it\'s", }', {"a": "it's"}),
    (r'{"a": "say \"\p\""}', {"a": r'say "\p"'}),
    ('{"a": "x" "b": "y"}', {"a": "x", "b": "y"}),
    ('{"a": 12 "b": 3}', {"a": 12, "b": 3}),
    ('{"a": true\n"b": [1, 2] "d": {"e": 1} "f": 2}', {"a": True, "b": [1, 2], "d": {"e": 1}, "f": 2}),
    ('{"a": ["x" "y", "z"]}', {"a": ["x", "y", "z"]}),
    ('{"a": [{"b": 1} {"b": 2}]}', {"a": [{"b": 1}, {"b": 2}]}),
    ('{"a": "He said "hello" to me", "b": 1}', {"a": 'He said "hello" to me', "b": 1}),
    ('{"a": "He said "hello"", "b": 1}', {"a": 'He said "hello"', "b": 1}),
    ('{"a": ""Hello" he said"}', {"a": '"Hello" he said'}),
    ('{"a": "She said "yes", then "no" and left"}', {"a": 'She said "yes", then "no" and left'}),
    ('{"a": "he said "yes: no" x", "b": 1}', {"a": 'he said "yes: no" x', "b": 1}),
    ('{"a": "see "#1" list", "b": 1}', {"a": 'see "#1" list', "b": 1}),
    ('{"a": ["he said "hi" there", "b"]}', {"a": ['he said "hi" there', "b"]}),
    ('{"a": ["5" x 3" board", "b"]}', {"a": ['5" x 3" board', "b"]}),
    ('{"a": "x", # note\n "b": 1}', {"a": "x", "b": 1}),
    ("{'a': 'it's', 'b': \"x\"}", {"a": "it's", "b": "x"}),
]


@pytest.mark.parametrize(("text", "value"), READ)
def test_what_is_mended_is_what_stands_there(text, value):
    assert lenient(text, 0) == Lenient(value)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 12 million}',
        '{"a": 12 million, "b": 1}',
        '{"a": [12 million]}',
        '{"a": [12,000, 5]}',
        '{"a": 12,000}',
        '{"a": 007}',
        '{"a": [1 2]}',
        '{"a": 12%}',
        '{"a": 1.5.2}',
        '{"a": "x" 12, "b": "y"}',
        '{"a": "x" b: 1}',
        '{"a" "b": 1}',
        '{"a": "5" pipe", "b": 1}',
        '{"a": "use {"k": "v", "w": 2} here", "b": 1}',
        '{"a": ["say "a", "b" now", "c"]}',
    ],
)
def test_what_can_be_read_in_two_ways_is_not_read(text):
    read = lenient(text, 0)
    assert read is None or (read.value, read.cut) == ({}, "a")


@pytest.mark.parametrize("value", [value for _, value in READ if len(value) > 1])
@pytest.mark.parametrize("size", range(1, 60))
def test_what_is_cut_is_not_completed(value, size):
    """Of the same texts, as far as they go: a field that is given is the one that was meant."""
    text = next(text for text, meant in READ if meant == value)
    read = lenient(text[:size], 0)
    if read is not None and size < len(text):
        for name, held in read.value.items():
            meant = value[name]
            assert held == (meant[: len(held)] if isinstance(meant, list) else meant)
