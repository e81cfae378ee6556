"""A person at the page to try a model, in a real browser without a screen: `PYTHON try_page_browser.py`.

Each line of standard input is a JSON list of what they do, [["open", URL], ["fill", GROUP, LABEL, TEXT],
["click", NAME]…]; the line that comes back is what they see then, by the ids of the page, and what the
browser complained of. Run by the Python of the environment with Playwright; the browser is Debian's.
"""

import json
import shutil
import sys

from playwright.sync_api import expect, sync_playwright

SEEN = ("title", "about", "inputs", "took", "answer", "curl")
PATIENCE_MS = 60_000


def act(page, what, *words):
    """One thing that a person does."""
    if what == "open":
        page.goto(words[0])
        expect(page.locator("#about")).not_to_have_text("Asking the server…")
    elif what == "fill":
        part = page.get_by_role("group", name=words[0]) if words[0] else page
        part.get_by_label(words[1]).fill(words[2])
    elif what == "click":
        page.get_by_role("button", name=words[0]).click()
        expect(page.get_by_role("button", name=words[0])).to_be_enabled()


def seen(page):
    """The text of each part that can be seen, and what the fields have."""
    parts = {name: page.locator(f"#{name}") for name in SEEN}
    told = {name: part.inner_text() for name, part in parts.items() if part.is_visible()}
    told["fields"] = [[label.inner_text().strip(), label.locator("input, textarea").input_value()]
                      for label in page.locator("label").all()]
    told["bad"] = page.locator("#answer").get_attribute("class") == "bad"
    return told


def main():
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page, complaints = browser.new_page(), []
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if "Content Security" in said.text else None)
        for line in sys.stdin:
            for what in json.loads(line):
                act(page, *what)
            print(json.dumps(seen(page) | {"title_bar": page.title(), "complaints": complaints}), flush=True)
        browser.close()


main()
