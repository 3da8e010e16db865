"""What a reader may hand in by mistake gets one line that says what is wrong; legal extremes get the right value."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from companion.papers.alignment.theory import data, egop, free_probability, predictions
from companion.papers.compression import theory as compression
from companion.papers.compression.theory import Stripe, learning_curves, neuron
from companion.papers.depth.theory import (
    deep_limit,
    embedding,
    hidden_motion,
    pairs,
    rate,
    regression,
    sigmoid_kernel,
    spectrum,
    universality,
)
from companion.papers.jamming.theory import jamming
from companion.papers.kernel_pca.theory import harmonics, norm, sectors
from companion.papers.one_step.theory import (
    bounds,
    conditional_map,
    convex_theory,
    fit_readout,
    kernel_baseline,
    network,
    readout_values,
    ridge_theory,
    row_covariance,
    several_steps,
)
from companion.papers.one_step.theory import spectrum as eigenvalues
from companion.papers.one_step.theory.functions import FUNCTIONS, function
from regimes import gaussian
from regimes.data import datasets, tasks
from regimes.kernels import infinite_ntk, ntk, relu_asymptotics, relu_recursion, wide_one_hidden_ntk
from regimes.measures import information
from regimes.measures import spectrum as spectra
from regimes.measures.errors import wrong
from regimes.measures.lazy import lazy, tangent_predictor, wide_lazy
from regimes.models import losses, one_hidden
from regimes.models.activations import activation
from regimes.models.fully_connected import fully_connected
from regimes.training import kernel_flow
from regimes.training.gradient_flow import gradient_flow
from regimes.training.optimise import optimise
from regimes.training.state import after, satisfied
from regimes.validate import InputError
from tests import quadrature
from tests.cases import for_each, refused

NAN, INF = math.nan, math.inf


def t(*values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype)


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


X = normal(6, 4)
UNIT = X / X.norm(dim=-1, keepdim=True)
GRAM = infinite_ntk(UNIT, depth=3)
ROUND_OFF = torch.diag(torch.tensor([1.0] * 9 + [5e-14], dtype=torch.float64))  # which grows with the size of a matrix
Y = t(1.0, -1, 1, -1, 1, -1)
HOLED = X.clone()
HOLED[0, 0] = NAN
NETS = one_hidden.one_hidden(4, 20, seeds=[0, 1])
TASK = tasks.stripe(8, 4, seed=[0, 1])
TEST = tasks.stripe(5, 4, seed=[2, 3])
STRIPE = Stripe((-0.3, 1.2), 4)
POINT = STRIPE.attractors()[0]
NEURONS = neuron.Neurons(normal(5, 4).numpy(), normal(5, seed=1).numpy(), normal(5, seed=2).numpy())
DEEP, PAIR = (fully_connected([4, 8, outputs], seeds=[0, 1]) for outputs in (1, 2))
ONE = network.one_step("tanh", "sin", d=6, p=5, n0=8, step=1.0, seeds=[0, 1])
X0 = ONE.batch[0][0].numpy()
Y0 = ONE.batch[1][0].numpy()
THETA = ONE.theta[0].numpy()
CHANNEL = conditional_map.channel(FUNCTIONS["tanh"], FUNCTIONS["sin"], r=1.0, c=1.0, gamma=1.0)
RATIOS = {"alpha": 2.0, "beta": 1.0, "lam": 0.1}
SETTING = RATIOS | {"r": 1.0}
POOL = tasks.Task(normal(20, 5), torch.ones(20), "a pool")


def of(task, **changed):
    return dataclasses.replace(task, **changed)


def spiked(**changed):
    return network.spiked_features(**{"d": 6, "p": 5, "r": 1.0, "c": 1.0, "gamma": 1.0, "seeds": [0]} | changed)


def curve(**changed):
    return network.learning_curve("tanh", "sin", ONE, **{"alphas": [1.0], "lam": 0.1, "seeds": [0, 1]} | changed)


def batch(activation="tanh", **changed):
    given = RATIOS | {"x0": X0, "y0": Y0, "theta": THETA, "step": 1.0} | changed
    return row_covariance.predict_network(activation, "sin", **given)


def solved(activation="tanh", target="sin", **changed):
    return ridge_theory.solve(activation, target, **SETTING | changed)


def learnt(**changed):
    given = {"width": 4, "seed": 0, "optimiser": "gd", "parametrisation": "ntk", "steps": [1]}
    return hidden_motion.learn(torch.eye(4).double(), torch.full((4, 4), 0.25).double(), **given | changed)


def step(net=DEEP, x=X, y=Y, **changed):
    return next(optimise(net, x, y, **{"rate": 0.1} | changed))


BAD = {
    "kernels": [
        (lambda: infinite_ntk(X, depth=0), "depth must be"),
        (lambda: infinite_ntk(X, depth=10**308), "depth must be a whole number from 1 to 1e"),
        (lambda: infinite_ntk(X, depth=torch.tensor([1, 2])), "depth must be a whole number"),
        (lambda: infinite_ntk(X, depth=3, bias=NAN), "bias must be"),
        (lambda: infinite_ntk(X[:, :0], depth=3), "x must be float64 points"),
        (lambda: infinite_ntk(X[:0], depth=3), "x must be float64 points"),
        (lambda: infinite_ntk(X.float(), depth=3), "x must be float64 points"),
        (lambda: infinite_ntk(X.tolist(), depth=3), "x must be a torch tensor or a NumPy array"),
        (lambda: infinite_ntk(HOLED, depth=3), "non-finite"),
        (lambda: infinite_ntk(X.clone().requires_grad_(), depth=3), "asks for a gradient"),
        (lambda: relu_recursion.kernel_of_angle(t(4.0), 3), "phi must hold float64 angles from 0 to π"),
        (lambda: relu_recursion.kernel_of_angle(t(-1.0), 3), "phi must hold float64 angles from 0 to π"),
        (lambda: relu_recursion.kernel_of_angle(t(NAN), 3), "phi must hold finite numbers"),
        (lambda: relu_recursion.kernel_of_angle(1.0, 3), "phi must be an array"),
        (lambda: relu_recursion.along_depth(t(1.0), [3, 2]), "depths must be a strictly increasing"),
        (lambda: relu_recursion.along_depth(t(1.0), []), "depths must be a strictly increasing"),
        (lambda: relu_recursion.along_depth(t(1.0), [0]), "depth must be a whole number from 1 to 1e"),
        (lambda: relu_recursion.along_depth(t(1.0), [1.5]), "depth must be a whole number from 1 to 1e"),
        (lambda: relu_recursion.offset(t(-1.0)), "phi must hold float64 angles from 0 to π"),
        (lambda: relu_asymptotics.abel(t(3.0)), "phi must lie between 0 and 0.06"),
        (lambda: relu_asymptotics.abel(t(0.0)), "phi must lie between 0 and 0.06"),
        (lambda: relu_asymptotics.jump(t(2.0), t(1.0), 3), "phi must lie between 0 and 0.06"),
        (lambda: relu_asymptotics.jump(t(0.01), t(1.0), -1), "layers must be"),
        (lambda: ntk(NETS, X.float()), r"x must be inputs \(p, 4\) or \(2, p, 4\) in torch.float64"),
        (
            lambda: ntk(NETS, X, X.float()),
            r"z must be inputs \(p, 4\) or \(2, p, 4\) in torch.float64, got \(6, 4\) in torch.float32",
        ),
        (lambda: ntk(NETS, HOLED), "x must hold finite numbers"),
        (lambda: ntk(DEEP, X, HOLED), "z must hold finite numbers"),
        (lambda: ntk(NETS, X[None].expand(3, -1, -1)), "x must hold 2 realisations, one a network, got 3"),
        (lambda: ntk(NETS, X, params={"W1"}), "params must be some of omega, b, beta"),
        (lambda: ntk(DEEP, X, params={"b1"}), "params must be some of W1, W2"),
        (lambda: ntk(DEEP, X, params={"W2"}, memory=0), "memory must be"),
        (lambda: ntk(NETS, torch.ones(10**6, 4).double()), r"a kernel of shape \(2, 1000000, 1000000\) would take"),
        (lambda: ntk(PAIR, X), "a network with one output is needed here, this one has 2"),
        (lambda: wide_one_hidden_ntk(HOLED), "x must hold finite numbers"),
        (lambda: wide_one_hidden_ntk(X[0]), "x must have shape"),
    ],
    "models": [
        (lambda: activation("gelu"), "activation must be one of relu, tanh, erf, quadratic, linear, swish"),
        (lambda: activation(["relu"]), "activation must be one of"),
        (lambda: activation("sign"), "activation sign has no derivative to train with"),
        (lambda: activation("swish", steepness=0.0), "steepness must be a number from 0.001 to 1000"),
        (lambda: activation("swish", steepness=NAN), "steepness must be a number from"),
        (lambda: activation("tanh", steepness=2.0), "steepness is that of the swish alone, got 2.0 for tanh"),
        (lambda: one_hidden.one_hidden(4, 5, seeds=None), "seeds must be"),
        (lambda: NETS(X[:, :3]), "x must be inputs"),
        (lambda: NETS(3.0), "x must be a torch tensor or a NumPy array of real numbers, got a float"),
        (lambda: NETS(TASK.x[[0, 1, 1]]), "x must hold 2 realisations"),
        (lambda: NETS.tangents(X.float()), "x must be inputs"),
        (lambda: NETS.with_parameters([NETS.omega, NETS.b[:1], NETS.beta]), "parameters must be tensors of shapes"),
        (lambda: NETS.with_parameters([NETS.omega, NETS.beta]), "parameters must be tensors of shapes"),
        (lambda: NETS.tangents(X).only({"W1"}), "params must be some of omega, b, beta"),
        (lambda: fully_connected([4, 5, 1], seeds=[None]), "seeds must be"),
        (lambda: fully_connected([4], seeds=[0]), "layers must be a whole number of at least 1"),
        (lambda: fully_connected([4, 5, 1], seeds=[0], dtype=torch.float16), "dtype must be one of"),
        (lambda: fully_connected([4, 5, 1], seeds=[0], gain=0.0), "gain must be a number above 0"),
        (lambda: fully_connected([4, 5, 1], seeds=[0], sigma="gelu"), "activation must be one of"),
        (lambda: fully_connected([4, 5, 1], seeds=[0], sigma="sign"), "activation sign has no derivative"),
        (lambda: fully_connected([4, 5, 1], seeds=[0], parametrisation="mup"), "parametrisation must be one of ntk"),
        (lambda: DEEP(X.float()), "x must be inputs"),
        (lambda: DEEP.hidden(X[:, :3]), "x must be inputs"),
        (lambda: DEEP.with_parameters([w[:1] for w in DEEP.weights]), "parameters must be tensors of shapes"),
        (lambda: DEEP.with_parameters([*DEEP.weights, X]), "parameters must be tensors of shapes"),
        (lambda: PAIR(X), "a network with one output is needed here, this one has 2"),
        (lambda: PAIR.tangents(X), "a network with one output is needed here, this one has 2"),
        (lambda: losses.soft_hinge(1e300), "softness must be"),
    ],
    "depth": [
        (lambda: embedding.stereographic(HOLED), "x must hold finite numbers"),
        (lambda: hidden_motion.bigrams(3, 2), "text must be"),
        (lambda: hidden_motion.change(X[:1], X[:1]), "before must hold a layer at two or more"),
        (lambda: hidden_motion.change(X, X[:, :3]), "after must have shape"),
        (lambda: hidden_motion.change(0 * X, X), "not all zero"),
        (lambda: learnt(optimiser="sgd"), "optimiser must be one of"),
        (lambda: learnt(parametrisation="mean-field"), "parametrisation must be one of ntk, standard"),
        (lambda: learnt(steps=[-1]), r"steps\[0\] must be"),
        (lambda: learnt(steps=1), "steps must be a strictly increasing list"),
        (lambda: learnt(steps=[3, 2]), "steps must be a strictly increasing list"),
        (lambda: learnt(rate=0.0), "rate must be a number above 0"),
        (lambda: learnt(rate=1e60, steps=[20]), "rate must be smaller"),
        (lambda: learnt(width=0), "width must be"),
        (lambda: sigmoid_kernel.eta(t(NAN), 3), "rho must hold finite numbers"),
        (lambda: pairs.sphere(3, 3, seed=None), "seeds must be"),
        (lambda: pairs.cube(3, 3, seed=0, low=2.0), "low must lie"),
        (lambda: pairs.needs_sphere(X[:0]), "points must have shape"),
        (lambda: pairs.needs_distinct(t([1.0, 0], [1 + 1e-13, 9], [1 + 2e-13, 0])), "points 0 and 2 are the same"),
        (lambda: pairs.largest_correlation(UNIT[:1]), "two or more"),
        (lambda: pairs.largest_correlation(UNIT, block=0), "block must be"),
        (lambda: pairs.pair_bound(1, 5, 0.1), "n must be"),
        (lambda: pairs.pair_bound(9, 5, 0.0), "delta must lie"),
        (lambda: pairs.pair_bound(9, 5, -0.1), "delta must lie"),
        (lambda: pairs.chance_of_pair(1, 5, 0.1), "n must be"),
        (lambda: pairs.closest_quantile(1, 5, 0.5), "n must be"),
        (lambda: pairs.closest_quantile(9, 0, 0.5), "n0 must be"),
        (lambda: pairs.closest_quantile(2, 3, 0.99), "chance must be below 0.632 for 2 points"),
        (lambda: rate.correlation_map(0.5), "rho must be an array"),
        (lambda: rate.correlation_map(t(1.5)), "correlations must lie"),
        (lambda: rate.crossover(t(-1.0)), "u must be"),
        (lambda: rate.crossover(t(NAN)), "u must be"),
        (lambda: rate.predicted_excess(t(NAN), 3), "offset must be"),
        (lambda: regression.kernel_flow_prediction(GRAM, GRAM, X[:5]), "y must have shape"),
        (lambda: regression.kernel_flow_prediction(GRAM, GRAM.float(), X), "cross must be torch.float64"),
        (lambda: regression.kernel_flow_prediction(GRAM.triu(), GRAM, X), "gram must be symmetric"),
        (lambda: spectrum.projector_distance(NAN * GRAM), "gram must hold finite numbers"),
        (lambda: spectrum.operators(GRAM, GRAM[:, 1:], [1.0]), "cross must have shape"),
        (lambda: spectrum.operators(GRAM, NAN * GRAM, [1.0]), "cross must hold finite numbers"),
        (lambda: spectrum.operators(GRAM, GRAM, [-1.0]), "times must be"),
        (lambda: spectrum.operators(GRAM, GRAM, []), "times must be"),
        (lambda: spectrum.operators(ROUND_OFF, ROUND_OFF, [INF]), "the kernel matrix cannot be inverted"),
        (lambda: spectrum.row_mean_spread(GRAM[:5]), "gram_offsets must have shape"),
        (lambda: deep_limit.offsets(HOLED), "x must hold finite numbers"),
        (lambda: deep_limit.offsets(UNIT, UNIT[:, :2]), "z must have shape"),
        (lambda: deep_limit.offsets(2 * UNIT), "points must lie on the unit sphere"),
        (lambda: deep_limit.operator(GRAM, GRAM[:, :5], 9), "cross_offsets must have shape"),
        (lambda: deep_limit.operator(GRAM.triu(), GRAM, 9), "gram_offsets must be symmetric"),
        (lambda: deep_limit.operator(GRAM, GRAM, 10**16), "depth must be"),
        (lambda: universality.kinked(1.0), "1 - slope must be a number above 0"),
        (lambda: universality.kinked(NAN), "slope must be a number from -1 to 1"),
        (lambda: universality.kinked(share=0.0), "share must be a number above 0"),
        (lambda: universality.kinked(share=1.5), "share must be a number from 0 to 1"),
        (lambda: universality.smooth("relu"), "name must be one of tanh, erf, quadratic, swish"),
        (lambda: universality.along_depth(universality.kinked(), np.array([1.5]), [3]), "rho must lie from -1 to 1"),
        (lambda: universality.along_depth(universality.smooth("erf"), np.array([-0.5]), [3]), "rho must lie from 0"),
        (lambda: universality.along_depth(universality.kinked(), np.array([0.5]), [3, 2]), "depths must be"),
        (lambda: universality.along_depth(universality.kinked(), np.array([0.5]), [0]), r"depths\[0\] must be"),
    ],
    "spiked": [
        (lambda: function(3, "target"), "target must be one of"),
        (lambda: conditional_map.equivalent("sign", "sin", alpha0=1.0, step=1.0), "activation sign jumps"),
        (lambda: conditional_map.equivalent("tanh", "sin", alpha0=NAN, step=1.0), "alpha0 must be"),
        (lambda: conditional_map.equivalent("tanh", "sin", alpha0=1.0, step=NAN), "step must be"),
        (lambda: network.one_step("sign", "sin", d=6, p=5, n0=8, step=1.0, seeds=[0]), "activation sign jumps"),
        (lambda: network.one_step("tanh", "sin", d=6, p=5, n0=8, step=1.0, seeds=[]), "seeds must be"),
        (lambda: network.one_step("tanh", "sin", d=6, p=5, n0=8, step=1.0, seeds=[0], u=t(1.0)), "u must have shape"),
        (lambda: spiked(c=-1.0), "c must be a number from 1e-50"),
        (lambda: spiked(c=t(1.0, 1.0)), "c must have shape"),
        (lambda: spiked(r=NAN), "r must be"),
        (lambda: spiked(gamma=2.0), "gamma is the cosine"),
        (lambda: spiked(seeds=[-1]), "seeds must be"),
        (lambda: curve(seeds=[0]), "seeds must be 2, one a realisation, got 1"),
        (lambda: curve(seeds=[0, 1, 2]), "seeds must be 2, one a realisation, got 3"),
        (lambda: curve(alphas=[]), "number of alphas must be"),
        (lambda: curve(alphas=[1.0, 0.0]), r"alphas\[1\] must be"),
        (lambda: network.ridge(normal(2, 8, 5), normal(2, 7), 0.1), "y must have shape"),
        (lambda: network.overlaps(ONE, normal(2, 4)), "a must have shape"),
        (lambda: network.draw([0], "third", 2, d=2), "kind must be one of"),
        (lambda: fit_readout.readout(normal(1, 8, 5), normal(1, 8), "logistic", 0.1), "labels -1 and"),
        (lambda: fit_readout.readout(normal(1, 8, 5), normal(1, 7), "square", 0.1), "y must have shape"),
        (lambda: solved(r=NAN), "r must be"),
        (lambda: solved(r=INF), "r must be"),
        (lambda: solved(r=1e5), "r must be a number from"),
        (lambda: solved(lam=1e300), "lam must be a number from"),
        (lambda: solved(bias=NAN), "bias must be"),
        (lambda: solved(alpha=[]), "at least one setting"),
        (lambda: solved(alpha=[1.0, 2.0], beta=[1.0, 2.0, 3.0]), "arrays that broadcast"),
        (lambda: solved(alpha="many"), "must be numbers"),
        (lambda: solved(gamma=1.5), "gamma is the cosine"),
        (lambda: readout_values.solve_readout_values("tanh", "sin", **SETTING, width=-5), "width must be"),
        (
            lambda: readout_values.solve_readout_values("tanh", "sin", **SETTING | {"alpha": np.array([1.0, 2.0])}),
            "alpha must be",
        ),
        (lambda: readout_values.solve_readout_values("tanh", "sin", **SETTING, values=[NAN]), r"values\[0\] must be"),
        (
            lambda: convex_theory.solve_loss("tanh", "sin", convex_theory.huber(np.inf), **SETTING, width=-1.0),
            "width must be",
        ),
        (lambda: convex_theory.huber(NAN), "delta must be"),
        (lambda: batch(theta=3 * THETA), "theta must have unit norm, got 3"),
        (lambda: batch("relu"), "relu is not odd"),
        (lambda: batch("sign"), "activation sign jumps"),
        (lambda: batch(step=0.0), "step must be"),
        (lambda: batch(x0=X0[:0], y0=Y0[:0]), "x0 must have shape"),
        (lambda: batch(y0=Y0[:5]), "y0 must have shape"),
        (lambda: batch(theta=THETA[:5]), "theta must have shape"),
        (lambda: eigenvalues.density("tanh", [0.0], alpha=1.0, beta=1.0, r=1.0), "above 0"),
        (lambda: eigenvalues.density("tanh", [-1.0], alpha=1.0, beta=1.0, r=1.0), "above 0"),
        (lambda: eigenvalues.density("tanh", [], alpha=1.0, beta=1.0, r=1.0), "above 0"),
        (lambda: eigenvalues.stieltjes(CHANNEL, np.array([1 - 1j]), alpha=1.0, beta=1.0, c=1.0), "imaginary parts"),
        (lambda: bounds.bounds("tanh", "sin", r=NAN), "r must be"),
    ],
    "arguments of theory": [
        (lambda: egop.chain_monomial_egop(2, 1), "d must be"),
        (lambda: free_probability.matrix_traces(NAN * GRAM, GRAM), "a must hold finite"),
        (lambda: free_probability.readout_matrix(HOLED, Y), "weights must hold finite"),
        (lambda: free_probability.observed_traces(GRAM, GRAM, NAN * GRAM), "r must hold finite"),
        (lambda: predictions.early_correlation(HOLED, Y, GRAM), "x must hold finite"),
        (lambda: predictions.expected_kernel(HOLED, sigma="relu", hidden=1), "x must hold finite"),
        (lambda: predictions.expected_agop(HOLED, Y, 3), "x must hold finite"),
        (lambda: data.spike_free(3, balance=0.5, floor=0.5, seed=0), "n must be"),
        (lambda: pairs.cube(0, 3, seed=0), "n must be"),
        (lambda: pairs.cube(3, 3, seed=-1), "seed must be"),
        (lambda: pairs.needs_distinct(HOLED), "points must hold finite"),
        (lambda: pairs.largest_correlation(HOLED), "points must hold finite"),
        (lambda: pairs.separation_depth(NAN), "rho must lie"),
        (lambda: pairs.angle_probability(0.1, 1), "n0 must be"),
        (lambda: pairs.angle_probability(2.0, 5), "angle must lie"),
        (lambda: pairs.pair_bound(10, 2, 0.1), "n0 must be"),
        (lambda: pairs.closest_quantile(10, 5, 1.0), "chance must lie"),
        (lambda: rate.half_way_depth(0.5), "rho must lie"),
        (lambda: sigmoid_kernel.circle(1), "points must be"),
        (lambda: hidden_motion.bigrams("a b", 1), "vocabulary must be"),
        (lambda: universality.along_depth(universality.kinked(), np.array([NAN]), [3]), "rho must hold finite"),
        (lambda: universality.offset(universality.kinked(), np.array([NAN])), "rho must hold finite"),
        (lambda: universality.offset(universality.kinked(), np.array([1.0])), "rho must be below 1"),
        (lambda: universality.of_layer_offset(universality.kinked(), np.array([1.0]), 0), "depth must be"),
        (lambda: jamming.unsatisfied(HOLED), "margins must hold finite"),
        (lambda: jamming.negative(NAN * GRAM), "matrix must hold finite"),
        (lambda: jamming.kernel_change(HOLED, X), "before must hold finite"),
        (lambda: jamming.fluctuation(HOLED), "F must hold finite"),
        (lambda: jamming.transition(np.array([1.0, 2.0]), np.array([NAN, 0.0])), "satisfied must hold finite"),
        (lambda: jamming.crossing(np.array([1.0, 2.0]), np.array([NAN, 1.0])), "values must hold finite"),
        (lambda: jamming.relative_fluctuation(HOLED.numpy()), "samples must hold finite"),
        (lambda: jamming.relative_fluctuation(np.ones((1, 2))), "samples must be"),
        (lambda: jamming.gap(np.array([NAN, 1.0])), "eigenvalues must hold finite"),
        (lambda: jamming.gap(np.array([-1.0, -2.0])), "largest must be"),
        (lambda: harmonics.linear_information(1), "d must be"),
        (lambda: harmonics.estimated_fraction(0), "neighbours must be"),
        (lambda: norm.least_norms(NAN * GRAM, Y, [0.5]), "gram must hold finite"),
        (lambda: norm.least_norms(GRAM, Y, [0.99]), "distance must be"),
        (lambda: norm.hinge_norms(NAN * GRAM, Y, [0.5]), "gram must hold finite"),
        (lambda: norm.hinge_norms(GRAM, Y, [0.999]), "loss must be"),
        (lambda: sectors.sector_shares(HOLED, X), "vectors must hold finite"),
        (lambda: sectors.sector_shares(X, X[:, :1]), "dimension of x must be"),
        (lambda: learning_curves.compress(HOLED, 1, t(1.0)), "x must hold finite"),
        (lambda: learning_curves.compress(TASK.x, 1, t(1.0)), "factor must be one a realisation"),
        (lambda: several_steps.predict("sign", "sin", alpha0=1.0, step=1.0, count=1), "activation sign jumps"),
        (lambda: several_steps.predict("tanh", "sin", alpha0=1.0, step=0.0, count=1), "step must be"),
        (lambda: several_steps.predict("tanh", "sin", alpha0=1.0, step=1.0, count=0), "count must be"),
        (lambda: network.one_step("tanh", "sin", d=6, p=5, n0=-1, step=1.0, seeds=[0]), "n0 must be"),
        (lambda: network.one_step("tanh", "sin", d=6, p=5, n0=8, step=-1.0, seeds=[0]), "step must be"),
        (lambda: spiked(d=1), "d must be"),
        (lambda: spiked(p=0), "p must be"),
        (lambda: network.ridge(normal(2, 8, 5), normal(2, 8), 0.0), "lam must be"),
        (lambda: network.second_batch(FUNCTIONS["sin"], ONE, 5, [0, 1], noise=-1.0), "noise must be"),
        (lambda: network.test_set(FUNCTIONS["sin"], ONE, [0]), "seeds must be 2"),
        (lambda: network.test_set(FUNCTIONS["sin"], ONE, [0, 1], size=0), "size must be"),
        (lambda: fit_readout.readout(normal(1, 8, 5), normal(1, 8), "square", 0.0), "lam must be"),
        (lambda: kernel_baseline.linear_error("sin", np.array([0.0])), "alpha must be"),
        (lambda: eigenvalues.outlier("tanh", alpha=2.0, beta=-1.0, r=0.2, p=200), "beta must be"),
        (lambda: spectra.components(GRAM[None], 0), "count must be"),
        (lambda: spectra.distance_dimension(GRAM[None], [3]), "sizes must hold"),
        (lambda: information.null_bias(0), "neighbours must be"),
        (lambda: information.sharp_loss(10, 6), "neighbours must be"),
        (lambda: information.shifted_gaussians(-1.0), "shift must be"),
        (lambda: information.stripe_information(0.5, [1.0, 0.0]), "interfaces must be"),
        (lambda: wrong(HOLED, X), "f must hold finite"),
    ],
    "gaussian": [
        (lambda: gaussian.trapezoid(3), "nodes must be even"),
        (lambda: gaussian.trapezoid(NAN), "nodes must be even"),
        (lambda: gaussian.expect(np.sign, breaks=[NAN]), r"breaks\[0\] must be"),
        (lambda: gaussian.rule((0.0,), (-1.0,)), r"widths\[0\] must be"),
        (lambda: gaussian.rule(step=0.0), "step must be"),
        (lambda: gaussian.moments(np.tanh, [0.0], [-1.0]), "std numbers from 0"),
        (lambda: gaussian.moments(np.tanh, [NAN], [1.0]), "mean must hold finite numbers"),
    ],
    "compression": [
        (lambda: compression.amplification(HOLED, 1), "omega must hold finite numbers"),
        (lambda: compression.amplification(0 * X, 1), "omega must have an uninformative part"),
        (lambda: compression.neuron_amplification(X[0], 1), "omega must have shape"),
        (lambda: compression.neuron_vector(0 * X, Y), "omega must not vanish"),
        (lambda: compression.sees_data(X, Y, X[:, :3]), "x must have shape"),
        (lambda: Stripe([-0.3, 1.2], NAN), "d must be"),
        (lambda: Stripe([1e300], 2), r"interfaces\[0\] must be"),
        (lambda: Stripe(3, 2), "interfaces must be"),
        (lambda: STRIPE.noise(X[:, :3].numpy(), Y.numpy(), POINT), "x must have shape"),
        (lambda: STRIPE.noise(HOLED.numpy(), Y.numpy(), POINT), "x must hold finite numbers"),
        (lambda: POINT.crossover(0), "p must be"),
        (lambda: neuron.follow(STRIPE, NEURONS, [NAN]), "times must be"),
        (lambda: neuron.follow(STRIPE, NEURONS, [1e4]), "outgrow float64"),
        (lambda: neuron.follow(STRIPE, NEURONS, [1.0], drift=np.ones(2)), "drift must be"),
        (lambda: neuron.predicted_paths(STRIPE, NEURONS, X[:, :3].numpy(), Y.numpy(), [1.0]), "x must have shape"),
    ],
    "training": [
        (lambda: gradient_flow(NETS, TASK, alpha=NAN), "alpha must be"),
        (lambda: gradient_flow(NETS, TASK, alpha=1e300), "alpha must be"),
        (lambda: gradient_flow(NETS, TASK, alpha=0.1, dtype=torch.float16), "dtype must be one of"),
        (lambda: gradient_flow(of(NETS, omega=NAN * NETS.omega), TASK, alpha=0.1), "the network's omega holds NaN"),
        (lambda: gradient_flow(NETS, of(TASK, y=TASK.y[0, 0]), alpha=0.1), "one label a point"),
        (lambda: after(-1.0), "time must be"),
        (lambda: satisfied(NAN), "fraction must lie"),
        (lambda: kernel_flow.fit(NAN * GRAM, Y), "gram must hold finite numbers"),
        (lambda: kernel_flow.fit(GRAM, Y[:5]), "gram must be"),
        (
            lambda: lazy(NETS, of(TASK, x=TASK.x[..., :3]), TEST),
            r"train.x must be inputs \(p, 4\) or .*, got \(2, 8, 3\)",
        ),
        (lambda: wide_lazy(TASK, of(TEST, y=NAN * TEST.y)), "test.y must hold finite numbers"),
        (lambda: learning_curves.compress(TASK.x, 0, t(1.0, 1.0)), "d_parallel must be"),
        (lambda: wrong(X, Y), "y must have"),
        (lambda: tangent_predictor(NETS, TASK.x, X, TEST.x), r"c must have shape \(2, 8\), got \(6, 4\)"),
        (lambda: tangent_predictor(DEEP, TASK.x[:1], Y[None], TEST.x), r"c must have shape \(2, 8\), got \(1, 6\)"),
        (lambda: tangent_predictor(DEEP, TASK.x[[0, 1, 1]], TASK.y, TEST.x), "^x must hold 2 realisations, .*, got 3"),
        (lambda: tangent_predictor(DEEP, TASK.x, TASK.y, TEST.x[..., :3]), r"z must be inputs \(p, 4\)"),
        (lambda: lazy(PAIR, TASK, TEST), "a network with one output is needed here"),
        (lambda: lazy(DEEP[:1], TASK, TEST), "train.x must hold 1 realisation, got 2"),
        (lambda: tasks.stripe(5, 2, interfaces=[NAN]), "interfaces must be"),
        (lambda: tasks.stripe(5, 2, seed=None), "seeds must be"),
        (lambda: tasks.stripe(10**15, 2), "bytes"),
        (lambda: tasks.rotated(TASK, NAN * torch.eye(4).double()), "turn must hold finite numbers"),
        (lambda: step(y=Y[:3]), "y must have the shape"),
        (lambda: step(y=Y[:, None].expand(-1, 2)), "y must have the shape"),
        (lambda: step(x=HOLED), "x must hold finite numbers"),
        (lambda: datasets.centred(of(POOL, x=0 * POOL.x)), "a point at the mean"),
        (lambda: datasets.to_sphere(of(POOL, x=NAN * POOL.x)), "x must hold finite numbers"),
        (lambda: datasets.principal_components(of(POOL, x=0 * POOL.x), 2), "points that vary"),
        (lambda: datasets.split(POOL, [3], seed=None), "seed must be"),
    ],
}


@pytest.mark.parametrize("room", BAD)
def test_bad_input_gets_one_line(room):
    for_each({f"{i}, {words}": (call, words) for i, (call, words) in enumerate(BAD[room])})(refused)()


def pair(size_x, size_z, **options):
    """The kernel of two directions at 60° with norms of any size."""
    x = size_x * t([1.0, 0.0])
    z = size_z * t([0.5, math.sqrt(0.75)])
    return float(infinite_ntk(x, z, **options))


AT_60 = float(relu_recursion.kernel_of_angle(t(math.pi / 3), 3)[0])
EVEN = quadrature.kernel(0.5, 3)
EXTREMES = {
    "huge norms": (lambda: pair(1e200, 1e200, depth=3), EVEN),
    "largest norms": (lambda: pair(1e308, 1e308, depth=3), EVEN),
    "tiny norms": (lambda: pair(1e-200, 1e-200, depth=3), EVEN),
    "smallest norms": (lambda: pair(1e-310, 1e-310, depth=3), EVEN),
    "norms apart": (lambda: pair(1e200, 1e-200, depth=3), EVEN),
    "huge norms beside a bias": (lambda: pair(1e160, 1e160, depth=3, bias=0.5), EVEN),
    "a bias beside tiny norms": (lambda: pair(1e-200, 1e-200, depth=3, bias=0.5), 1.0),
    "a huge bias": (lambda: pair(1.0, 1.0, depth=3, bias=1e200), 1.0),
    "a tiny bias": (lambda: pair(1.0, 1.0, depth=3, bias=1e-200), EVEN),
    "bias and norms scale together": (
        lambda: pair(3e150, 2e150, depth=3, bias=1e150),
        pair(3.0, 2.0, depth=3, bias=1.0),
    ),
    "a crossover at infinity": (lambda: float(rate.crossover(t(INF))), 0.25),
    "a crossover far out": (lambda: float(rate.crossover(t(1e200))), 0.25),
    "a crossover at zero": (lambda: float(rate.crossover(t(0.0))), 1.0),
    "the offset of equal points": (lambda: float(relu_recursion.offset(t(0.0))), INF),
    "the angle π": (lambda: float(relu_recursion.kernel_of_angle(t(math.pi), 2)[0]), -0.0),
    "two points, far apart": (lambda: pairs.closest_quantile(2, 3, 1 - math.exp(-0.75)), -0.5),
    "two points, anywhere": (lambda: pairs.closest_quantile(2, 3, 1 - math.exp(-0.5)), 0.0),
    "projectors of opposite points": (lambda: spectrum.projector_distance(t([1.0, -0.5], [-0.5, 1.0])), 1.0),
    "the limit's distance from itself": (
        lambda: spectrum.distance_from_limit(0.25 + 0.75 * torch.eye(40, dtype=torch.float64)),
        0.0,
    ),
    "far points of the plane": (lambda: float(embedding.stereographic(t(1e200, 0.0))[2]), 1.0),
    "the logistic kernel at any depth": (
        lambda: float(sigmoid_kernel.eta(t(1.0), 10**15)),
        sigmoid_kernel.fixed_point(),
    ),
    "a bound that says nothing": (lambda: pairs.pair_bound(10, 10**5, 3.0), INF),
    "a spike of every size": (lambda: float(solved(r=1e3).test_error > 0), 1.0),
}


@for_each(EXTREMES)
def test_legal_extremes_have_their_values(call, value):
    assert call() == pytest.approx(value, abs=1e-12, rel=1e-12)


def test_a_jumping_target_sees_the_whole_spike():
    """At perfect alignment the nodes follow the spike: four times as many give the same error."""
    error = float(solved(target="sign", r=1000.0).test_error)
    fine = conditional_map.PANEL
    try:
        conditional_map.PANEL = fine / 4
        dense = float(solved(target="sign", r=1000.0).test_error)
    finally:
        conditional_map.PANEL = fine
    assert error == pytest.approx(dense, rel=1e-9)


def test_the_row_means_are_divided_by_the_gap():
    """Five points: the sum of four offsets over the gap's five, not their mean, is the limit of ``L |P_L - P|``."""
    x = pairs.sphere(5, 3, seed=1)
    phi = torch.acos((x @ x.mT).clamp(-1, 1)).fill_diagonal_(0)
    depth = 10**9
    measured = depth * spectrum.projector_distance(infinite_ntk(x, depth=depth))
    assert spectrum.row_mean_spread(relu_recursion.offset(phi)) == pytest.approx(measured, rel=1e-5)


def test_equal_points_are_found_behind_others():
    x = normal(50, 3)
    pairs.needs_distinct(x)
    crowd = torch.cat([x, x[:1] + t(1e-13, 0, 0), x[:1] + t(5e-14, 1, 0)])
    with pytest.raises(InputError, match="points 0 and 50 are the same"):
        pairs.needs_distinct(crowd)


def test_a_weak_outlier_is_found_where_simulation_has_it():
    s = {"d": 200, "p": 200, "r": 0.2, "c": 1.0, "gamma": 1.0}
    made = network.spiked_features(**s, seeds=range(4))
    x = network.draw(range(4), "train", 400, 200, d=200)
    phi = network.feature_map(FUNCTIONS["tanh"], made, x)
    top = torch.linalg.eigvalsh(phi.mT @ phi)[:, -1]
    outlier = eigenvalues.outlier("tanh", alpha=2.0, beta=1.0, r=0.2, p=200)
    assert outlier == pytest.approx(float(top.mean()), abs=4 * float(top.std()) / 2)
