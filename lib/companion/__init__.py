"""The companion to five papers on lazy and feature learning, on top of the engine ``regimes``.

The packages form layers, listed here from the bottom up; each imports only from its own, those below and the engine.
"""

import sys

# nbformat imports jsonschema, and that a grammar of addresses which takes a second to compile, in every process that
# reads a notebook. No notebook asks for it, and jsonschema does without where it is not there.
sys.modules.setdefault("rfc3987_syntax", None)
# nor does jupytext need a server of notebooks to read one
for name in ("sync", "async"):
    sys.modules.setdefault(f"jupytext.{name}_contentsmanager", None)

LAYERS = {
    "estimates paths data": "estimates with intervals, the book's folders, images and photographs",
    "papers.*.theory": "what each paper derives: numbers and arrays in and out",
    "lab studies": "studies and their cells: grids, store, provenance, parameters, plans, command lines",
    "papers.tasks papers.*.studies": "the studies of each paper: grids and calls, no mathematics",
    "book papers.*.claims fetch describe": "claims, verdicts, figures; full data sets; a chapter's parameters",
    "runner site __main__": "running a chapter; the pages of the book",
}
