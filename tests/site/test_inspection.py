"""The inspection finds what is wrong with a built site, and nothing else."""

import pytest

from website.inspection import inspect_site

GOOD = {
    "index.html": '<a href="theorems/a.html#here">a</a><a href="#top" id="top">t</a><a href="https://example.org/x">x</a>',
    "theorems/a.html": '<p id="here"><math></math></p>'
    '<figure><svg></svg></figure><img src="../p.svg"><a href="..">u</a>',
    "p.svg": "<svg></svg>",
}


def build(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return inspect_site(folder)


def test_a_good_site_has_no_faults(tmp_path):
    found = build(tmp_path, GOOD)
    assert found.faults == []
    assert (found.pages, found.links, found.formulas) == (2, 5, 1)
    assert "2 pages, 5 links, 1 formulas: 0 links broken" in found.describe()


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("missing.html", "leads to no file"),
        ("theorems/a.html#nowhere", "leads to no place"),
        ("#nowhere", "leads to no place"),
        ("../outside.html", "leads to no file"),
        ("/theorems/a.html", "leaves the site"),
        ("//cdn.example/x.js", "leaves the site"),
        ("https:///x", "names no host"),
        ("https://exa mple.org", "names no host"),
        ("javascript:alert(1)", "unknown scheme"),
        ("http://[bad", "is no address"),
    ],
)
def test_a_planted_broken_link_is_found(link, fault, tmp_path):
    found = build(tmp_path, GOOD | {"b.html": f'<a href="{link}">x</a>'})
    (told,) = found.broken
    assert told.startswith(f"b.html: {link}") and fault in told


def test_pictures_and_scripts_are_followed_too(tmp_path):
    found = build(
        tmp_path, GOOD | {"b.html": '<img src="gone.png"><script src="gone.js"></script>'}
    )
    assert len(found.broken) == 2


def test_unread_formulas_and_theorems_without_a_picture_are_counted(tmp_path):
    files = {
        "theorems/c.html": '<code class="unread">\\x</code><svg></svg>',
        "d.html": "<p>no picture is needed</p>",
    }
    found = build(tmp_path, GOOD | files)
    assert len(found.unread) == 1 and found.unread[0].startswith("theorems/c.html")
    assert found.without_picture == ["theorems/c.html: no picture"]
