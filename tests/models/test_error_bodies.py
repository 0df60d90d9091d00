"""The words and figures of errors, whatever the shape of their bodies."""

from time import thread_time

import pytest

from deep_research.models.error_bodies import ErrorBody, limit_in, read_error, told_window
from deep_research.models.failures import from_status, is_too_long, limits_of

WORDS = "The model m is not served here."
BODIES = [
    WORDS,
    {"error": WORDS},
    {"error": {"message": WORDS, "code": 400}},
    {"detail": WORDS},
    {"detail": {"error": WORDS}},
    {"errors": [{"message": WORDS}]},
    [{"error": {"code": 400, "message": WORDS}}],
    [WORDS],
    {"Message": WORDS},
    {"ERROR": {"MESSAGE": WORDS}},
    {"error": {"message": {"en": WORDS, "de": "Anders."}}},
    {"error": {"message": {"fr": WORDS}}},
    {"error": {"error": {"message": WORDS}}},
    {"error": [WORDS]},
    {"object": "error", "message": WORDS, "code": 400},
    {"statusCode": 400, "message": [WORDS], "error": "Bad Request"},
    {"type": "about:blank", "title": "Bad Request", "detail": WORDS},
    {"error": "invalid_request", "error_description": WORDS},
    {"errorMessage": WORDS},
    {"fault": {"faultstring": WORDS, "detail": {"errorcode": "x"}}},
    f"<html><head><title>{WORDS}</title></head><body>More.</body></html>",
    f"<!DOCTYPE html><html><body><h1>{WORDS}</h1><p>nginx</p></body></html>",
    f"<html><body>{WORDS}</body></html>",
]


@pytest.mark.parametrize("body", BODIES, ids=str)
def test_the_words_are_found(body):
    assert read_error(body).message == WORDS


def test_a_field_that_is_refused_is_named_and_what_was_sent_is_not():
    item = {"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted", "input": "a prompt"}
    assert read_error({"detail": [item]}).message == "body.stream_options: Extra inputs are not permitted"


def test_what_the_service_behind_a_router_said_is_told():
    behind = {"raw": '{"error": {"message": "It is too hot."}}', "provider_name": "P"}
    error = {"error": {"message": "Provider returned error", "code": 400, "metadata": behind}}
    assert read_error(error) == ErrorBody("Provider returned error: It is too hot.", "400")


@pytest.mark.parametrize(
    "body",
    [None, 7, {}, [], {"error": None}, {"error": {"param": "a prompt"}}, {"input": "a prompt"}, "", "   "],
)
def test_what_has_no_words_for_a_reader_says_nothing(body):
    assert read_error(body).message == ""


@pytest.mark.parametrize("body", [{"error": "x" * 10_000_000}, [[[[[[[[["x"]]]]]]]]], "<" * 1_000_000])
def test_a_body_of_any_size_is_read(body):
    assert len(read_error(body).message) <= 20_000


TOO_LONG = [
    (
        "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens (5000 in"
        " the messages, 4000 in the completion)."
    ),
    (
        "The number of tokens to keep from the initial prompt is greater than the context length "
        "(n_keep: 5000>= n_ctx: 4096). Try to load the model with a larger context length, or provide a "
        "shorter input"
    ),
    (
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded "
        "with context length of only 4096 tokens, which is not enough."
    ),
    "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
    (
        "'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's maximum context length"
        " is 4096 tokens and your request has 5000 input tokens."
    ),
    (
        "'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's maximum context length"
        " is 4096 tokens and your request has 812 input tokens (4000 > 4096 - 812)."
    ),
    (
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure "
        "that `max_model_len` is no smaller than the number of text tokens."
    ),
    (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3900 "
        "`inputs` tokens and 500 `max_new_tokens`"
    ),
    "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
    (
        "Input length (5000 tokens) exceeds the maximum allowed length (4096 tokens). Use a shorter "
        "input or enable --allow-auto-truncate."
    ),
    "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
    (
        "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested "
        "a total of 5000 tokens: 4000 tokens from the input messages and 1000 tokens for the completion."
    ),
    "prompt is too long: 210000 tokens > 4096 maximum",
    (
        "input length and `max_tokens` exceed context limit: 199000 + 8000 > 4096, decrease input length"
        " or `max_tokens` and try again"
    ),
    "The input token count (1200000) exceeds the maximum number of tokens allowed (4096).",
    (
        "This endpoint's maximum context length is 4096 tokens. However, you requested about 5000 tokens"
        " (4000 of text input, 1000 in the output). Please reduce the length of either one"
    ),
    ("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 4096 maximum context length"),
    "too many tokens: total number of tokens in the prompt cannot exceed 4096 - received 5000.",
    (
        "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum "
        "tokens value that is lower than 4096."
    ),
    "This model's maximum prompt length is 4096 but the request contains 537812 tokens.",
    (
        "Token indices sequence length is longer than the specified maximum sequence length for this "
        "model (5000 > 4096)"
    ),
    "The prompt is too long: 5000, model maximum context length: 4096",
    "Prompt length 5000 is greater than max_seq_len 4096",
    "Context length 5000 is greater than max_seq_len 4096",
    "Requested tokens (5129) exceed context window of 4096",
    "prompt token count of 5000 exceeds the limit of 4096",
    "Invalid request: Your request exceeded model token limit: 4096",
    "Range of input length should be [1, 4096]",
    (
        "litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - This model's "
        "maximum context length is 4,096 tokens. However, your messages resulted in 5,000 tokens."
    ),
    ("Input tokens exceed the configured limit of 4096 tokens. Your messages resulted in 300000 tokens."),
    (
        "This model's maximum context length is 4096 tokens. However, you requested 0 output tokens and "
        "your prompt contains at least 4097 input tokens, for a total of at least 4097 tokens."
    ),
    "the prompt has 5000 tokens, but the context window is 4096 tokens",
    "Your prompt has 5000 tokens but this model only supports 4096 tokens of context length",
]


@pytest.mark.parametrize("message", TOO_LONG)
def test_the_window_is_read_from_the_words(message):
    error = from_status(400, message, model="m")
    assert is_too_long(error)
    assert limits_of(error) == (4_096, None)
    assert not error.data["maybe_billed"]


@pytest.mark.parametrize(
    "message",
    [
        "prompt too long; exceeded max context length by 1200 tokens",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "Please reduce the length of the messages or completion.",
        "The context length is exceeded (limit 12).",
    ],
)
def test_what_names_no_window_teaches_none(message):
    error = from_status(400, message, model="m")
    assert is_too_long(error)
    assert limits_of(error)[0] is None


@pytest.mark.parametrize(
    ("message", "longest"),
    [
        ("max_tokens is too large: 100000. This model supports at most 8192 completion tokens.", 8_192),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8_192),
        ("`max_tokens` must be less than or equal to `8192`, the maximum value for it", 8_192),
        ("max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for m", 8_192),
        ("Unsupported parameter: 'max_tokens' is not supported with this model.", None),
        ("Limit reached: 6000 tokens per minute.", None),
        ("temperature must be less than 2", None),
    ],
)
def test_other_limits_are_no_window(message, longest):
    error = from_status(400, message, model="m")
    assert not is_too_long(error)
    assert limits_of(error)[1] == longest
    assert limits_of(error)[0] is None


def test_the_window_is_read_from_a_field():
    body = {"error": {"code": 400, "message": "exceeds the available context size", "n_ctx": 4_096}}
    assert read_error(body).window == 4_096


@pytest.mark.parametrize(
    ("told", "window"),
    [
        ({"data": [{"id": "m", "max_model_len": 32_768}]}, (32_768, 8_192)),
        (
            {"data": [{"id": "x", "max_model_len": 512}, {"id": "m", "context_window": 16_000}]},
            (16_000, 8_000),
        ),
        (
            {
                "data": [
                    {
                        "id": "m",
                        "context_length": 65_536,
                        "top_provider": {"context_length": 32_768, "max_completion_tokens": 4_000},
                    }
                ]
            },
            (32_768, 4_000),
        ),
        ([{"id": "m", "context_length": 8_192}], (8_192, 4_096)),
        ({"data": [{"id": "served-alone", "max_context_length": "8192"}]}, (8_192, 4_096)),
        (
            {"data": [{"id": "m", "max_context_length": 131_072, "loaded_context_length": 4_096}]},
            (4_096, 2_048),
        ),
        ({"default_generation_settings": {"n_ctx": 4_096, "params": {}}, "total_slots": 1}, (4_096, 2_048)),
        ({"max_input_tokens": 3_000, "max_total_tokens": 4_096}, (4_096, 2_048)),
        ({"data": [{"id": "m"}]}, None),
        ({"data": [{"id": "a", "max_model_len": 512}, {"id": "b", "max_model_len": 512}]}, None),
        ({"data": [{"id": "m", "max_model_len": 10**12}]}, None),
        ({"data": [{"id": "m", "max_model_len": -1, "meta": {"n_ctx_train": 8_192}}]}, None),
        ({"data": "no"}, None),
        ("no", None),
        (None, None),
    ],
)
def test_the_window_is_read_from_what_servers_say_of_their_models(told, window):
    assert told_window(told, "m") == window


@pytest.mark.timed
@pytest.mark.parametrize("piece", ["123,", "1_000", "limit ", "n_ctx ", "9 > "])
def test_figures_are_looked_for_in_linear_time(piece, least):
    def ratio():
        spent = []
        for size in (2_000, 20_000):
            began = thread_time()
            limit_in((piece * size)[:size])
            spent.append(thread_time() - began)
        return spent[1] / max(spent[0], 0.002)

    assert least(40, ratio) < 40
