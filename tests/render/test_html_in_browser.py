"""The page in a real browser: small and large, light and dark, with and without scripts, for eyes and for ears."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attacks import ATTACKS
from browser import AXE, CHROMIUM, Page, browser
from report_samples import SAMPLES, diagnosed
from test_attacks import everywhere

from diagnoser.model import Report
from diagnoser.render import render

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium")

PAGES: dict[str, Callable[[], Report]] = {
    **SAMPLES,
    "attacked": lambda: everywhere(diagnosed(), " ".join(ATTACKS[name] for name in ATTACKS if "many" not in name)),
    "long words": lambda: everywhere(diagnosed(), "word_without_any_space" * 60),
}

OUTSIDE = """
[...document.querySelectorAll("body *")].filter(element => {
  if (element.closest("details:not([open])") || element.closest(".skip, title, script, style, .status")) return false;
  const box = element.getBoundingClientRect();
  return box.width && (box.right > innerWidth + 1 || box.left < -1);
}).map(element => element.outerHTML.slice(0, 120))
"""
OVERLAPPING = """
[...document.querySelectorAll("main, article, section, ol, ul, dl, svg.timeline")].flatMap(parent => {
  const parts = [...parent.children].filter(part => {
    const style = getComputedStyle(part), box = part.getBoundingClientRect();
    return style.position === "static" && box.height && part.tagName !== "line" && part.tagName !== "svg";
  });
  const clash = [];
  for (let i = 1; i < parts.length; i++) {
    const above = parts[i - 1].getBoundingClientRect(), below = parts[i].getBoundingClientRect();
    const across = Math.min(above.right, below.right) - Math.max(above.left, below.left);
    if (below.top < above.bottom - 1 && across > 1 && below.bottom > above.top + 1)
      clash.push(parts[i].outerHTML.slice(0, 120));
  }
  return clash;
})
"""


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    result = {}
    for name, report in PAGES.items():
        path: Path = folder / f"{name}.html"
        path.write_text(render(report(), "html"), encoding="utf-8")
        result[name] = path.as_uri()
    return result


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1280, 2560])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_outside_overlaps_loads_or_complains(
    page: Page, addresses: dict[str, str], name: str, width: int, scheme: str, scripts: bool
) -> None:
    page.show(addresses[name], width=width, scheme=scheme, scripts=scripts)

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate(OVERLAPPING) == []
    assert page.requests() == [addresses[name]]
    assert page.problems() == []


@pytest.mark.parametrize("name", PAGES)
def test_everything_can_be_opened_and_still_fits(page: Page, addresses: dict[str, str], name: str) -> None:
    page.show(addresses[name], width=390)
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")

    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate(OVERLAPPING) == []


@pytest.mark.skipif(AXE is None, reason="no axe-core: npm install --no-save axe-core, or its path in AXE_CORE")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_accessibility(page: Page, addresses: dict[str, str], name: str, scheme: str) -> None:
    assert AXE
    page.show(addresses[name], width=1280, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    page.evaluate(Path(AXE).read_text(encoding="utf-8"))
    found = page.evaluate(
        "axe.run().then(result => result.violations.map(item => [item.id, item.impact, item.nodes[0].html]))"
    )

    assert found == []


def test_commands_can_be_copied_with_the_keyboard(page: Page, addresses: dict[str, str]) -> None:
    page.show(addresses["diagnosed"], width=1280)
    page.evaluate("""
      window.copied = [];
      Object.defineProperty(navigator, "clipboard", {value: {writeText: text => (copied.push(text), Promise.resolve())}});
      document.querySelector("button.copy").focus();
    """)
    page.press("Enter")
    page.evaluate("document.querySelector('button.copy').click()")

    assert page.evaluate("copied[0]") == "vllm serve example-org/Example-8B-Instruct --tensor-parallel-size 2"
    assert (
        page.evaluate("new Promise(done => setTimeout(() => done(document.querySelector('.status').textContent), 200))")
        == "Copied"
    )


def test_steps_stay_checked_while_the_page_is_open(page: Page, addresses: dict[str, str]) -> None:
    page.show(addresses["diagnosed"], width=390)
    page.evaluate("document.querySelector('.steps label').click()")

    assert page.evaluate("[...document.querySelectorAll('.steps input')].map(box => box.checked)") == [True, False]


def test_the_page_reads_in_order_for_a_keyboard(page: Page, addresses: dict[str, str]) -> None:
    page.show(addresses["diagnosed"], width=1280)
    page.press("Tab")

    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("[...document.querySelectorAll('header, main, footer')].map(part => part.tagName)") == [
        "HEADER",
        "MAIN",
        "FOOTER",
    ]
    assert page.evaluate("[...document.querySelectorAll('[tabindex]')].filter(part => part.tabIndex > 0).length") == 0


def test_it_prints_on_two_pages(page: Page, addresses: dict[str, str]) -> None:
    import base64
    import re

    page.show(addresses["diagnosed"], width=1280)
    data = base64.b64decode(
        page.send("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True)["data"]
    )

    assert len(re.findall(rb"/Type\s*/Page\b", data)) == 2
