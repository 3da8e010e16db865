"""The constants of a step, each a share of the tolerance or a plain number.

The effects of other values were measured on eight flows, ``1e-12 <= alpha <= 1e4``.
"""

# Where the hinge bends in a step
SLACK = 0.1  # this share of the tolerance above 1, so that training ends with m >= 1

# The error that a step is allowed
MARGIN_SHARE = 15.0  # margins may err by this multiple of the tolerance where multipliers change
EARLY_SHARE = 0.4  # and by this one as long as fewer than EARLY of the points are satisfied
EARLY = 0.2  # steps are few until then, and they hold t*

# The length of the next step
FIRST_TURN, FIRST_MOVE = 0.05, 0.1  # the first one: largest rotation of a neuron, largest change of a margin
SAFETY = 0.9  # of the length that would just be accepted
GROW, SHRINK = 1.5, 0.2  # bounds of the change of the length
REFUSED = 0.7  # the least that a refused step is shortened by
REACH = 3.0  # largest rotation of a step: margins grow at most exp(2 REACH)-fold

# The implicit equations: how exactly they are solved
KKT = 0.3  # accepted error, in margins, as a share of the tolerance
EXACT = 1e-3  # of KKT: how exactly each pass is solved for the multipliers; less, and they tell how they were reached
DEFINITE = 4.0  # rounding errors by which a Gram matrix's diagonal is raised, which keeps it definite
ROUNDS = 8  # forward passes before the step is refused

# The implicit equations: the band, the points whose multipliers are solved for together
BAND = 5.0  # tolerances around the corner within which a point belongs to it from the first pass
APART = 1.0  # tolerances: nearer to the corner a point is on it, and its crossings are not timed
LARGE_BAND = 1024  # points above which those merely near stay out, and those that cross go to a bound first

# The refusal of a step before it is solved
HOPELESS = 50.0  # a violation by this multiple of what margins may err is not worth a large linear system
FAR = 4.0  # a correction by this multiple of it neither; a step whose rounds ran out counts as one that errs so

# The memory of the implicit equations
SYSTEM = 8  # matrices of float64 held at once (measured: up to 7.1)
LARGE = 2**28  # bytes from which it is asked whether they are free
