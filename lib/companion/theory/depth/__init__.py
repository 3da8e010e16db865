"""Depth: what the normalised infinite-width ReLU kernel does as layers are added.

``rate`` (how fast pairs go to 1/4), ``regression`` (predicting with a kernel matrix), ``spectrum`` (smallest
eigenvalue, projectors, the projection operator), ``pairs`` (closest points on a sphere), ``sigmoid_kernel`` (the kernel
eta), ``embedding`` (inverse stereographic projection), ``hidden_motion`` (what training does to a network),
``deep_limit`` (depth as a ridge), ``universality`` (other layers).
"""
