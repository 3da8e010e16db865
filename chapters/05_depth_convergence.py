# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (chapter-05)=
# # Depth is a ridge, except for nearby inputs
# :::{div} guess
# **Guess first.** An infinitely wide ReLU network of 30 layers has been trained on 500 images to the end. Which of
# these is its predictor?
#
# - the mean label, whatever the image
# - **ridge regression with one fixed kernel**
# - the label of the nearest image
#
# Measured: its distance from ridge regression, with a ridge near three times the depth, is {interval}`C.Thm3-ridge` of
# its own variation.
# :::
#
# What becomes of the {term}`tangent kernel` of a wide ReLU network when layers are added? What does the network then
# predict, and which number says how deep it is?
#
# ## What we find
# - Paper C's limit holds, but its rate does not. In plain networks of depth $L$ the kernel of different inputs tends to
#   a quarter of its diagonal, yet $L$ times the distance is not bounded: it grows as {claim}`C.Thm2-rate` times $\ln L$
#   ({numref}`fig-c-rate`).
# - Where inputs lie far apart, infinitely wide networks, plain, residual or pre-norm, predict as {term}`ridge`
#   regression does. The ridge is {claim}`C.Thm3-shares-ridge` times $3\tau$, and the depth $\tau$ is [the sum of their
#   layers' shares](#sum-of-shares).
# - Where inputs are nearer than $3\pi/L$, as among hundreds of points on a sphere in three dimensions, this fails: the
#   median distance of a plain network from ridge regression is {interval}`C.Thm3-ridge-fails` of its predictor's
#   variation ({numref}`fig-c-laws`).
# - A network of finite width predicts like this only if its width is near $\tau^3$ or above. If a plain network's width
#   grows as its depth cubed, its distance from infinite width changes by a factor of {interval}`C.Thm3-width-cubed`, on
#   a sphere ({numref}`fig-c-width`).
#
# ## Overview
# A very wide network trained by gradient descent is a kernel machine. Paper C {cite}`starnaud2025` shows that the
# kernel of a deep ReLU network tends to 1/4 for every pair of different inputs. If all pairs look alike, one would
# expect that a deep network predicts nothing, which is why the paper asks how deep a network may be, and how early one
# should stop. But at a finite depth pairs do not look quite alike. We ask what the network makes of the difference, and
# how wide it must be for the difference to show.
#
# **Guess first:** how much of their kernel do two opposite inputs keep, and does a deeper network learn more? Move the
# sliders.
#
# <div class="explore" data-name="depth">
#
# All pairs of inputs end near one kernel, 1/4, and a deeper network learns less along each eigenvector. Left: two
# inputs after $L$ layers. Middle: their normalised kernel. Right: the share that ridge regression with the ridge of
# depth $L$ learns.
#
# </div>
#
# You need to know what a kernel and its Gram matrix are, and nothing else of the book. The {ref}`details page
# <depth-details>` follows what comes of the ridge, and {ref}`says what was known <depth-before>`. A {ref}`second one
# <depth-operators>` has the paper's other statements, and a {ref}`third one <depth-width>` what it says of width.
#
# :::{dropdown} Symbols
# | symbol | in code | shape | scale |
# |---|---|---|---|
# | $L$ | `depth` | | layers of weights, $L\ge 1$ |
# | $n$; $m$ | `n`; `width` | | data points; neurons of a hidden layer (the paper: $n$ and $n_l$) |
# | $X$; $y$ | `x`; `y` | $(n, n_0)$; $(n, k)$ | data on the unit sphere of $\mathbb R^{n_0}$; targets |
# | $\kappa$; $k_x$ | | ; $(n)$ | any kernel, $\kappa(X,X)$ its Gram matrix; its row for a point $x$ |
# | $\rho^{(l)}$, $\phi_l=\arccos\rho^{(l)}$ | `rho`, `phi` | any | correlation and angle at layer $l$; $l=1$: inputs |
# | $e_l = 1-\rho^{(l)}$ | `gap` | any | |
# | $\bar\Theta^{(L)}$ | `infinite_ntk` | $(n, n')$ | unit diagonal: $n_0 2^{L-1}\Theta^{(L)}_\infty/L$ on the sphere |
# | $S_L = L\,\bar\Theta^{(L)}$ | `s` | any | |
# | $c(\rho)$, $C$ | `offset` | any; $(n, n)$ | equation {eq}`eq:C:offset`; zero on the diagonal of $C$ |
# | $h$ | `correlation_map` | any | equation {eq}`eq:C:h` |
# | $\lambda_n$; $P^{(L)}$ | `smallest`; `projectors` | ; $(n, n)$ | smallest eigenvalue of $\bar\Theta^{(L)}(X,X)$; projector on its top eigenvector |
# | $\mathrm{op}_t(x)$ | `operators` | $(n)$ | equation {eq}`eq:C:operator` |
# :::
# %% tags=["parameters"]
# fmt: off
profile = "laptop"  # chosen with --profile
corpus = "mnist"  # images of figures 5-8 and table 2 (paper C: MNIST)
curve_rho = [0.0, 0.5, 0.9, 0.99, -1.0, -0.9, 0.9999]  # input correlations (paper C, Fig. 2: the first four)
curve_depth = 1000000  # deepest network of the curves (paper C, Fig. 2: not stated)
# fmt: on
# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

from companion.book import plots, sketches
from companion.book.chapter import Chapter
from companion.papers.depth.claims.depth_scales import SMALL_STEPS
from companion.papers.depth.studies import depth as studies
from companion.papers.depth.studies import depth_scales as scales
from companion.papers.depth.theory import finite, residual
from regimes.kernels.residual import flow_of_angle

chapter = Chapter("05", globals())
# %% [markdown]
# (sum-of-shares)=
# ## One number for depth
# Whatever its layers are, the ridge of a network is $3\tau$, where $\tau$ says how much its layers add up to: in five
# kinds of networks with $\tau$ from 9.8 on it is {claim}`C.Thm3-shares-ridge` times that ({numref}`fig-c-tau`). At
# $\tau=7.8$, which is not large yet, it is {glue:text}`ridge-at-eight` times that.
#
# Why not count layers? With a skip connection a layer mixes what it adds with what it received, so that one layer does
# less than a plain one. Divided by the root of its variance it is
#
# $$
# x \to \sqrt{1-s}\;x + \sqrt s\; W\sigma(x), \qquad \rho \to (1-s)\,\rho + s\,h(\rho), \qquad S \to (1-s)\,S + s\,\bigl(h'(\rho)\,S + h(\rho)\bigr) .
# $$ (eq:C:shares)
#
# Here $s$ is the layer's *share*, the part of the variance that it has added, $\rho$ the correlation of two inputs,
# $S$ their tangent kernel, and $h$ the map {eq}`eq:C:h` of a plain layer. On the diagonal $S$ grows by $s$ a layer.
# So *depth* is the sum of the shares,
#
# $$
# \tau = 1 + \sum_{l=1}^{L-1} s_l .
# $$ (eq:C:tau)
#
# | layer, of $L$ after a linear one | share | $\tau$ | at $L=10^4$ |
# |---|---|---|---|
# | plain, $W\sigma(x)$ | 1 | $L$ | 10000 |
# | skip, $x+\beta W\sigma(x)$; the same with a norm of the sum | $\beta^2/(1+\beta^2)$ | $\simeq sL$ | 5000 ($\beta=1$) |
# | pre-norm, $x+\beta W\sigma(\mathrm{LN}\,x)$ | $\beta^2/(1+\beta^2l)$ | $\simeq\ln(1+\beta^2L)$ | 9.8 ($\beta=1$) |
# | skip, $\beta=1/\sqrt L$ | $1/(L+1)$ | 2 | 2 |
#
# In a pre-norm network the variance of the stream grows as $l$, so that each layer adds a smaller part of it, and ten
# thousand such layers are no deeper than ten plain ones. At infinite width the norm does nothing else; its weight
# multiplies $\beta$.
#
# *Why $3\tau$.* At a small angle a layer adds $s$ to $3\pi/\phi$ and $s$ to $4S$, but $4s$ to $4S$ on the diagonal. So
# the diagonal gains $3s$ on all other entries, and what is added to the diagonal alone is a ridge. With the kernel
# $c=3\pi/\phi_L-\tau$ of the network's own angles
#
# $$
# 4S = \tau + c - \tfrac s2 + O(1/\tau), \qquad 4S(x,x) = 4\tau, \qquad \text{ridge} = 3\tau + \tfrac s2 .
# $$ (eq:C:own-ridge)
#
# Pairs nearer than the angle $3\pi/\tau$, and degrees above $\tau/3\pi$, are not resolved.
#
# *A ridge belongs to its kernel.* For plain networks we take below the limit of $c$ at large depth, because it is one
# kernel for all depths. From that of the network's own angles it differs by $\frac32\sum_ls_l^2/\tau_l$. In plain
# networks this is $\frac32\ln L$, the logarithm of paper C's rate; where shares are small, there is none.
#
# *Small shares.* Then layers are steps of one flow,
#
# $$
# \frac{d\rho}{d\tau} = h(\rho) - \rho, \qquad \frac{dS}{d\tau} = h(\rho) - \frac\phi\pi\,S ,
# $$ (eq:C:flow)
#
# and networks of one $\tau$ have one kernel. We took four kinds of networks, of 30 to 3000 layers, on a sphere in ten
# dimensions: their predictors are that of the flow to {claim}`C.Thm3-shares-flow` of its variation. A flow three times
# as long, in contrast, is at least {glue:text}`beyond` away.
#
# *An exception.* A LayerNorm *after* the ReLU subtracts the mean, which is what all inputs have in common. Then $h$
# becomes $(h-\frac1\pi)/(1-\frac1\pi)$, whose slope at 1 is $\frac\pi{\pi-1}>1$. So pairs move apart, and the kernel
# tends to the identity: after 30 layers two inputs of correlation 1/2 have {glue:text}`after`. Such a network learns
# its points one by one, and does not generalise.
# %% tags=["key"]
networks = chapter.rows(scales.one_depth, "main")
fig, (left, right) = plots.panels(2, width=4.3, height=3.9)
tau = np.geomspace(1, 2e4, 60)
angle = torch.tensor([np.pi / 3], dtype=torch.float64)
left.plot(
    tau,
    [float(flow_of_angle(angle, float(t), steps=60)[0]) for t in tau],
    color=plots.COLOURS["theory"],
    label="flow; $3\\tau$",
)
right.plot(tau, 3 * tau, color=plots.COLOURS["theory"])
markers = dict(zip(residual.ARCHITECTURES, "osv^DP*x"))
for kind, colour in zip(residual.ARCHITECTURES, plots.PALETTE * 2):
    rows = networks[networks.architecture == kind].groupby("depth")[["tau", "kernel", "ridge"]].mean()
    left.plot(rows.tau, rows.kernel, markers[kind], color=colour, markersize=6, label=kind)
    right.plot(rows.tau, rows.ridge, markers[kind], color=colour, markersize=6)
left.axhline(0.25, color="0.8", linewidth=0.8, zorder=0)
left.set(xscale="log", xlabel=r"$\tau$, sum of the shares", ylabel=r"kernel at $\rho=1/2$", title="Which kernel?")
right.set(xscale="log", yscale="log", xlabel=r"$\tau$, sum of the shares", ylabel="ridge", title="Which ridge?")
after = networks[(networks.architecture == residual.NORM_AFTER) & (networks.depth == 30)]
chapter.glue("after", after.kernel.mean())
deepest = networks[networks.depth == networks.depth.max()]
chapter.glue("ridge-pre-norm", deepest[deepest.architecture == "pre-norm"].ridge.mean())
eight = deepest[deepest.architecture == "pre-norm, scale 0.3"]
chapter.glue("ridge-at-eight", (eight.ridge / (3 * eight.tau)).mean())
small = networks[networks.architecture.isin(SMALL_STEPS) & networks.depth.isin([30, 300, 3000])]
chapter.glue("beyond", small.groupby(["architecture", "depth"]).beyond.mean().min())
chapter.figure(
    fig,
    "fig-c-tau",
    networks,
    title="How deep is a network?",
    legend=3,
    alt="Left, kernels of seven kinds of networks fall on one curve from a half to a quarter; those with a norm after the ReLU fall to zero at "
    "once. Right, all ridges lie on one straight line.",
)
# %% [markdown] tags=["caption"]
# **Plain, residual and pre-norm networks of 10 to 10000 layers are on one curve of $\tau$; with a norm after the ReLU
# they leave it.** Left: kernel of two inputs, line: the flow. Right: ridge on 200 points of a sphere in ten dimensions,
# beside $c=3\pi/\phi_L-\tau$; line: $3\tau$. Nothing is fitted.
# %% [markdown]
# ## The network, its kernel, and the limit of large width
# The network has $L$ layers of standard normal weights, $m$ neurons in each hidden layer, and no biases:
#
# $$
# z^{(1)} = \frac{W^{(1)}x}{\sqrt{n_0}}, \qquad z^{(l+1)} = \frac{W^{(l+1)}\sigma(z^{(l)})}{\sqrt m}, \qquad
# f(x) = z^{(L)}, \qquad \sigma(z) = \max(z, 0) .
# $$ (eq:C:network)
#
# {term}`Gradient flow` on the weights moves the output by the tangent kernel $\Theta^{(L)}(x,x') = \sum_\theta
# \partial_\theta f(x)\,\partial_\theta f(x')$. At infinite width this kernel is not random and does not change in
# training. Theorem 1 of the paper {cite}`jacot2018` gives it layer by layer. With $(u,v)$ Gaussian of covariance
# $\Sigma^{(l)}$ at the two inputs,
#
# $$
# \Sigma^{(1)} = \Theta^{(1)}_\infty = \frac{x\cdot x'}{n_0}, \quad
# \Sigma^{(l+1)} = \mathbb E[\sigma(u)\sigma(v)], \quad
# \Theta^{(l+1)}_\infty = \mathbb E[\sigma'(u)\sigma'(v)]\,\Theta^{(l)}_\infty + \Sigma^{(l+1)} .
# $$ (eq:C:theta)
#
# Since a ReLU layer halves the variance, $\Theta^{(L)}_\infty(x,x) = L/(n_0 2^{L-1})$ on the unit sphere (Prop. 1), and
# we divide by this value. The {term}`normalised kernel` $\bar\Theta^{(L)} = n_0 2^{L-1}\Theta^{(L)}_\infty/L$ is 1 on
# the diagonal, and elsewhere a function of the angle alone.
# %% [markdown]
# ## One layer brings every pair closer
# Two unit inputs at correlation $\rho$ leave an infinitely wide ReLU layer at correlation $h(\rho)$ (Prop. 2 of the
# paper),
#
# $$
# h(\rho) = \frac{\sqrt{1-\rho^2} + \rho\,(\pi - \arccos\rho)}{\pi}, \qquad h'(\rho) = 1 - \frac{\arccos\rho}{\pi} .
# $$ (eq:C:h)
#
# {numref}`fig-sketch-cobweb` follows two pairs through many layers. The map lies above the identity and touches it at
# $\rho=1$, where its slope is one, so that steps become ever smaller: near that point
# $h(\rho)-\rho\simeq\frac{2\sqrt2}{3\pi}(1-\rho)^{3/2}$, and the measured exponent is {claim}`C.Fig3-contact`. Pairs
# therefore approach 1 more slowly than geometrically, and all results of this chapter follow from how the two curves
# touch.
# %%
chapter.figure(
    sketches.cobweb(),
    "fig-sketch-cobweb",
    alt="A curve above the diagonal that meets it at the upper right corner and is tangent to it there. Two staircases between "
    "curve and diagonal climb towards that corner with ever smaller steps.",
)
# %% [markdown] tags=["caption"]
# **All pairs end at 1, in ever smaller steps.** The correlation of two inputs from layer to layer, in a wide ReLU
# network (paper C, Lemma 1 and Fig. 3): up to the curve is one layer, across to the dashed line the start of the next.
# At 1 the curve touches the line.
# %% [markdown]
# ## The limit is 1/4
# At depth $10^6$ the normalised kernel of every pair that we follow is within {claim}`C.Thm2-limit` of 1/4. The kernel
# obeys a recursion (Prop. 5 of the paper). Let $\phi_L$ be the angle of the pair at layer $L$ and $S_L =
# L\,\bar\Theta^{(L)}$. Then
#
# $$
# S_{L+1} = \Bigl(1 - \frac{\phi_L}{\pi}\Bigr) S_L + \rho^{(L+1)}, \qquad S_1 = \rho^{(1)} .
# $$ (eq:C:recursion)
#
# *Where 1/4 comes from.* In the angle $\phi=\arccos\rho$ the layer map begins as $\phi_{L+1} = \phi_L -
# \phi_L^2/(3\pi)$. In deep layers this is $d\phi/dL = -\phi^2/(3\pi)$, so that $\phi_L = 3\pi/L$ whatever the inputs. A
# layer then multiplies $S$ by $1-\phi_L/\pi = 1 - 3/L$ and adds $\rho^{(L+1)}\to1$:
#
# $$
# \frac{dS}{dL} = 1 - \frac{3S}{L} \qquad\Longrightarrow\qquad S_L = \frac L4 + \mathrm{const}\cdot L^{-3} .
# $$ (eq:C:quarter)
#
# {cite}`liu2023` have this limit, too, as the angle $\arccos\frac14$ between the gradients of two inputs. (Nobody
# iterates a million layers: beyond some 150 we use Abel's function $A$ of the angle, which grows by exactly 1 a layer,
# so that a million layers are one equation, $A(\phi_{l+10^6})=A(\phi_l)+10^6$; module
# `regimes.kernels.relu_asymptotics`.)
# %% [markdown]
# ## The rate is $\log L / L$, not $1/L$
# $L$ times the distance from 1/4 grows as {claim}`C.Thm2-rate` times $\ln L$ ({numref}`fig-c-rate`), although by
# Theorem 2 the distance is $O(1/L)$, and the product would be bounded. The logarithm is in the next term of the layer
# map, $\phi_{L+1} = \phi_L - \phi_L^2/(3\pi) - \phi_L^3/(18\pi^2)+\dots$ It gives $3\pi/\phi_{L+1} = 3\pi/\phi_L + 1 +
# \phi_L/(2\pi) + \dots$ With $\phi_L\simeq3\pi/L$ the last term is $\frac3{2L}$: small in every layer, but its sum over
# layers is a logarithm. With $e_L=1-\rho^{(L)}$,
#
# $$
# \frac{3\pi}{\phi_L} = L + \tfrac32\ln L + c(\rho) + o(1), \qquad
# e_L = \frac{9\pi^2}{2L^2}\Bigl(1 - \frac{3\ln L}{L} + O(1/L)\Bigr) .
# $$ (eq:C:offset)
#
# So very deep layers depend on the pair only through the constant $c(\rho)$, its *offset*. Insert $S_L = L/4 + s$ and
# $\phi_L/\pi = \frac3L\bigl(1-(\frac32\ln L+c)/L\bigr)$ into {eq}`eq:C:recursion`. It is solved by $s=\frac38\ln
# L+\frac c4-\frac18$. Hence
#
# $$
# \bar\Theta^{(L)}(\rho) = \frac14 + \frac1L\Bigl[\tfrac38 \ln L + \tfrac14 c(\rho) - \tfrac18\Bigr] + o(1/L) .
# $$ (eq:C:rate)
#
# The term $\frac38\ln L/L$ is the same for every pair. How does the paper's proof lose it? It sums $L$ terms $o(1/L)$
# of the recursion, and takes the sum for $o(1/L)$ again. {cite}`hayou2019` have $O(1/L)$ for layers like ReLU and $\log
# L/L$ for smooth ones. The constants 3/8 and $c(\rho)$ are new as far as we know; compare {cite}`hayou2022`, whose
# rates we could not read, and {cite}`terjek2025spectrum`.
# %%
rows = chapter.rows(studies.normalised_kernel, "main").query("depth >= 10 and rho <= 0.999")
fig, ax = plt.subplots()
for rho, pair in rows.groupby("rho"):
    size = 7 if rho == rows.rho.min() else 4  # opposite points, of which the next curve covers all
    (line,) = ax.plot(pair.depth, pair.depth * (pair.kernel - 0.25), "o", markersize=size, label=rf"${rho:g}$")
    ax.plot(pair.depth, pair.depth * pair.predicted, color=line.get_color(), linewidth=1)
ax.set(xscale="log", xlabel=r"depth $L$", ylabel=r"$L\,(\bar\Theta^{(L)} - 1/4)$", ylim=(-2, 22))
ax.legend(title=r"$\rho^{(1)}$", loc="center left", bbox_to_anchor=(1, 0.5))
ax.set_title("Is the distance from 1/4 of order 1/L?")
chapter.figure(
    fig,
    "fig-c-rate",
    rows,
    alt="Rescaled distance from one quarter against the logarithm of depth: points of six pairs on lines that all end with the same "
    "upward slope.",
)
# %% [markdown] tags=["caption"]
# **The distance from 1/4 is not $O(1/L)$.** Depth times that distance, for the pairs of paper C, Fig. 2, and others.
# Points: the kernel; lines: the law with constants 3/8 and $c$, nothing fitted. If the rate were $O(1/L)$, all would
# level off; they share the slope 3/8.
# %% [markdown]
# ## One kernel of $L+c$, and its ridge
# In three to five dimensions, from twenty layers on, the law below is within {claim}`C.Thm3-uniform` of the
# {term}`predictor` ({numref}`fig-c-laws`). A deep layer depends on a pair through $M=3\pi/\phi_L$ alone. With the
# constants $a_1$ and $g_1$ of the series of $A$ and $S$ ($3\pi g_1=-\frac34\pi^3$, $3\pi a_1=6.92$), and $M_1$ the
# value of $M$ at the inputs,
#
# $$
# \begin{aligned}
# M - \tfrac32\ln M + \frac{3\pi a_1}{M} &= L + c, \\
# L\,\bar\Theta &= \frac M4 - \frac18 + \frac{3\pi g_1}{M} - \Bigl(\frac{M_1}4-\frac98\Bigr)\Bigl(\frac{M_1}{M}\Bigr)^{3} .
# \end{aligned}
# $$ (eq:C:uniform)
#
# Nothing else of the pair enters, and the law holds at all angles. What follows from it differs on the two sides of
# $c\sim L$, that is of the angle $3\pi/L$.
#
# *Pairs further apart.* Their $c\ll L$, and to first order the kernel matrix of $n$ different points is
#
# $$
# \bar\Theta = a\,\mathbf 1\mathbf 1^\top + (1-a)\,I + \frac{C}{4L}, \qquad
# a = \frac14 + \frac{\frac38\ln L-\frac18}{L} ,
# $$ (eq:C:matrix)
#
# with $C$ the matrix of the offsets $c_{ij}$, zero on its diagonal. Multiply by $4L$, which changes no predictor:
#
# $$
# 4L\,\bar\Theta = (C + 4La\,\mathbf 1\mathbf 1^\top) + \Lambda I, \qquad
# \Lambda = 4(1-a)L = 3L - \tfrac32\ln L + \tfrac12 .
# $$ (eq:C:ridge)
#
# So the deep network predicts as *ridge regression*. Its kernel $c$ does not depend on depth, but its ridge $\Lambda$,
# which comes from the diagonal, does: ten times deeper is ten times the ridge. The constant $4La$ is so large that the
# mean of the targets is learnt at once. {cite}`xiao2020` have that the deep predictor becomes independent of the data
# as $t\to\infty$, by paper C, Sec. 6.4; a ridge that grows as $L$ is how this happens. We found it nowhere before.
#
# *Pairs nearer.* The kernel $c$ diverges as $3\pi/\phi$, whereas that of the network stops at $3L$, by the crossover
# {eq}`eq:C:crossover`. So once pairs are nearer than $3\pi/L$ the matrix expanded in $c$ is not even positive: *more*
# data break the ridge. On the 2-sphere its median distance is {claim}`C.Thm3-ridge-fails`, but {eq}`eq:C:uniform` holds
# there, too.
# %%
images = chapter.rows(studies.deep_prediction, "drawn").query("depth <= 1000")
spheres = chapter.rows(scales.sphere_laws, "main")
laws = {"closed": "expanded in $C/L$", "first": "ridge", "uniform": "one kernel of $L+c$"}
fig, (left, right) = plots.panels(2, width=4.3, height=3.9, sharey=True)
spread = spheres.groupby(["n0", "depth"])[list(laws)[1:]]
middle = spread.median()
low, high = spread.quantile(0.25), spread.quantile(0.75)
places = [f"$S^{{{space - 1}}}$\n$L={depth}$" for space, depth in middle.index]
for (law, words), colour in zip(laws.items(), plots.PALETTE):
    left.plot(images.groupby("depth")[law].mean(), "o-", markersize=4, color=colour, label=words)
    if law in middle:
        bars = [middle[law] - low[law], high[law] - middle[law]]
        right.errorbar(places, middle[law], bars, fmt="os"[law == "first"], color=colour, capsize=3)
left.set(xscale="log", yscale="log", xlabel=r"depth $L$", ylabel="distance from the deep predictor", title="Images")
right.set(title="Spheres of few dimensions")
left.legend(fontsize="small")
chapter.figure(
    fig,
    "fig-c-laws",
    images,
    spheres,
    title="Which law predicts as the deep kernel does?",
    alt="Left, errors of three laws against depth on images, all falling but that of the expansion, which is above one up to a "
    "hundred layers. Right, on spheres both ridges are near or above one, and the uniform law below a hundredth.",
)
# %% [markdown] tags=["caption"]
# **One kernel of $L+c$ is right on images and on spheres of few dimensions; ridge regression only where pairs are far
# apart.** Distance of the deep predictor from each law, over the predictor's own variation over fresh points. Left:
# means on images. Right: medians over data sets, bars: quartiles.
# %% [markdown]
# ## The width that a network needs is $\tau^3$
# How wide is wide enough? The noise of one entry of the kernel is a function of depth over width {cite}`hanin2020`, and
# paper C asks for $L\in o(m)$, where "the ratio of depth-to-width is essentially zero". One would expect that ten times
# more neurons than layers do.
#
# They do not ({numref}`fig-c-width`), because the data are not in the entries but in their differences, of order $1/L$.
# A layer of $m$ neurons gives a small angle a relative error of variance $2/m$ ({cite}`jakub2024,li2023` have such
# fluctuations; we read the abstracts). This moves $3\pi/\phi_l\simeq l$ by $l\sqrt{2/m}$, and since later layers keep
# what is added, $c$ makes a random walk, with the variance
#
# $$
# \operatorname{var} c \simeq \frac2m\sum_{l\le L} s_l\Bigl(\frac{3\pi}{\phi_l}\Bigr)^2 \simeq \frac{2\tau^3}{3m} ,
# $$ (eq:C:walk)
#
# where $s_l=1$ and $\tau=L$ in a plain network. The data are in differences of $c$ of order one, which are larger than
# this noise only for $m\gg\tau^3$.
#
# *Plain networks.* At our depths angles are not small in the first layers. To first order in $1/m$ the variance follows
# exactly from the noise of one layer, and the spread of $c$ then grows as $L$ to the power {glue:text}`walk-power` in
# place of 3/2. Over networks the variance is {claim}`C.Thm3-walk` times this theory where it is furthest off. The
# predictor's distance from infinite width grows with the same power as the spread, up to {claim}`C.Thm3-width-depth`.
#
# *With skips and norms.* With skip connections of scale 1, where it is furthest off, the variance is
# {claim}`C.Thm3-walk-shares` times {eq}`eq:C:walk`: layers that share neurons do not have independent errors. A
# pre-norm network of 96 layers has $\tau=6.1$. Its own kernel is {claim}`C.Thm3-shares-width` times as far from
# infinite width as that of a plain network of 6 layers. If $L/m$ decided, it would be four times. So deep
# networks *without* normalised skips do not reach their limit at usual widths. Those with them do, but only
# because their depth is $\ln L$.
#
# *Networks that are trained.* So far we took a network's own kernel at its start. One would expect training to take it
# further away, since its kernel moves {cite}`hanin2020`. We trained 5, 10 and 20 layers to the end. The predictor does
# move, and again by $m/L^3$: twice the layers with eight times the neurons change how far by
# {claim}`C.Thm3-trained-cubed`, where a function of $L/m$ has 1/4. But it hardly moves away: its distance from infinite
# width is {claim}`C.Thm3-trained-distance` times that before.
#
# Of the law $m\gg\tau^3$ for the predictor we found nothing before; compare {cite}`terjek2025concentration`, where
# widths beyond $L^2$ suffice for another distance. Ensembles and kinks are on {ref}`the page on width <depth-width>`.
# %%
sphere = chapter.rows(scales.finite_networks, "sphere")
trained = chapter.rows(scales.trained_networks, "main")
images = chapter.rows(scales.finite_networks, "images")
shared = chapter.rows(scales.finite_networks, "pre_norm")
few = chapter.rows(scales.finite_networks, "shallow")
half = torch.tensor(np.pi / 2, dtype=torch.float64)  # of orthogonal inputs
spread = [float(finite.offset_variance(half, depth=depth, width=1)) ** 0.5 for depth in (12, 48)]
chapter.glue("walk-power", np.log(spread[1] / spread[0]) / np.log(4))
fig, (left, right) = plots.panels(2, width=4.3, height=3.9)


def points(at, of, **style):
    """Means over networks with standard errors, where widths lie at `at`."""
    score = of.groupby(at).agg(["mean", "sem"])
    left.errorbar(score.index, score["mean"], score["sem"], capsize=2, **style)


few_layers = {int(few.depth.iloc[0]): few}
for (depth, rows), marker in zip({**few_layers, **dict(list(sphere.groupby("depth")))}.items(), "v^so"):
    points(rows.width / depth**3, rows.distance, fmt=f"{marker}-", label=f"plain, $L = {depth}$")
tau = 2 + shared.depth.map(lambda depth: float(residual.layer_shares("pre-norm", depth - 1).sum()))
points(shared.width / tau**3, shared.distance, fmt="P-", color="C7", markersize=7, label=r"pre-norm, $m/\tau^3$")
for column, marker, words in (("start", "D", "at the start"), ("trained", "x", "trained")):
    style = {"fmt": marker, "color": "black", "fillstyle": "none", "label": words}
    points(trained.width / trained.depth**3, trained[column], **style)
for (depth, rows), marker in zip(images.groupby("depth"), "^o"):
    score = rows.groupby("width").accuracy.agg(["mean", "sem"])
    line = right.errorbar(score.index, score["mean"], score["sem"], fmt=f"{marker}-", capsize=2, label=f"$L = {depth}$")
    right.axhline(rows.wide_accuracy.mean(), color=line[0].get_color(), linestyle="--", linewidth=1)
left.set(
    xscale="log",
    yscale="log",
    xlabel=r"$m/L^3$, pre-norm: $m/\tau^3$",
    ylabel="distance from infinite width",
    title="What is wide?",
)
left.legend(fontsize="small", loc="lower left")
right.set(xscale="log", ylim=(0, 1), xlabel="width $m$", ylabel="accuracy", title="How accurate is it?")
right.legend(loc="lower right")
chapter.figure(
    fig,
    "fig-c-width",
    sphere,
    trained,
    images,
    shared,
    few,
    alt="Left, distances of plain networks of four depths, and of pre-norm ones, against the width over the depth cubed, "
    "near one falling curve. Right, accuracy against width at two depths, of which the deep one stays far below its "
    "dashed line.",
)
# %% [markdown] tags=["caption"]
# **How far a network is from infinite width depends on $m/L^3$, before training and after, with pre-norm layers on
# $m/\tau^3$.** Left: distance of the predictor of a network's own kernel at its start from that of infinite width, over
# the variation of the latter, on a sphere; diamonds and crosses: 5 to 20 layers at their start, and trained. Right:
# accuracy on images; dashed: infinite width. Means over networks with standard errors.
# %% [markdown]
# ## The findings, with sizes and exceptions
# - **How deep a network is, is one number $\tau$.** It is $L$ for $L$ plain layers, about $L/2$ with skip connections
#   of scale 1, and about $\ln L$ where a skip connection goes around a norm, a ReLU and weights (*pre-norm*). For 10000
#   pre-norm layers the ridge is {glue:text}`ridge-pre-norm`, but for plain ones $3\cdot10^4$. A norm after the ReLU is
#   an exception.
# - **A plain network needs a width near $L^3$, not $L$.** We see the cube from 12 to 48 layers, on a sphere. On digits
#   a network of depth 30 and width 2048 loses {claim}`C.Thm3-width-images` of the accuracy at infinite width; at depth
#   6 it loses {claim}`C.Thm3-width-shallow`.
# - **So paper C's recipe of few layers is a good one for plain networks.** On digits the depth that it prescribes has
#   an accuracy higher by {claim}`C.Thm3-recipe-depth` than depth 30. However, at infinite width even a very deep
#   network need not forget the data: with classes in equal parts its accuracy at depth $10^6$ is
#   {claim}`C.Thm3-accuracy-balanced`.
#
# ## Exercises
#
# **1. Where angles end.** A layer takes a small angle to $\phi-\phi^2/3\pi$. After how many layers is an angle of 5°
# half as large? One of 90°? Why does the answer hardly matter at depth 1000?
#
# <details class="solution"><summary>Solution</summary>
#
# $d\phi/dL=-\phi^2/3\pi$ gives $1/\phi_L=1/\phi_0+L/3\pi$, so that half is reached after $L=3\pi/\phi_0$ layers. This
# is 108 for 5°. For 90° it is 6, but there the angle is not small, and the formula only a guide. At depth 1000 all
# angles above a degree or so are near $3\pi/L=0.54°$, because the first term is small beside the second.
#
# </details>
#
# **2. A prediction.** The claims on Fig. 2 and Theorem 2 look at depth $10^6$. What will C.Thm2-limit measure at depth
# 1000, for the four pairs of Fig. 2?
#
# ```sh
# make chapter-05 PROFILE=smoke NAME=shallow PARAMS='-p curve_depth 1000 -p curve_rho "[0.0, 0.5, 0.9, 0.99]"'
# ```
#
# <details class="solution"><summary>Solution</summary>
#
# By {eq}`eq:C:rate` the distance of a pair is $\bigl[\frac38\ln1000+\frac14c(\rho)-\frac18\bigr]/1000$ to first order.
# The closest of the four pairs has the largest offset, $c(0.99)=59.40$, which gives 0.0173: far outside the band of
# C.Thm2-limit, because this is one for depth $10^6$. How deep one must go is set by the closest pair.
#
# </details>
