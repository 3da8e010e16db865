"""What the papers need, a folder for each: ``theory``, ``studies`` and ``claims``.

``theory`` is what the paper derives, numbers and arrays in and out. ``studies`` are grids and calls, no mathematics;
modules that several of them take begin with an underscore, and ``tasks`` serves all papers. ``claims`` are what the
paper says, what counts as reproduced, and the function of rows that measures it (``companion.book.claims``). A module
of studies or claims names its chapter; the designs of its studies lie beside the pages, in ``chapters/designs/``.
"""
