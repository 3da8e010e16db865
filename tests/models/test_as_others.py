"""What the library's own page shows to users of other libraries, run as it stands there."""

import doctest

from tests.references import ROOT

PAGE = ROOT / "lib" / "README.md"
OTHERS = ("neural-tangents", "torch.func", "laplace-torch", "curvlinops", "nngeometry")


def test_the_snippets_of_the_page_give_what_it_says():
    text = PAGE.read_text(encoding="utf-8").replace("\n```", "\n")  # a fence is no output
    found = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(found)
    assert runner.summarize(verbose=False).failed == 0 and len(found.examples) >= 30


def test_each_library_has_its_snippet_and_its_row():
    text = PAGE.read_text(encoding="utf-8")
    for name in OTHERS:
        assert f"**{name}**: " in text and f"| {name} | " in text
