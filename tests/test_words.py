"""What the library says can be said again in other words."""

import copy
import json
import pickle

from kakuran.words import Phrase

FOUND = Phrase("{steps:,} steps from {start}", steps=1_234, start=Phrase("a {odd} table", odd="{}"))


def test_a_phrase_is_the_text_it_makes():
    assert FOUND == "1,234 steps from a {} table"
    assert json.dumps([FOUND]) == '["1,234 steps from a {} table"]'


def test_a_phrase_and_those_in_it_are_said_in_other_words_where_there_are_any():
    words = {"{steps:,} steps from {start}": "{start}から {steps:,} 歩", "a {odd} table": "表 {odd}"}
    assert FOUND.said_with(words) == "表 {}から 1,234 歩"
    assert FOUND.said_with({}) == FOUND


def test_a_copy_still_knows_what_it_was_made_of():
    for again in (copy.deepcopy(FOUND), pickle.loads(pickle.dumps(FOUND))):
        assert again == FOUND
        assert again.said_with({"a {odd} table": "{odd}"}) == "1,234 steps from {}"
