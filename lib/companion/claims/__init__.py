"""The claims of each chapter: what a paper says, what counts as reproduced, and the function of rows that measures it.

``companion.report.claims`` says how a claim is written.
"""
