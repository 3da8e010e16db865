"""Training as a stream of states: every solver yields :class:`~regimes.training.state.State`, ``run`` follows them.

- :mod:`regimes.training.gradient_flow`: the flow of any model under any loss; of one hidden ReLU layer by exact
  rotations, of other models by linearly implicit steps (:mod:`regimes.training.gauss_newton`).
- :mod:`regimes.training.kernel_flow`: the flow of a frozen kernel.
- :mod:`regimes.training.optimise`: gradient descent, momentum, Adam.

The caller sets the stopping rules, see :mod:`regimes.training.run`.
"""
