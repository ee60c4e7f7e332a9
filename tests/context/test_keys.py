"""Keys of lore: text, whole words in every script, and expressions that cannot hang."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wrappers import book, put, request

from ovstore.context import keys
from ovstore.context.keys import Haystack, Way

WORDS = Way()
PARTS = Way(whole_words=False)


def occurs(key: str, text: Haystack, way: Way) -> bool:
    return keys.ready(key, way).occurs(text)


TEXTS = {"Maine": "Maine ain't it", "AI": "the AI said", "C++": "I know C++ well", "axb": "axb"}


@pytest.mark.parametrize(
    ("key", "fires"), [("AI", {"AI"}), ("C++", {"C++"}), ("a.b", set()), ("ain", {"Maine"}), ("axb", {"axb"})]
)
def test_a_key_is_text_and_ends_where_a_word_ends(key: str, fires: set[str]) -> None:
    assert {name for name, text in TEXTS.items() if occurs(key, Haystack.of([text]), WORDS)} == fires


@pytest.mark.parametrize(
    ("key", "text", "found"),
    [
        ("AI", "用AI写", True),
        ("AI", "用 AI 写", True),
        ("AI", "用BAI写", False),
        ("龙", "红龙来了", True),
        ("東京", "東京都に行く", True),
        ("학교", "학교에서", True),
        ("แมว", "มีแมวดำ", True),
        ("a.b", "see a.b now", True),
        ("a.b", "see xa.by now", False),
        ("#word", "a #word b", True),
        ("#word", "a #words b", False),
        ("C++", "C++11", True),
        (".NET", "in .NET 8", True),
        ("naïve", "a naïve idea", True),
        ("naïve", "a nai\u0308ve idea", True),
        ("na", "naïve", False),
        ("na", "nai\u0308ve", False),
        ("café", "cafés", False),
        ("STRASSE", "die Straße", True),
        ("two words", "those two words.", True),
        ("two words", "two wordsmiths", False),
        ("ключ", "ключи", False),
        ("ключ", "этот ключ.", True),
        ("AI", "AI_1", False),
        ("  AI ", "the AI", True),
        ("", "anything", False),
        (" ", "any thing", False),
    ],
)
def test_words_end_by_the_rules_of_their_script(key: str, text: str, found: bool) -> None:
    assert occurs(key, Haystack.of([text]), WORDS) is found


def test_without_whole_words_a_part_of_a_word_is_enough() -> None:
    assert occurs("AI", Haystack.of(["Maine"]), PARTS)


def test_case_counts_only_where_it_is_asked_for() -> None:
    assert occurs("ai", Haystack.of(["the AI"]), WORDS)
    assert not occurs("ai", Haystack.of(["the AI"]), Way(case_sensitive=True))


def test_a_key_does_not_reach_from_one_message_into_the_next() -> None:
    assert not occurs("red dragon", Haystack.of(["red", "dragon"]), WORDS)


@pytest.mark.parametrize(
    ("key", "text", "found"),
    [
        ("/dr[ae]gon/i", "a DREGON", True),
        ("/dr[ae]gon/", "a DREGON", False),
        (r"/\bfog\b/", "foggy", False),
        (r"/a\/b/", "a/b", True),
        (r"/\u9f99/", "龙", True),
        ("/a.b/s", "a\nb", True),
        ("/^b$/m", "a\nb", True),
        ("/usr/bin/", "in /usr/bin/ lies", True),
    ],
)
def test_a_key_between_slashes_is_an_expression(key: str, text: str, found: bool) -> None:
    assert occurs(key, Haystack.of([text]), WORDS) is found


def test_with_use_regex_every_key_is_an_expression() -> None:
    way = Way(use_regex=True)
    assert occurs("a.b", Haystack.of(["AXB"]), way)
    assert not occurs("a.b", Haystack.of(["AXB"]), Way(use_regex=True, case_sensitive=True))


@pytest.mark.parametrize("pattern", ["/(a+)+$/", "/(a|aa)+$/", "/(.*)*x/", "/(a*)*b/", "/([a-z]+)*\\d/"])
def test_no_expression_hangs(pattern: str) -> None:
    hay = Haystack.of(["a" * 100_000 + "!"])
    start = time.perf_counter()
    occurs(pattern, hay, WORDS)
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("pattern", ["/(?=a)b/", r"/(a)\1/", "/(a/", "/((a{1,99}){1,99}){1,99}/", f"/{'a' * 2001}/"])
def test_an_expression_that_cannot_be_used_never_matches_and_says_why(pattern: str) -> None:
    assert not occurs(pattern, Haystack.of(["ab aa (a"]), WORDS)
    assert keys.ready(pattern, WORDS).fault


def test_the_assembly_warns_of_keys_that_never_match() -> None:
    lore = {"uid": "1", "content": "x", "keys": ["/(a/", "fog"]}
    context = put(request(worldbooks=[book(lore)], history=[{"id": "u", "role": "user", "content": "(a"}]))
    assert len(context.warnings) == 1 and '"/(a/" of book/1' in context.warnings[0]


def test_without_the_extra_expressions_never_match_and_the_way_to_get_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def gone(name: str) -> None:
        raise ImportError(name)

    keys.ready.cache_clear()
    keys.all_ready.cache_clear()
    monkeypatch.setattr(keys, "import_module", gone)
    assert not occurs("/fog/", Haystack.of(["fog"]), WORDS)
    assert "ovstore[lore]" in keys.ready("/fog/", WORDS).fault
    assert occurs("fog", Haystack.of(["fog"]), WORDS)
    keys.ready.cache_clear()


@given(st.text("ab.+*?()[]/\\ ", min_size=1).filter(str.strip), st.text("xy ", max_size=5))
def test_a_key_that_is_no_expression_is_found_in_itself(key: str, around: str) -> None:
    if keys.pattern_of(key, WORDS) is None:
        assert occurs(key, Haystack.of([f"{around} {key} {around}"]), WORDS)


@given(
    st.text("aBc_1'+#- .", min_size=1, max_size=6),
    st.lists(st.text("aBc_1'+#- .", max_size=8), max_size=3),
    st.booleans(),
    st.booleans(),
)
def test_what_is_looked_up_by_words_is_what_a_search_would_find(
    key: str, texts: list[str], case_sensitive: bool, whole_words: bool
) -> None:
    text, found = Haystack.of([*texts, key]), keys.ready(key, Way(case_sensitive, whole_words))
    for said in (text, Haystack.of(texts)):
        assert found.occurs(said) == found.occurs(replace(said, words=None))


@pytest.mark.parametrize(
    ("key", "text", "found"),
    [
        (r"/\u9f99/", "龙", True),
        (r"/\u{1F600}/u", "😀", True),
        (r"/\ud83d\ude00/", "😀", True),
        (r"/[\u4e00-\u9fff]{2}/", "用龙", True),
        (r"/\\u0041/", "A", False),
        (r"/\\u0041/", r"\u0041", True),
    ],
)
def test_javascripts_escapes_of_characters_are_understood(key: str, text: str, found: bool) -> None:
    assert occurs(key, Haystack.of([text]), WORDS) is found
    assert not keys.ready(key, WORDS).fault
