"""What is known of models before they are asked."""

from datetime import date

import pytest

from deep_research.errors import SettingsError
from deep_research.models.base import TokenUsage
from deep_research.models.profiles import SMALLEST, Price, Profile, built_in, profile_of, read_profiles

PRICE = Price(input=1.0, output=10.0, cache_read=0.1, cache_write=1.25)


def test_every_profile_of_ours_can_be_read_and_is_dated():
    assert all(profile.as_of for profile in built_in().values())
    assert all(profile.output <= profile.context for profile in built_in().values())


@pytest.mark.parametrize(
    "name", ["openai:gpt-5", "openai:gpt-5-2025-08-07", "openai:gpt-5-latest", "openai:gpt-5@20250807"]
)
def test_a_dated_version_costs_what_the_model_costs(name):
    assert profile_of(name).price == built_in()["openai:gpt-5"].price


@pytest.mark.parametrize("name", ["openai:gpt-5-pro", "openai:gpt-5.3-codex", "openai:gpt-4o-audio-preview"])
def test_what_a_variant_costs_is_unknown_and_its_window_that_of_the_family(name):
    profile = profile_of(name)
    assert (profile.price, profile.as_of) == (None, None)
    assert profile.context > SMALLEST


def test_a_name_is_not_that_of_a_longer_word():
    assert profile_of("openai:gpt-50") == Profile()


def test_a_model_that_nothing_is_known_of_gets_what_nearly_every_server_can_do():
    assert profile_of("elsewhere:m") == Profile()


def test_what_a_user_says_of_a_model_stands_over_what_we_know_and_the_rest_stays():
    ours = built_in()["openai:gpt-5"]
    profile = profile_of("openai:gpt-5", {"openai:gpt-5": Profile(output=99)})
    assert profile == ours.model_copy(update={"output": 99})
    priced = profile_of(
        "openai:gpt-5-pro", {"openai:gpt-5-pro": Profile(price=PRICE, as_of=date(2026, 1, 1))}
    )
    assert (priced.price, priced.as_of, priced.context) == (PRICE, date(2026, 1, 1), ours.context)


def test_a_models_on_this_machine_cost_nothing():
    assert profile_of("ollama:qwen3:8b").price == Price(input=0, output=0)


def test_cached_and_written_input_and_thoughts_are_counted_once():
    usage = TokenUsage(
        input=1_000_000, cache_read=400_000, cache_write=200_000, output=100_000, reasoning=50_000
    )
    assert PRICE.of(usage) == pytest.approx(0.4 + 0.04 + 0.25 + 1.0)
    assert Price(input=1, output=10).of(usage) == pytest.approx(2.0)


def test_nothing_costs_less_than_nothing_or_more_than_the_most():
    odd = TokenUsage(input=10, cache_read=1_000_000)  # counted on top of the input
    assert PRICE.of(odd) == pytest.approx(0.1)
    full = TokenUsage(input=500, cache_write=500, output=70)
    assert PRICE.of(full) <= PRICE.most(500, 70)


def test_a_users_file_is_read(tmp_path):
    file = tmp_path / "models.toml"
    file.write_text('as_of = "2026-01-01"\n["ollama:qwen3"]\ncontext = 32768\nforms = ["schema"]\n')
    own = read_profiles(file)
    assert own["ollama:qwen3"].context == 32_768
    profile = profile_of("ollama:qwen3:8b", own)
    assert (profile.context, profile.forms, profile.price) == (32_768, ("schema",), Price(input=0, output=0))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no toml", "cannot be read"),
        ('["m"]\ncontxt = 1', "contxt"),
        ('["m"]\nforms = ["tools"]', "forms"),
        ('["m"]\nprice = { input = -1, output = 0 }', "price.input"),
        ('["m"]\nprice = { input = nan, output = 0 }', "price.input"),
        ('["m"]\nprice = { input = inf, output = 0 }', "price.input"),
        ('["m"]\ncontext = 1', "context"),
        ("m = 3", "no table"),
    ],
)
def test_a_users_file_that_is_wrong_says_where(tmp_path, text, says):
    file = tmp_path / "models.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=says) as caught:
        read_profiles(file)
    assert "models.toml" in str(caught.value)


def test_a_users_file_that_is_not_there_says_so(tmp_path):
    with pytest.raises(SettingsError, match="No such file"):
        read_profiles(tmp_path / "none.toml")


def test_a_model_file_that_is_nested_without_end_is_one_line(tmp_path):
    path = tmp_path / "models.toml"
    path.write_text("a = " + "[" * 100_000)
    with pytest.raises(SettingsError, match="cannot be read"):
        read_profiles(path)


def test_a_name_in_a_model_file_is_told_without_what_a_terminal_would_obey(tmp_path):
    path = tmp_path / "models.toml"
    path.write_text('["\\u001b[31mx"]\ncontext = 1\n')
    with pytest.raises(SettingsError) as caught:
        read_profiles(path)
    assert str(caught.value).isprintable()
