"""The page in a real browser: each flow by hand and by key, hostile text, all widths, for everyone."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hostile_page import hostile
from view_ground import Client, furnish, learn, memory, served, wait_for

pytestmark = pytest.mark.browser

WAIT = 30
"""Seconds after which something that does not come is missing."""

VIEWS = ("now", "review", "time", "map")
WIDTHS = (60, 120, 240, 320, 390, 600, 800, 960, 1280, 1600)


class Browser:
    """Chromium, without a window, on the page of one repository."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def size(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def open(self, address: str, view: str) -> None:
        """Loads the page anew, and waits until a view is there."""
        self.driver.get("about:blank")
        self.driver.get(f"{address}#{view}")
        self.until(lambda: self.run("return document.getElementById('content').dataset.view") == view, view)
        self.until(lambda: " …" not in self.text("#content")[-40:], f"{view} is still being read")

    def run(self, script: str, *given: Any) -> Any:
        return self.driver.execute_script(script, *given)

    def count(self, selector: str) -> int:
        found: int = self.run("return document.querySelectorAll(arguments[0]).length", selector)
        return found

    def until(self, true: Callable[[], Any], what: str) -> Any:
        from selenium.common.exceptions import (
            ElementClickInterceptedException,
            StaleElementReferenceException,
            TimeoutException,
        )
        from selenium.webdriver.support.ui import WebDriverWait

        # The page follows memory: what was found may be drawn anew, or moved, before it is clicked.
        moved = [StaleElementReferenceException, ElementClickInterceptedException]
        waiting = WebDriverWait(self.driver, WAIT, 0.05, moved)
        try:
            return waiting.until(lambda _: true())
        except TimeoutException:
            raise AssertionError(f"{what}; the page says: {self.text('body')[:900]}") from None

    def text(self, selector: str) -> str:
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def shows(self, words: str, selector: str = "body") -> None:
        self.until(lambda: words in self.text(selector), f"{words!r} does not come")

    def click(self, words: str, selector: str = "button") -> None:
        """Clicks the first element that is shown and says just this."""
        script = """
        const found = [...document.querySelectorAll(arguments[0])].find((one) =>
          one.innerText.trim().startsWith(arguments[1]) && one.checkVisibility() && !one.disabled);
        found?.scrollIntoView({block: 'center', behavior: 'instant'});
        return found;
        """

        def clicked() -> bool:
            found = self.run(script, selector, words)
            if found is not None:
                found.click()
            return found is not None

        self.until(clicked, f"no {selector} {words!r} that can be clicked")

    def press(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def write(self, words: str) -> None:
        """Types into the dialog's field, in the place of what stands there."""
        field = self.until(
            lambda: self.run("return document.querySelector('dialog[open] textarea')"), "field"
        )
        field.clear()
        field.send_keys(words)

    @property
    def complaints(self) -> list[str]:
        return [one["message"] for one in self.driver.get_log("browser")]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    selenium = pytest.importorskip("selenium", reason="selenium is not installed: pip install selenium")
    assert selenium
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    program = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-browser"))), None)
    starter = shutil.which("chromedriver")
    if program is None or starter is None:
        pytest.skip("no chromium and chromedriver on PATH: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    profile = tmp_path_factory.mktemp("profile")
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", f"--user-data-dir={profile}"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options=options, service=Service(starter))
    yield made
    made.quit()


@pytest.fixture
def browser(driver: Any) -> Browser:
    found = Browser(driver)
    found.size(1280)
    assert isinstance(found.complaints, list)
    return found


@pytest.fixture
def client(repo: Path, gitmem) -> Iterator[Client]:
    furnish(repo, gitmem)
    with served(repo) as found:
        yield found


def names(gitmem: Any) -> set[str]:
    return {one["name"] for one in gitmem("list", "--json").json}


class TestNow:
    def test_what_is_learned_meanwhile_comes_by_itself(self, browser, client, repo) -> None:
        browser.open(client.page.url, "now")
        browser.shows("Learn when deploys go out")
        learn(
            repo,
            {"reviewer/ports.md": memory("ports", "The server listens on 8080.")},
            "Learn of ports",
            after=99_000,
        )
        browser.shows("Learn of ports")
        browser.shows("The server listens on 8080.")

    def test_a_suggestion_is_accepted_and_taken_back(self, browser, client, gitmem) -> None:
        browser.open(client.page.url, "now")
        browser.click("Accept", ".card button")
        browser.shows("accepted 1 suggestion", "#toast")
        assert "release-branch" in names(gitmem)
        browser.click("Undo", "#toast button")
        browser.shows("undid", "#toast")
        assert "release-branch" not in names(gitmem)
        browser.shows("release-branch", ".card")

    def test_a_suggestion_is_edited_and_rejected(self, browser: Browser, client: Client, gitmem) -> None:
        browser.open(client.page.url, "now")
        browser.click("Edit", ".card button")
        browser.write(memory("release-branch", "Releases are cut on Fridays."))
        browser.click("Accept", "dialog button")
        browser.shows("accepted 1 suggestion", "#toast")
        assert "cut on Fridays" in gitmem("show", "release-branch").out
        browser.until(lambda: "release-branch" not in browser.text(".card"), "the card stays")
        browser.click("Reject", ".card button")
        browser.shows("rejected 1 suggestion", "#toast")

    def test_a_change_is_undone_where_it_is_told(self, browser: Browser, client: Client, gitmem) -> None:
        browser.open(client.page.url, "now")
        browser.click("Undo", ".change:first-of-type .row button")
        browser.shows("undid", "#toast")
        assert "mine" not in names(gitmem)

    def test_what_prompts_were_told_and_why(self, browser: Browser, client: Client, gitmem) -> None:
        gitmem("recall", "which database do tests run against")
        browser.open(client.page.url, "now")
        browser.shows("no-mocks", "aside")
        browser.shows("shares", "aside")


class TestReview:
    def test_all_of_it_is_decided_by_keys(self, browser: Browser, client: Client, gitmem) -> None:
        """Two questions of a dream, a dispute and two suggestions: a key each, all carried out last."""
        before = gitmem("log", "--json").json
        browser.open(client.page.url, "review")
        for number, key in enumerate("dd1aa", 1):
            browser.shows(f"{number} of 5", ".card")
            browser.press(key)
        browser.shows("5 decisions", ".carry")
        assert gitmem("log", "--json").json == before, "nothing was written before it is carried out"
        browser.press("u")
        browser.shows("4 decisions", ".carry")
        browser.press("a", "c")
        browser.shows("Nothing waits for you")
        assert {"release-branch", "code-owners"} <= names(gitmem)
        assert gitmem("review", "--json").json == []

    def test_all_suggestions_at_once_and_one_undo(self, browser, client, repo, gitmem) -> None:
        wait_for(repo, *(f"fact-{n}" for n in range(12)))
        browser.open(client.page.url, "review")
        browser.click("suggestion", ".steps button")
        browser.press("A", "c")
        browser.shows("accepted 14 suggestions", "#toast")
        assert len([name for name in names(gitmem) if name.startswith("fact-")]) == 12
        browser.click("Undo", "#toast button")
        browser.shows("undid", "#toast")
        assert not [name for name in names(gitmem) if name.startswith("fact-")]

    def test_a_rejection_says_why_and_a_dream_is_edited(self, browser, client, gitmem) -> None:
        browser.open(client.page.url, "review")
        browser.click("suggestion", ".steps button")
        browser.press("R")
        browser.write("It was a joke.")
        browser.click("Reject", "dialog button")
        browser.press("k")
        browser.shows("You chose: reject (It was a joke.)", ".card")
        browser.press("k", "k", "k", "k", "k")
        browser.shows("1 of 5", ".card")
        browser.press("e")
        field = browser.until(
            lambda: browser.run("return document.querySelector('dialog[open] textarea')"), "field"
        )
        text = field.get_attribute("value")
        browser.write(f"{text}\nOne more thing.\n")
        browser.click("Keep", "dialog button")
        browser.until(lambda: "Why, should" in browser.text("#question"), "the question why")
        browser.click("Keep", "dialog button")
        browser.shows("the dream has your words now", "#toast")

    def test_what_moved_since_is_not_decided(self, browser: Browser, client: Client, gitmem) -> None:
        browser.open(client.page.url, "review")
        browser.click("suggestion", ".steps button")
        browser.run("document.dispatchEvent(new Event('visibilitychange'))")
        browser.press("a")
        id = next(one["id"] for one in gitmem("review", "--json").json if one["kind"] == "suggestion")
        gitmem("review", "reject", id, "-m", "no")
        browser.press("c")
        browser.until(
            lambda: browser.text("#toast") or "release-branch" not in browser.text(".review"), "an answer"
        )
        assert "release-branch" not in names(gitmem)


class TestTime:
    def test_the_past_is_shown_and_brought_back(self, browser, client, repo, gitmem) -> None:
        learn(
            repo,
            {"reviewer/build-time.md": memory("build-time", "The build takes five minutes.")},
            "Faster",
            after=99_000,
        )
        browser.open(client.page.url, "time")
        browser.shows("6 memories")
        slider = browser.run("return document.getElementById('slider')")
        from selenium.webdriver.common.keys import Keys

        slider.send_keys(Keys.HOME)
        browser.shows("3 memories")
        browser.shows("Learn how tests and builds go", ".moment")
        browser.click("build-time", ".rows button")
        browser.shows("nine minutes", ".pane")
        browser.shows("Ann (agent)", ".legend")
        browser.click("Restore this memory")
        browser.shows("would bring back build-time", "#question")
        browser.click("Restore", "dialog button")
        browser.shows("brought back", "#toast")
        assert "nine minutes" in gitmem("show", "build-time").out

    def test_it_opens_as_of_the_moment_that_was_asked_for(self, browser, repo, gitmem) -> None:
        furnish(repo, gitmem)
        first = [one for one in gitmem("log", "--json").json if one["scope"] == "project"][-1]["commit"]
        with served(repo, first) as client:
            browser.driver.get("about:blank")
            browser.driver.get(client.page.url)
            browser.shows("3 memories")
            browser.click("Now", ".when-bar button")
            browser.shows("6 memories")
            learn(repo, {"reviewer/ports.md": memory("ports", "The server listens on 8080.")}, after=99_000)
            browser.click("Map", "nav a")
            browser.shows("Nothing can leave")
            browser.click("Time", "nav a")
            browser.shows("7 memories")

    def test_a_memory_is_found_by_its_words(self, browser: Browser, client: Client) -> None:
        browser.open(client.page.url, "time")
        browser.run("return document.querySelector('.time input[type=search]')").send_keys("rollback")
        browser.shows("1 of 6 memories")


class TestMap:
    def test_names_and_links_are_drawn_and_listed(self, browser, client, repo) -> None:
        browser.open(client.page.url, "map")
        drawn = browser.run(
            "return [...document.querySelectorAll('svg .memory')].map((one) => one.lastChild.data)"
        )
        assert sorted(drawn) == ["build-takes", "build-time", "deploy-day", "mine", "no-mocks", "rollback"]
        wrong = browser.run(
            "return [...document.querySelectorAll('svg .wrong')].map((one) => one.lastChild.data)"
        )
        assert "deploy-day" in wrong
        assert browser.run("return document.querySelectorAll('.edges .links').length") == 1
        browser.shows("Nothing can leave this machine", ".leaving")

    def test_a_memory_is_edited_and_forgotten_where_it_is(self, browser, client, gitmem) -> None:
        browser.open(client.page.url, "map")
        browser.click("rollback", ".listing button")
        browser.click("Edit", "#sheet button")
        browser.write(memory("rollback", "Roll back with `make rollback`."))
        browser.click("Store", "dialog button")
        browser.shows("edited rollback", "#toast")
        assert "make rollback" in gitmem("show", "rollback").out
        browser.click("rollback", ".listing button")
        browser.click("Forget", "#sheet button")
        browser.click("Forget", "#question button")
        browser.shows("forgot rollback", "#toast")
        assert "rollback" not in names(gitmem)


@contextmanager
def canary() -> Iterator[tuple[int, list[str]]]:
    """A server that notes whoever asks it for anything: the page must not."""
    asked: list[str] = []

    class Note(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        do_POST = do_HEAD = do_OPTIONS = do_GET  # noqa: N815 - named by the library

        def log_message(self, *_: Any) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Note) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port, asked
        server.shutdown()
        thread.join()


class TestHostile:
    def test_nothing_of_forty_memories_runs_or_leaves(self, browser, repo, gitmem, tmp_path) -> None:
        gitmem("init", "-y")
        with canary() as (port, asked):
            texts = hostile(port)
            files = {
                f"reviewer/h{n}.md": memory(
                    f"h{n}", f"{text}\n\nSee [[h{n - 1}]] and `{text[:60]}`.", text.replace("\n", " ")
                )
                for n, text in enumerate(texts)
            }
            learn(repo, files, f"Learn {texts[8]}", who="Bob<img src=x onerror=window.ran=1>")
            for n, text in enumerate(texts):
                wait_for(repo, f"w{n}", body=text)
            gitmem("dream", "--force", "--scope", "project")
            gitmem("view", "--static", tmp_path / "page.html")
            with served(repo) as client:
                rows = client.read("memories")["rows"]
                assert len(rows) == 40
                for view in VIEWS:
                    browser.open(client.page.url, view)
                    self.unharmed(browser, view)
                browser.open(client.page.url, "time")
                browser.until(lambda: browser.count(".rows li") == 40, "all rows")
                for number in range(len(rows)):
                    browser.run("document.querySelectorAll('.rows button')[arguments[0]].click()", number)
                    name = rows[number]["name"]
                    browser.until(lambda name=name: browser.text(".pane h2") == name, name)
                browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
                self.unharmed(browser, "each memory")
                browser.open(client.page.url, "review")
                steps = browser.run("return document.querySelectorAll('.steps button').length")
                assert steps >= 40
                for _ in range(steps):
                    browser.press("j")
                self.unharmed(browser, "each step")
            for view in VIEWS:
                browser.open((tmp_path / "page.html").as_uri(), view)
                self.unharmed(browser, f"{view} of the file")
        assert asked == []

    @staticmethod
    def unharmed(browser: Browser, where: str) -> None:
        assert browser.run("return typeof window.ran") == "undefined", where
        assert browser.run("return typeof ({}).ran") == "undefined", where
        made = "iframe, object, embed, img, video, audio, form:not(dialog form), base, template"
        made += ", meta[http-equiv=refresh], #content :is(script, link, style, a[href^=j])"
        assert browser.count(made) == 0, where
        assert [one for one in browser.complaints if "Content Security Policy" in one] == [], where

    def test_the_file_is_read_only_and_whole(self, browser, repo, gitmem, tmp_path) -> None:
        furnish(repo, gitmem)
        gitmem("view", "--static", tmp_path / "page.html")
        address = (tmp_path / "page.html").as_uri()
        browser.open(address, "now")
        browser.shows("Deploys go out on Tuesdays.")
        browser.open(address, "review")
        browser.shows("1 of 3", ".card")
        browser.press("a", "c", "j")
        browser.shows("2 of 3", ".card")
        assert browser.run("return document.querySelectorAll('.carry, .card .row').length") == 0
        browser.open(address, "time")
        browser.click("no-mocks", ".rows button")
        browser.shows("mocks hid a broken migration", ".pane")
        browser.open(address, "map")
        browser.shows("deploy-day", ".listing")
        assert browser.complaints == []


class TestEverybody:
    @pytest.mark.parametrize("view", VIEWS)
    def test_it_fits_each_width(self, browser: Browser, client: Client, repo: Path, view: str) -> None:
        long = "a" * 300
        learn(
            repo,
            {"reviewer/long.md": memory("long", f"{long} {long}", long)},
            f"Learn {long}",
            after=99_500,
        )
        for width in WIDTHS:
            browser.size(width)
            browser.open(client.page.url, view)
            over = browser.run("return document.documentElement.scrollWidth - innerWidth")
            assert over <= 0, f"{view} is {over} pixels too wide at {width}"

    @pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
    @pytest.mark.parametrize("view", VIEWS)
    def test_axe_finds_nothing_serious(self, browser, client, view: str, dark: bool, gitmem) -> None:
        given = os.environ.get("GITMEM_TEST_AXE", "")
        if not given:
            pytest.skip("GITMEM_TEST_AXE names no axe.min.js of npm's axe-core")
        script = Path(given).read_text(encoding="utf-8")
        gitmem("recall", "which database do tests run against")
        for width in (390, 1280):
            browser.size(width, dark=dark)
            browser.open(client.page.url, view)
            if view == "time":
                browser.click("no-mocks", ".rows button")
                browser.shows("mocks hid", ".pane")
            if view == "review":
                browser.press("j", "k")
            self.judged(browser, script, f"{view} at {width}")
            if view == "map":
                browser.click("rollback", ".listing button")
                browser.shows("make back", "#sheet")
                self.judged(browser, script, "a memory")
                browser.click("Edit", "#sheet button")
                browser.until(
                    lambda: browser.run("return document.querySelector('#question[open]')"), "dialog"
                )
                self.judged(browser, script, "a dialog")

    @staticmethod
    def judged(browser: Browser, script: str, where: str) -> None:
        # By the protocol, which the page's policy does not hold for.
        browser.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": script})
        call = """axe.run(document, {resultTypes: ['violations']}).then((found) => JSON.stringify(
          found.violations.map((one) => [one.impact, one.id, one.nodes.map((node) => node.html)])))"""
        done = browser.driver.execute_cdp_cmd(
            "Runtime.evaluate", {"expression": call, "awaitPromise": True, "returnByValue": True}
        )
        found = json.loads(done["result"]["value"])
        assert [one for one in found if one[0] in ("serious", "critical")] == [], where

    def test_it_can_be_used_without_a_mouse(self, browser: Browser, client: Client, gitmem) -> None:
        from selenium.webdriver.common.keys import Keys

        browser.open(client.page.url, "now")
        browser.shows("Review 4")
        browser.shows("Accept")
        seen = []
        for _ in range(12):
            browser.press(Keys.TAB)
            seen.append(
                browser.run("return document.activeElement.innerText?.trim().split('\\n')[0] ?? ''")
            )
        assert seen[:5] == ["Skip to content", "Now", "Review 4", "Time", "Map"]
        assert "Accept" in seen
        browser.run("document.querySelector('.card button.strong').focus()")
        browser.press(Keys.ENTER)
        browser.shows("accepted 1 suggestion", "#toast")
