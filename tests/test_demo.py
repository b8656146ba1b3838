import re

from caveat.__main__ import main


def test_the_demo_shows_uncertainty_repair_and_decision(capsys):
    main()
    text = capsys.readouterr().out
    assert "100 members x 540 samples x 10 classes" in text
    errors = [float(value) for value in re.findall(r"│ +([\d.]+)% │", text)]
    assert len(errors) == 10
    assert errors[0] == 0
    assert errors[-1] > 10
    assert "Use with a temperature" in text
    assert "accept" in text
