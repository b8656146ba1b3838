import re

from caveat.__main__ import main


def test_the_demo_shows_that_errors_grow_with_uncertainty(capsys):
    main()
    text = capsys.readouterr().out
    assert "100 members x 899 samples x 10 classes" in text
    errors = [float(value) for value in re.findall(r"([\d.]+)%", text)]
    assert len(errors) == 10
    assert errors[0] == 0
    assert errors[-1] > 10
