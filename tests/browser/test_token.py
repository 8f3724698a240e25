"""From the printed address to the page: the token, the cookie, and what those see who have neither."""

from playwright.sync_api import Browser, BrowserContext, expect

from .conftest import WINDOW
from .lab import Server, Tab
from .test_line import WIRE


def test_the_printed_address_opens_and_its_token_is_gone(
    context: BrowserContext, server: Server
) -> None:
    tab = Tab(context, server.address)
    tab.open("#/hat-function?iterates=3")
    assert tab.settle() == "shown"
    assert tab.page.url == f"{tab.url}/#/hat-function?iterates=3"
    (cookie,) = context.cookies()
    assert cookie.get("httpOnly") and cookie.get("sameSite") == "Strict"
    assert cookie.get("value", "") not in server.address
    tab.page.reload()
    assert tab.settle() == "shown"
    tab.page.goto(f"{server.address}#/max-network")  # again, by one who is known already
    assert tab.settle() == "shown" and tab.page.url == f"{tab.url}/#/max-network"
    assert "token" not in tab.page.evaluate(
        "() => performance.getEntries().map((entry) => entry.name).join()"
    )
    tab.assert_quiet()


def test_without_the_token_the_page_says_what_to_do(browser: Browser, server: Server) -> None:
    context = browser.new_context(**WINDOW)
    page = context.new_page()
    answer = page.goto(server.address.partition("?")[0])
    assert answer is not None and answer.status == 401
    expect(page.locator("body")).to_contain_text("open the address it printed")
    context.close()


def test_a_page_that_the_lab_no_longer_knows_says_so_and_goes_on_with_the_new_address(
    context: BrowserContext, server: Server
) -> None:
    """So it is when the lab was started again, with another token."""
    tab = Tab(context, server.address)
    tab.page.add_init_script(WIRE)
    tab.go("hat-function")
    context.clear_cookies()
    tab.page.evaluate("() => sockets.at(-1).close()")
    expect(tab.page.locator("#banner")).to_contain_text("started again")
    Tab(context, server.address).open()
    expect(tab.page.locator("#banner")).to_be_hidden()
    assert tab.go("hat-function", iterates=3) == "shown"
