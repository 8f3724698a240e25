"""Who may speak to the lab."""

from urllib.parse import quote

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from ftheta.lab.guard import SHORTEST, Door, token_of
from ftheta.lab.serve import address_of
from ftheta.logic import UsageError

from .clients import TOKEN, Site


@pytest.mark.parametrize(
    "name", ["127.0.0.1:8417", "localhost:8417", "LOCALHOST:8417", "[::1]:8417"]
)
def test_the_lab_goes_by_the_names_of_this_machine(name):
    assert Door("127.0.0.1", 8417, TOKEN).knows(name)


@pytest.mark.parametrize(
    "name",
    ["", "evil.example:8417", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8417.evil.example", "127.0.0.1.evil.example:8417",
     "192.168.1.5:8417", "[::1]", "localhost:8417@evil.example", "localhost:", "0.0.0.0:8417"],
)  # fmt: skip
def test_it_goes_by_no_other(name):
    assert not Door("127.0.0.1", 8417, TOKEN).knows(name)


def test_where_every_address_is_served_bare_addresses_are_known_and_names_are_not():
    door = Door("0.0.0.0", 8417, "secret")
    assert (
        door.knows("192.168.1.5:8417")
        and door.knows("[fe80::1]:8417")
        and not door.knows("rebound.example:8417")
    )
    assert Door("lab.example", 80, TOKEN).knows("lab.example")
    assert not Door("lab.example", 81, TOKEN).knows("lab.example")


def test_the_address_holds_theorem_subject_and_token():
    assert address_of(Door("127.0.0.1", 1, "a&b#c"), None) == "http://127.0.0.1:1/?token=a%26b%23c"
    assert (
        address_of(Door("::1", 1, "t"), "adam", given=True)
        == "http://[::1]:1/?token=t#/adam?subject=given"
    )


def test_another_name_is_refused(site: Site):
    answer = site.get("/api/catalogue", Host="evil.example")
    assert answer.status == 421 and answer.json["error"]["remedy"]
    assert site.ask("GET", "/", Host=f"localhost:{site.port}").status == 200


@pytest.mark.parametrize(
    "origin", ["", "null", "http://evil.example", "https://127.0.0.1", "http://127.0.0.1"]
)
def test_what_comes_from_another_site_is_refused(site: Site, origin):
    assert site.post("/api/export?format=py", b"{}", Origin=origin).status == 403
    assert site.post("/api/subjects?name=a.npz", b"", Origin=origin).status == 403
    wanted: dict = {"origin": origin} if origin else {}
    wanted["additional_headers"] = {"Cookie": site.cookie}
    with (
        pytest.raises(InvalidStatus) as refused,
        connect(f"ws://127.0.0.1:{site.port}/ws", **wanted),
    ):
        pass
    assert refused.value.response.status_code == 403


def test_a_page_of_another_site_cannot_even_read(site: Site):
    assert site.get("/api/catalogue", Origin="http://evil.example").status == 403


def test_every_answer_carries_the_rules_for_browsers(site: Site):
    for path in ("/", "/api/catalogue", "/nowhere", "/static/nowhere.js"):
        headers = site.get(path).headers
        rules = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
        assert (
            rules["default-src"]
            == rules["frame-ancestors"]
            == rules["base-uri"]
            == rules["form-action"]
            == "'none'"
        )
        assert (
            rules["script-src"] == rules["connect-src"] == "'self'"
            and "unsafe" not in rules["style-src"]
        )
        assert (
            headers["x-content-type-options"] == "nosniff"
            and headers["referrer-policy"] == "no-referrer"
        )
        assert (
            headers["cross-origin-opener-policy"]
            == headers["cross-origin-resource-policy"]
            == "same-origin"
        )
        assert "server" not in headers
    assert site.get("/", Host="evil.example").headers["content-security-policy"]


@pytest.mark.parametrize(
    "path", ["/static/", "/static", "/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/%00",
             "/static//etc/passwd", "/static/fonts/../../../running.py", "/etc/passwd", "/static/vendor/"]
)  # fmt: skip
def test_only_the_files_of_the_page_are_served(site: Site, path):
    answer = site.get(path)
    assert (
        answer.status in (307, 404) and b"import" not in answer.body and b"root:" not in answer.body
    )


def test_the_page_its_scripts_and_its_fonts_are_served(site: Site):
    page = site.get("/")
    assert page.status == 200 and page.headers["content-type"].startswith("text/html")
    script = site.get("/static/vendor/vega.min.js")
    assert script.status == 200 and script.headers["content-type"].startswith("text/javascript")
    font = site.get("/static/fonts/ftheta-math.woff2")
    assert font.status == 200 and font.headers["content-type"] == "font/woff2"


def test_a_token_is_made_and_one_that_can_be_guessed_is_refused():
    made = {token_of(None) for _ in range(20)}
    assert len(made) == 20 and all(len(token) >= 32 for token in made)
    assert token_of("x" * SHORTEST) == "x" * SHORTEST
    for weak in (
        "",
        " ",
        "short",
        "x" * (SHORTEST - 1),
        "two words in it",
        "line\nline\n",
        "\x00" * 20,
    ):
        with pytest.raises(UsageError, match="token"):
            token_of(weak)
    with pytest.raises(ValueError, match="open to everybody"):
        Door("127.0.0.1", 1, "")


_PATHS = (
    "/",
    "/api/catalogue",
    "/api/subjects",
    "/api/thumbnail/hat-function",
    "/static/main.js",
    "/nowhere",
    "/ws",
)
_WRONG = ("", "wrong", TOKEN.lower(), f"{TOKEN} ", TOKEN[:-1], "é", "%00", "\x80")


@pytest.mark.parametrize("path", _PATHS)
def test_nothing_opens_without_the_token(site: Site, path):
    stranger = Site(site.port, token="")
    name = Door("127.0.0.1", site.port, TOKEN).cookie
    assert stranger.get(path).status == 401
    assert stranger.post(path, b"{}").status == 401
    for wrong in _WRONG:
        assert stranger.get(path, Cookie=f"{name}={wrong}").status == 401
        assert stranger.get(f"{path}?token={quote(wrong)}").status == 401
    # the cookie holds something else
    assert stranger.get(path, Cookie=f"{name}={TOKEN}").status == 401
    # in the address of the page alone
    assert path == "/" or stranger.get(f"{path}?token={TOKEN}").status == 401


def test_no_conversation_and_no_upload_opens_without_the_token(site: Site):
    stranger = Site(site.port, token="")
    with pytest.raises(InvalidStatus), stranger.tab():
        pass
    for path in (
        "/api/subjects?name=a.npz",
        "/api/export?format=py",
        f"/api/subjects?name=a.npz&token={TOKEN}",
    ):
        assert stranger.post(path, b"{}").status == 401


def test_the_printed_address_gives_a_cookie_and_loses_its_token(site: Site):
    stranger = Site(site.port, token="")
    entered = stranger.get(f"/?token={TOKEN}")
    cookie = entered.headers["set-cookie"]
    assert entered.status == 303 and entered.headers["location"] == "/"
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and TOKEN not in cookie
    value = cookie.split(";")[0]
    assert stranger.get("/", Cookie=value).status == 200
    assert stranger.get("/", Cookie=f"a=1; {value}").status == 200
    for token in (
        TOKEN,
        "of-another-lab",
    ):  # who is known is not kept out, and the token goes all the same
        again = stranger.get(f"/?token={token}", Cookie=value)
        assert (again.status, again.headers["location"]) == (303, "/")


def test_a_browser_without_the_token_is_told_in_words(site: Site):
    told = Site(site.port, token="").get("/", Accept="text/html,*/*")
    assert told.status == 401 and told.headers["content-type"].startswith("text/html")
    assert "address it printed" in told.body.decode() and "script" not in told.body.decode()
