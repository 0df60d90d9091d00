"""JSON that is broken is read as it stands, or not at all."""

import json

import pytest

from deep_research.models.lenient_json import Lenient, lenient

READ = [
    (r'{"a": "C:\path"}', {"a": r"C:\path"}),
    (r'{"a": "C:\path\new\table", "b": 1}', {"a": r"C:\path\new\table", "b": 1}),
    (r'{"a": "C:\users\x"}', {"a": r"C:\users\x"}),
    (r'{"a": "C:\Users\u00e9"}', {"a": "C:\\Users\u00e9"}),
    (r'{"a": "\d+\.\w"}', {"a": r"\d+\.\w"}),
    (r'{"a": "$\alpha + \beta$"}', {"a": r"$\alpha + \beta$"}),
    (r'{"a": "snake\_case\nnext"}', {"a": "snake_case\nnext"}),
    (r'{"a": "C:\_x\path\$"}', {"a": r"C:\_x\path\$"}),
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


WHOLE = {
    "findings": [
        {"content": 'It is 24 m high: see "notes".', "sure": "high", "ids": ["S1", "S2"], "amount": 12.5},
        {"content": "It cost 12 million.", "sure": "low", "ids": ["S3"], "amount": None},
    ],
    "gaps": ["Who paid?", "When, and why?"],
    "note": "C:\\path \\d+",
    "n": 42,
}


def broken():
    """The same with each of its signs missing, or twice."""
    for indent in (None, 1):
        text = json.dumps(WHOLE, indent=indent)
        inside = False
        for place, sign in enumerate(text):
            escaped = text[place - 1] == "\\" and sign == '"'
            if (sign == '"' and not escaped) or (sign in "{}[],:" and not inside):
                yield text[:place] + text[place + 1 :]
                yield text[:place] + sign + text[place:]
            inside ^= sign == '"' and not escaped


def test_a_sign_that_is_missing_or_twice_changes_no_value():
    texts = list(broken())
    read = [lenient(text, 0) for text in texts]
    whole = [made.value for made in read if made is not None and made.cut is None]
    assert all(value == WHOLE for value in whole if value.keys() == WHOLE.keys())
    assert len(whole) >= 48  # of commas at least
    for made in read:
        assert made is None or all(made.value[name] == WHOLE[name] for name in made.value if name != made.cut)
