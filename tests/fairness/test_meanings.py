from caveat.fairness.meanings import MEANINGS


def test_titles_are_words():
    titles = [title for title, *_ in MEANINGS.values()]
    assert titles[0] == "Samples"
    assert all(title[1:] == title[1:].lower() or " " in title for title in titles)
