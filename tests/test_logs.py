from __future__ import annotations

import asyncio
import base64
import io
import json
import logging
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from deep_research.errors import UnknownNameError
from deep_research.logs import (
    MASK,
    bind,
    configure,
    get_log,
    masked,
    placeless,
    redact,
    redact_value,
    register_secret,
)

PASSWORD = "correct/horse+battery é staple"
register_secret(PASSWORD)
CANARY = "cAnArY0123456789abcdef"

# What is written, and the part of it that must not be seen.
SHAPES: dict[str, tuple[str, str]] = {
    "a registered value": (f"the password is {PASSWORD}!", PASSWORD),
    "base64 of it": (
        base64.b64encode(PASSWORD.encode()).decode(),
        base64.b64encode(PASSWORD.encode()).decode(),
    ),
    "url-encoded": (f"https://x.test/?q={quote(PASSWORD, safe='')}&n=1", quote(PASSWORD, safe="")),
    "a query value": (f"GET https://x.test/search?key={CANARY}&q=cats", CANARY),
    "a bearer header": (f"Authorization: Bearer {CANARY}", CANARY),
    "a known kind of key": (f"refused sk-ant-{CANARY}.", CANARY),
}


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """Every test leaves the loggers as it found them."""
    names = ("deep_research", "httpx", "httpx2", "httpcore")
    levels = {name: logging.getLogger(name).level for name in names}
    yield
    configure(None)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def printed(format: str, write: Callable[[], None], level: str = "debug") -> str:
    stream = io.StringIO()
    configure(level, format, stream)
    write()
    return stream.getvalue()


def only(text: str) -> dict[str, Any]:
    """The fields of the one JSON line."""
    (line,) = text.splitlines()
    fields: dict[str, Any] = json.loads(line)
    return fields


# --- silence -----------------------------------------------------------------------------------------------


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )


def test_importing_the_logs_imports_no_structlog() -> None:
    done = run_python("import sys, deep_research.logs; print('structlog' in sys.modules)")
    assert done.stdout.strip() == "False"


def test_an_unconfigured_log_prints_nothing_and_imports_no_structlog() -> None:
    done = run_python(
        "import sys\n"
        "from deep_research.logs import get_log, bind\n"
        "with bind(run='r'):\n"
        "    for level in ('debug', 'info', 'warning', 'error'):\n"
        "        getattr(get_log('x'), level)('event', field=1)\n"
        "print('structlog' in sys.modules)"
    )
    assert done.stdout.strip() == "False"
    assert done.stderr == ""


def test_a_host_that_configured_logging_sees_our_events() -> None:
    done = run_python(
        "import logging\n"
        "logging.basicConfig(level=logging.INFO, format='%(name)s %(levelname)s %(message)s')\n"
        "from deep_research.logs import get_log\n"
        "get_log('supervisor').info('phase started', attempt=0)\n"
        "get_log('supervisor').debug('not this')"
    )
    assert done.stderr == "deep_research.supervisor INFO phase started attempt=0\n"


def test_a_hosts_own_structlog_configuration_does_not_change_our_lines() -> None:
    done = run_python(
        "import logging, structlog\n"
        "structlog.configure(processors=[lambda *_: 1 / 0], wrapper_class=None, context_class=None)\n"
        "logging.basicConfig(level=logging.INFO, format='%(message)s')\n"
        "from deep_research.logs import get_log\n"
        "get_log('x').info('event', a=1)"
    )
    assert done.stderr == "event a=1\n"


def test_a_host_handler_gets_the_fields_beside_the_message(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), bind(run="deepres-1"):
        get_log("x").info("event", n=1)
    (record,) = caplog.records
    assert record.getMessage() == "event run=deepres-1 n=1"
    assert vars(record)["deep_research"] == {"event": "event", "run": "deepres-1", "n": 1}


def test_a_percent_sign_is_only_a_percent_sign(caplog: pytest.LogCaptureFixture) -> None:
    get_log("x").error("100 %s done %")
    assert caplog.messages == ["100 %s done %"]


# --- levels and formats ------------------------------------------------------------------------------------


def test_a_text_line_has_time_level_logger_event_and_fields() -> None:
    line = printed("text", lambda: get_log("gathering").info("found", count=3, title="Two words", ok=True))
    time, rest = line.rstrip("\n").split(" ", 1)
    assert time.endswith("Z")
    assert rest == 'info deep_research.gathering found count=3 title="Two words" ok=true'


def test_a_json_line_carries_the_same() -> None:
    fields = only(printed("json", lambda: get_log("gathering").warning("found", count=3, items=[1, "é"])))
    assert fields.pop("timestamp").endswith("Z")
    assert fields == {
        "event": "found",
        "level": "warning",
        "logger": "deep_research.gathering",
        "count": 3,
        "items": [1, "é"],
    }


def test_lines_below_the_level_are_not_printed() -> None:
    def write() -> None:
        for level in ("debug", "info", "warning", "error"):
            getattr(get_log("x"), level)(f"a {level}")

    lines = printed("text", write, level="warning").splitlines()
    assert [line.rsplit(" ", 1)[1] for line in lines] == ["warning", "error"]


def test_configuring_again_replaces_and_none_silences() -> None:
    first, second = io.StringIO(), io.StringIO()
    configure("info", stream=first)
    configure("info", stream=second)
    get_log("x").info("once")
    configure(None)
    get_log("x").info("never")
    assert first.getvalue() == ""
    assert second.getvalue().count("once") == 1
    assert "never" not in second.getvalue()


def test_lines_go_to_stderr_unless_told_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    configure()
    get_log("x").info("event")
    out, err = capsys.readouterr()
    assert out == ""
    assert "event" in err


def test_http_clients_do_not_print_their_addresses() -> None:
    logging.getLogger("httpcore").setLevel(logging.ERROR)
    configure("debug", stream=io.StringIO())
    assert logging.getLogger("httpx").level == logging.getLogger("httpx2").level == logging.WARNING
    assert logging.getLogger("httpcore").level == logging.ERROR


@pytest.mark.parametrize("given", [{"level": "loud"}, {"format": "xml"}])
def test_an_unknown_level_or_format_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UnknownNameError):
        configure(**given)


def test_a_module_may_give_its_own_name() -> None:
    text = printed("text", lambda: get_log("deep_research.store.sqlite").info("event"))
    assert " deep_research.store.sqlite event" in text
    assert " deep_research event" in printed("text", lambda: get_log("deep_research").info("event"))


def test_a_record_that_someone_else_wrote_is_printed_too() -> None:
    def write() -> None:
        logging.getLogger("deep_research.mine").info("plain %s token=%s", 1, CANARY)

    assert only(printed("json", write))["event"] == f"plain 1 token={MASK}"


@pytest.mark.parametrize("format", ["text", "json"])
def test_an_exception_is_one_line_with_its_traceback(format: str) -> None:
    def write() -> None:
        try:
            raise ValueError(f"api_key={CANARY}")
        except ValueError as error:
            get_log("x").error("failed", exc_info=error)

    (line,) = printed(format, write).splitlines()
    assert "Traceback" in line
    assert f"ValueError: api_key={MASK}" in line


def test_text_from_outside_forges_no_line_and_reaches_no_terminal() -> None:
    nasty = "a\n2020 info forged\r\x1b[31m\u202e\x85"
    (line,) = printed("text", lambda: get_log("x").info(nasty, title=nasty, **{nasty: 1})).splitlines()
    assert line.isprintable()


# --- what is bound -----------------------------------------------------------------------------------------


def test_bound_fields_are_on_every_line_inside_and_on_none_outside() -> None:
    def write() -> None:
        log = get_log("x")
        with bind(run="r", phase="planning"):
            with bind(phase="gathering"):
                log.info("inner")
            log.info("outer")
        log.info("after")

    lines = [line.split("deep_research.x ")[1] for line in printed("text", write).splitlines()]
    assert lines == ["inner run=r phase=gathering", "outer run=r phase=planning", "after"]


def test_a_fields_own_value_wins_over_the_bound_one() -> None:
    def write() -> None:
        with bind(phase="planning"):
            get_log("x").info("event", phase="analysis")

    assert only(printed("json", write))["phase"] == "analysis"


def test_runs_at_the_same_time_keep_their_own_fields() -> None:
    async def one(run: int) -> None:
        with bind(run=run):
            await asyncio.sleep(0)
            get_log("x").info("event", own=run)

    async def both() -> None:
        await asyncio.gather(*(one(run) for run in range(5)))

    for line in printed("json", lambda: asyncio.run(both())).splitlines():
        fields = json.loads(line)
        assert fields["run"] == fields["own"]


# --- secrets -----------------------------------------------------------------------------------------------


def as_event(secret: str) -> None:
    get_log("x").info(secret)


def as_field(secret: str) -> None:
    get_log("x").info("event", detail=secret)


def as_nested(secret: str) -> None:
    get_log("x").info("event", detail={"a": [{"b": (secret,)}], secret: 1})


def as_bound(secret: str) -> None:
    with bind(detail=secret):
        get_log("x").info("event")


def as_exception(secret: str) -> None:
    try:
        raise RuntimeError(secret)
    except RuntimeError:
        get_log("x").error("event", exc_info=True)


def as_object(secret: str) -> None:
    @dataclass
    class Thing:
        detail: str

    get_log("x").info("event", thing=Thing(secret), error=RuntimeError(secret), raw=secret.encode())


def as_foreign_record(secret: str) -> None:
    logging.getLogger("deep_research.other").info("detail %s", secret)


WAYS = [as_event, as_field, as_nested, as_bound, as_exception, as_object]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("way", [*WAYS, as_foreign_record])
@pytest.mark.parametrize("sink", ["text", "json"])
def test_no_secret_reaches_what_we_print(shape: str, way: Callable[[str], None], sink: str) -> None:
    written, secret = SHAPES[shape]
    found = printed(sink, lambda: way(written))
    assert found
    assert secret not in found
    assert json.dumps(secret)[1:-1] not in found


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("way", WAYS)
def test_no_secret_reaches_the_handlers_of_a_host(
    shape: str, way: Callable[[str], None], caplog: pytest.LogCaptureFixture
) -> None:
    written, secret = SHAPES[shape]
    with caplog.at_level(logging.DEBUG):
        way(written)
    (record,) = caplog.records
    assert secret not in caplog.text
    assert secret not in repr(vars(record))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("https://x.test/?a=1&api_key=abc&b=2", "https://x.test/?a=1&api_key=***&b=2"),
        ("https://x.test/?token=abc#part", "https://x.test/?token=***"),
        ("?key=abc", "?key=***"),
        ("X-Api-Key: abc, accept: */*", "X-Api-Key: ***, accept: */*"),
        ("x-goog-api-key=abc", "x-goog-api-key=***"),
        ("{'api_key': 'abc def', 'n': 1}", "{'api_key': ***, 'n': 1}"),
        ('{"password": "abc", "n": 1}', '{"password": ***, "n": 1}'),
        (r"{\"client_secret\": \"abc\"}", r"{\"client_secret\": ***}"),
        ('token="cut off in the midd', "token=***"),
        ("authorization: Basic dXNlcjpwYXNz rest", "authorization: *** rest"),
        ("Bearer abcdef12345 rest", "Bearer *** rest"),
        ("https://me:pass@x.test/", "https://me:***@x.test/"),
        ("sk-proj-abcdef0123456789", "***"),
        ("(tvly-abcdef0123456789)", "(***)"),
        ("AIzaSyA0123456789abcdefghijklmnopqrstu", "***"),
    ],
)
def test_secrets_are_known_by_their_names_and_looks(text: str, wanted: str) -> None:
    assert redact(text) == wanted
    assert redact(wanted) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "risk-adjusted returns and task-oriented dialogue",
        "max_tokens=4000 input_tokens: 5",
        "the token economy; a secret garden; the monkey=3",
        "https://x.test:8080/a/b?q=keys&page=2",
        "at 10:30 mail a@b.test",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


def test_values_under_a_secrets_name_are_hidden_whatever_they_are() -> None:
    names = [
        "api_key",
        "apiKey",
        "X-API-Key",
        "Authorization",
        "password",
        "client_secret",
        "token",
        "Cookie",
        "key",
    ]
    assert redact_value({name: [1] for name in names}) == dict.fromkeys(names, MASK)
    plain = {"tokens": 5, "max_tokens": 7, "sort_key": "rank", "monkey": 1, "api_key": None}
    assert redact_value(plain) == plain


def test_a_secret_inside_other_base64_is_found_too() -> None:
    for user in ("u", "us", "use", "user"):
        credentials = base64.b64encode(f"{user}:{PASSWORD}@".encode()).decode()
        found = redact(credentials)
        assert MASK in found
        assert len(found) < 20 < len(credentials)


def test_very_short_secrets_are_not_registered() -> None:
    register_secret("")
    register_secret("abc")
    assert redact("abc") == "abc"


@given(
    st.text(st.characters(exclude_categories=[]), min_size=4, max_size=40),
    st.text(max_size=10),
    st.text(max_size=10),
)
@hypothesis_settings(deadline=None)
def test_a_registered_secret_is_never_in_redacted_text(secret: str, before: str, after: str) -> None:
    from deep_research import secret_values

    registry = secret_values.Secrets(secret_values.encodings(secret))
    if "*" in secret:
        return
    for form in (secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], quote(secret, errors="surrogatepass")):
        assert form not in registry.hide(f"{before}{form}{after}")


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner),
    max_leaves=20,
)


@given(json_like)
@hypothesis_settings(deadline=None)
def test_anything_becomes_json_and_redacting_twice_changes_nothing(value: Any) -> None:
    once = redact_value(value)
    json.dumps(once, allow_nan=False)
    assert redact_value(once) == once


def test_values_that_fight_back_do_not_break_a_line() -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    loop: list[Any] = []
    loop.append(loop)
    deep: Any = "end"
    for _ in range(500):
        deep = [deep]
    fields = only(
        printed(
            "json",
            lambda: get_log("x").info(
                "event", a=Hostile(), b=loop, c=deep, d=10**5000, e=float("nan"), f="\ud800"
            ),
        )
    )
    assert fields["a"] == "<Hostile>"
    assert fields["d"] == "<int>"
    assert fields["e"] == "nan"


@pytest.mark.parametrize(
    "piece", ["token", "api-", "a-", "key=", "bearer ", '"', "://a:", "sk-", "\\", "authorization:"]
)
def test_a_long_text_is_searched_in_linear_time(piece: str, seconds: Callable[..., float]) -> None:
    def cost(size: int, bound: float) -> float:
        text = piece * (size // len(piece))
        return seconds(bound, lambda: redact(text))

    bound = 30 * cost(50_000, 0) + 0.1
    assert cost(400_000, bound) < bound


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        (
            "[Errno 2] No such file or directory: '/tmp/My notes/a b.cfg'",
            "[Errno 2] No such file or directory: '…/a b.cfg'",
        ),
        ("The database /usr/share/runs.db is locked.", "The database …/runs.db is locked."),
        ('File "/usr/lib/x.py", line 3', 'File "…/x.py", line 3'),
        ("a=/usr/lib/;b (/etc/passwd)", "a=…/lib;b (…/passwd)"),
        ("file:///usr/lib/x is gone", "file://…/x is gone"),
        ("404 for /v1/chat/completions at https://example.org/usr/lib", None),
        ("no /usr, 3/usr/lib, and/or", None),
    ],
)
def test_paths_of_the_machine_are_left_out_but_for_their_last_name(told, kept):
    assert placeless(told) == (told if kept is None else kept)


@pytest.mark.parametrize("part", ["0123456789", "abcdef0123", "proj-abcd"])
@pytest.mark.parametrize(
    "key", ["sk-proj-abcdef0123456789", "hf_proj-abcdef0123456789xyz", "Bearer proj-abcdef0123456789/xy.z123"]
)
def test_a_longer_key_that_holds_a_registered_value_is_masked_whole(key: str, part: str) -> None:
    register_secret(part)
    told = redact(f"with {key}, twice")
    assert told == redact(told)
    assert not set(re.findall(r"[a-z0-9]{4,}", told)) - {"with", "twice", "earer"}


def test_a_registered_key_is_masked_when_it_is_read_backwards() -> None:
    register_secret("canary-5f1d0c77")
    for key in ("canary-5f1d0c77", "CANARY-5F1D0C77"):
        assert redact(f"key {key[::-1]}!") == "key ***!"
        assert masked(f"key {key[::-1]}!") == "key ***!"
