"""Depth: the normalised infinite-width ReLU kernel as layers are added.

``rate`` (the rate at which pairs approach 1/4), ``regression`` (with a kernel matrix), ``spectrum`` (smallest
eigenvalue, projectors, the projection operator), ``pairs`` (closest points on a sphere), ``sigmoid_kernel`` (the kernel
eta), ``embedding`` (inverse stereographic projection), ``hidden_motion`` (the last hidden layer in training),
``last_layer`` (that layer of a finite width above infinite ones), ``deep_limit`` (depth as a ridge), ``universality``
(other layers), ``finite`` (kernels of finite networks), ``degrees`` (eigenvalues on a sphere).
"""
