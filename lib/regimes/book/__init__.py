"""The book around the studies: chapters' figures and claims, the ledger, pages and their looks."""

import sys

# nbformat imports jsonschema, and that a grammar of addresses which takes a second to compile, in every process that
# reads a notebook. No notebook asks for it, and jsonschema does without where it is not there.
sys.modules.setdefault("rfc3987_syntax", None)
