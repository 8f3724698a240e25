"""The bibliography: read by pybtex where the index is made."""

from ftheta.catalogue.bibliography import references


def test_a_line_has_surnames_title_and_year_without_latex():
    known = references()
    assert known["hairer1993"].startswith(
        "Hairer, Nørsett, Wanner, Solving Ordinary Differential Equations I"
    )
    assert "Peyré" in known["sander2022"] and known["sander2022"].endswith("2022")
    assert not [line for line in known.values() if set("{}\\$") & set(line)]
