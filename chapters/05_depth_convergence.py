# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (chapter-05)=
# # Depth is a ridge
# We ask what the {term}`tangent kernel` of a wide ReLU network becomes when layers are added, and what it then predicts.
#
# ## What we find
# - **The limit is right, the rate is not.** {term}`Divided by its diagonal <normalised kernel>`, the kernel of different inputs tends to
#   1/4, as paper C says. At depth $10^6$ it is within $2\cdot10^{-4}$. The distance falls as $\frac38\ln L/L$ and not as $1/L$: we
#   measure {claim}`C.Thm2-rate` for the constant 3/8. Smooth activations, scaled to criticality, have the limit 1/3.
# - **Depth is a {term}`ridge`.** With 30 layers the {term}`predictor` of an infinitely wide network is ridge regression with a kernel that does not depend on depth.
#   On 500 images the two differ by {claim}`C.Thm3-ridge` of the predictor's variation. At depth $L$ the ridge is about $3L$, and $2L$ for
#   smooth activations. Eight times the images in a network eight times as deep have at most {claim}`C.Thm3-collapse-all` times the error.
# - **The paper's recipe is a good one.** On 500 digits the prescribed depth gains {claim}`C.Thm3-recipe-depth` of accuracy over depth 30.
#   In very deep networks the predicted values tend to a constant, but the predicted class, their argmax, need not. At depth $10^6$ its
#   accuracy is {claim}`C.Thm3-accuracy-balanced` with classes in equal parts, and {claim}`C.Thm3-accuracy-drawn` with classes as they are drawn.
#
# ## Overview
# A very wide network trained by gradient descent is a kernel machine. Paper C {cite}`starnaud2025` shows that the kernel of a deep ReLU
# network tends to 1/4 for every pair of different inputs. The paper builds two rules on it. One says how deep a network may be
# before its predictions no longer depend on the data. The other says how early one should stop.
#
# At large depth $L$ the kernel of a pair depends on the pair through one number. Prediction with such a kernel is ridge regression: the
# number is the kernel of this regression, and the ridge is about $3L$. So ten times deeper is ten times the ridge.
#
# You need to know what a kernel and its Gram matrix are, and nothing else of the book. The {ref}`details page <depth-details>` has early
# stopping and other layers. A {ref}`second one <depth-operators>` has the paper's further figures, its tables and single statements.
#
# Before us: in the three phases of initialisation the deep tangent kernel becomes independent of the data, and so does its predictor
# {cite}`xiao2020`. The rate at which the kernel becomes trivial is the subject of {cite}`hayou2019`; {cite}`hayou2022` characterise it
# fully, as their abstract says. For layers $as+b|s|$ the entries of the deep kernel approach inverse cosine distances, at a rate set by
# $b^2/(a^2+b^2)$ {cite}`terjek2025spectrum`. The width at which a network's kernel is near its limit is in
# {cite}`terjek2025concentration`, and for a fixed ratio of depth to width in {cite}`hanin2020`. Of these we could read an early
# version of {cite}`hayou2019`, and abstracts of the others. We do not know which of our constants they have.
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
profile: "one of smoke, laptop, paper" = "laptop"  # chosen with --profile
corpus: "one of mnist, fashion_mnist, cifar10, digits" = "mnist"  # images of figures 5-8 and table 2 (paper C: MNIST)
n0: "count from 3 to 1e4" = 128  # dimension of the sphere's space (paper C: 128)
curve_rho: "distinct numbers from -1 to 0.999999" = [0.0, 0.5, 0.9, 0.99, -1.0, -0.9, 0.9999]  # input correlations (paper C, Fig. 2: the first four)
curve_depth: "count from 1000 to 1e7" = 1000000  # deepest network of the curves (paper C, Fig. 2: not stated)
tab2_n: "count from 10 to 1e5" = 500  # training points (paper C, Tab. 2: 500)
tab2_test: "count from 10 to 1e5" = 2000  # test points (paper C: not stated)
tab2_depths: "increasing counts to 1e6" = [2, 5, 10, 30, 100]  # depths (paper C, Tab. 2: 30)
eigen_n: "increasing counts from 2 to 1e6" = [50, 100, 200, 500, 1000]  # data sizes of the smallest eigenvalue (paper C, Fig. 7: not stated)
text: "one of regimes.data.datasets.CORPORA" = "pydoc"  # corpus of table 1 (paper C: text8, which no package ships)
# fmt: on
# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from companion.claims.depth_kernel import LIMITS
from companion.claims.depth_training import width_exponents
from companion.estimates import slopes
from companion.report import claims, papers, plots, sketches
from companion.report.chapter import Chapter
from companion.studies import depth as studies
from companion.theory.depth import deep_limit, rate, ridge
from regimes.data import datasets

chapter = Chapter("05", globals())
# %% [markdown]
# ## Ten times deeper is ten times the ridge
# With 30 layers and 500 images the deep kernel learns half of the targets' part along an eigenvector with eigenvalue near 85, the ridge.
# With 300 layers the eigenvalue learnt to one half is near 890 ({numref}`fig-c-ridge`). The eigenvectors are those of a kernel matrix $C$
# that does not depend on depth. Move the slider to ten times the depth: the outputs for fresh images stay those of a ridge regression,
# and the learnt shares move by a decade. The next sections derive this.
#
# The ridge is new as far as we know. In {cite}`xiao2020` the deep predictor becomes independent of the data as $t\to\infty$ (paper C,
# Sec. 6.4, says this of it); a ridge of order $L$ says how. Compare {cite}`hayou2022`, too.
# %%
images, fresh = datasets.split(datasets.to_sphere(datasets.load(corpus)), [tab2_n, min(tab2_test, 200)], seed=0)
targets = torch.nn.functional.one_hot(images.y.long(), 10).double()
depths = [10, 30, 100, 300, 1000, 3000, 10000]
outputs = ridge.predictions(images.x, fresh.x, targets, depths)
strength, shares = ridge.learnt_shares(images.x, depths)
fig, (left, right) = plots.panels(2, width=3.45, height=3.6)


def draw(frame):
    deep = outputs["deep"][frame].flatten()
    for law, colour, words in (("expanded", "0.8", "expanded in $C/L$"), ("ridge", "C0", "ridge regression")):
        left.plot(deep, outputs[law][frame].flatten(), ".", markersize=2, color=colour, label=words)
    ends = float(deep.min()), float(deep.max())
    left.plot(ends, ends, color=plots.COLOURS["theory"], linewidth=0.8)
    left.set(xlim=ends, ylim=ends, xlabel="output of the deep kernel", ylabel="output of the law")
    left.legend(loc="lower right", markerscale=4)
    right.plot(strength, shares[frame], "o", markersize=3, color=plots.COLOURS["theory"])
    x = np.geomspace(1, 1000, 100)
    for depth in depths:
        right.plot(x, x / (x + deep_limit.depth_ridge(depth)), color="C0" if depth == depths[frame] else "0.85")
    right.set(xscale="log", xlim=(1, 1e3), ylim=(0, 1), xlabel="eigenvalue of $C$", ylabel="learnt share")
    right.set_title(f"$L = {depths[frame]}$, ridge {deep_limit.depth_ridge(depths[frame]):.0f}")


chapter.slider(fig, draw, [f"L = {depth}" for depth in depths], "fig-c-ridge", knob="depth L", start=1)
# %% [markdown] tags=["caption"]
# **Ten times deeper is ten times the ridge.** Left: outputs for ten classes on fresh images, of the deep kernel and of two laws: ridge
# regression with a kernel that does not depend on depth, and its expansion for depths that are large against the number of images.
# Right: learnt share of each eigenvector of that kernel, by the deep kernel (points) and by the ridge (line; grey: other depths).
# %% [markdown]
# ## The network, its kernel, and the limit of large width
# The network has $L$ layers of standard normal weights, $m$ neurons in each hidden layer, and no biases:
#
# $$
# z^{(1)} = \frac{W^{(1)}x}{\sqrt{n_0}}, \qquad z^{(l+1)} = \frac{W^{(l+1)}\sigma(z^{(l)})}{\sqrt m}, \qquad
# f(x) = z^{(L)}, \qquad \sigma(z) = \max(z, 0) .
# $$ (eq:C:network)
#
# {term}`Gradient flow` on the weights moves the output by the tangent kernel
# $\Theta^{(L)}(x,x') = \sum_\theta \partial_\theta f(x)\,\partial_\theta f(x')$. At infinite width this kernel is not random
# and does not change in training. Theorem 1 of the paper {cite}`jacot2018` gives it layer by layer. With
# $(u,v)$ Gaussian of covariance $\Sigma^{(l)}$ at the two inputs,
#
# $$
# \Sigma^{(1)} = \Theta^{(1)}_\infty = \frac{x\cdot x'}{n_0}, \quad
# \Sigma^{(l+1)} = \mathbb E[\sigma(u)\sigma(v)], \quad
# \Theta^{(l+1)}_\infty = \mathbb E[\sigma'(u)\sigma'(v)]\,\Theta^{(l)}_\infty + \Sigma^{(l+1)} .
# $$ (eq:C:theta)
#
# A ReLU layer halves the variance, so that $\Theta^{(L)}_\infty(x,x) = L/(n_0 2^{L-1})$ on the unit sphere. We divide
# by this value. The normalised kernel $\bar\Theta^{(L)} = n_0 2^{L-1}\Theta^{(L)}_\infty/L$ is 1 on the diagonal, and depends on the
# angle alone.
#
# %% [markdown]
# ## One layer brings every pair closer
# Two unit inputs at correlation $\rho$ leave an infinitely wide ReLU layer at correlation $h(\rho)$,
#
# $$
# h(\rho) = \frac{\sqrt{1-\rho^2} + \rho\,(\pi - \arccos\rho)}{\pi}, \qquad h'(\rho) = 1 - \frac{\arccos\rho}{\pi} .
# $$ (eq:C:h)
#
# {numref}`fig-sketch-cobweb` follows two pairs through many layers. The map lies above the identity and touches it at
# $\rho=1$ with slope one. Near that point $h(\rho)-\rho\simeq\frac{2\sqrt2}{3\pi}(1-\rho)^{3/2}$; the measured exponent is
# {claim}`C.Fig3-contact`. So pairs approach 1 more slowly than geometrically. All results of this chapter follow from this contact.
# %%
chapter.figure(
    sketches.cobweb(),
    "fig-sketch-cobweb",
    alt="A curve above the diagonal that meets it at the upper right corner and is tangent to it there. Two staircases between "
    "curve and diagonal climb towards that corner with ever smaller steps.",
)
# %% [markdown] tags=["caption"]
# **All pairs end at 1, in ever smaller steps.** The correlation of two inputs from layer to layer, in a wide ReLU network (paper C,
# Fig. 3): up to the curve is one layer, across to the dashed line the start of the next. At 1 the curve touches the line.
# %% [markdown]
# ## The limit is 1/4
# At depth $10^6$ the normalised kernel of every pair that we follow is within {claim}`C.Thm2-limit` of 1/4.
# The kernel obeys a recursion (Prop. 5 of the paper). Let $\phi_L$ be the angle of the pair at layer $L$ and
# $S_L = L\,\bar\Theta^{(L)}$. Then
#
# $$
# S_{L+1} = \Bigl(1 - \frac{\phi_L}{\pi}\Bigr) S_L + \rho^{(L+1)}, \qquad S_1 = \rho^{(1)} .
# $$ (eq:C:recursion)
#
# *Where 1/4 comes from.* In the angle $\phi=\arccos\rho$ the layer map $\rho\to h(\rho)$ begins as $\phi_{L+1} = \phi_L - \phi_L^2/(3\pi)$.
# In deep layers this is $d\phi/dL = -\phi^2/(3\pi)$, so that $\phi_L = 3\pi/L$ for every input. A layer then multiplies $S$ by
# $1-\phi_L/\pi = 1 - 3/L$ and adds $\rho^{(L+1)}\to1$:
#
# $$
# \frac{dS}{dL} = 1 - \frac{3S}{L} \qquad\Longrightarrow\qquad S_L = \frac L4 + \mathrm{const}\cdot L^{-3} .
# $$ (eq:C:quarter)
#
# *Numerics.* We never form $1-\rho$ by subtraction. Beyond some 150 layers we do not iterate but use Abel's function $A$ of the
# angle, which grows by exactly 1 a layer. So a million layers are one equation,
# $A(\phi_{l+10^6})=A(\phi_l)+10^6$ (module `regimes.kernels.relu_asymptotics`).
# %% [markdown]
# ## The rate is $\log L / L$, not $1/L$
# $L$ times the distance from 1/4 grows as {claim}`C.Thm2-rate` times $\ln L$ ({numref}`fig-c-rate`). Theorem 2 says that the distance is
# $O(1/L)$; then this product would be bounded. Take one more term of the layer map,
# $\phi_{L+1} = \phi_L - \phi_L^2/(3\pi) - \phi_L^3/(18\pi^2)+\dots$ It gives
# $3\pi/\phi_{L+1} = 3\pi/\phi_L + 1 + \phi_L/(2\pi) + \dots$ With $\phi_L\simeq3\pi/L$ the last term is $\frac3{2L}$. Summed
# over layers it gives the logarithm. With $e_L=1-\rho^{(L)}$,
#
# $$
# \frac{3\pi}{\phi_L} = L + \tfrac32\ln L + c(\rho) + o(1), \qquad
# e_L = \frac{9\pi^2}{2L^2}\Bigl(1 - \frac{3\ln L}{L} + O(1/L)\Bigr) .
# $$ (eq:C:offset)
#
# Very deep layers depend on the pair only through the constant $c(\rho)$, its *offset*. Insert $S_L = L/4 + s_L$ and
# $\phi_L/\pi = \frac3L\bigl(1-(\frac32\ln L+c)/L\bigr)$ into {eq}`eq:C:recursion`:
#
# $$
# \frac{ds}{dL} = -\frac{3s}{L} + \frac{9}{8}\,\frac{\ln L}{L} + \frac34\,\frac cL .
# $$ (eq:C:eighths)
#
# The solution is $s = \frac38\ln L + \frac c4 - \frac18$. Hence
#
# $$
# \bar\Theta^{(L)}(\rho) = \frac14 + \frac1L\Bigl[\tfrac38 \ln L + \tfrac14 c(\rho) - \tfrac18\Bigr] + o(1/L) .
# $$ (eq:C:rate)
#
# The term $\frac38\ln L/L$ is the same for every pair, and is not $O(1/L)$. The paper's proof has a forcing term $o(1/L)$ in the recursion.
# It sums $L$ such terms, and the sum is again taken as $o(1/L)$. There the logarithm is lost.
#
# The question is older. {cite}`hayou2019` show that the kernel over $L$ tends to a number below 1 off the diagonal, with polynomial rates:
# $O(1/L)$ for layers like ReLU and $\log L/L$ for smooth ones. New as far as we know are the constants 3/8 and $c(\rho)$; compare
# {cite}`hayou2022`, whose rates we could not read, and the inverse cosine distances of {cite}`terjek2025spectrum`.
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
# **The distance from 1/4 is not $O(1/L)$.** Depth times that distance, for the pairs of paper C, Fig. 2, and others. Points: the kernel;
# lines: the law with constants 3/8 and $c$, nothing fitted. A rate $O(1/L)$ would make all of them level off; they share the slope 3/8.
# %% [markdown]
# ## Thirty layers predict as ridge regression does
# At depth 30 the predictor on 500 images differs from ridge regression by {claim}`C.Thm3-ridge` of its own variation
# ({numref}`fig-c-laws`). By {eq}`eq:C:rate` the normalised kernel matrix of $n$ different points is
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
# So the deep network predicts as *ridge regression* with the kernel $c(\rho)$ and the ridge $\Lambda$. The kernel $c$ does not depend on
# depth. The constant $4La$ added to it does, and is so large that the mean of the targets is learnt at once. The ridge comes from the
# diagonal. For nearby inputs, $\phi\to0$, the kernel $c$ diverges as $3\pi/\phi$. Depth $L$ cuts it off at $3L$, with the crossover
# {eq}`eq:C:crossover`.
#
# The next order in $1/L$ changes the ridge and not the kernel, except for nearby inputs ({eq}`eq:C:uniform`). From thirty layers on
# the ridge holds for more images as well. Its expansion in $C/L$ needs depths far above their number.
# %%
few = chapter.rows(studies.deep_prediction, "drawn").query("depth <= 1000")
many = chapter.rows(studies.deep_prediction, "larger").query("depth <= 1000")
laws = {
    "closed": "expanded in $C/L$",
    "first": "ridge, first order",
    "second": "ridge, second order",
    "uniform": "uniform in $c$",
}
fig, ax = plt.subplots()
for (law, words), colour in zip(laws.items(), plots.PALETTE):
    ax.plot(few.groupby("depth")[law].mean(), "o-", markersize=4, color=colour, label=words)
    ax.plot(many.groupby("depth")[law].mean(), "^--", markersize=4, color=colour)
ax.set(xscale="log", yscale="log", xlabel=r"depth $L$", ylabel="distance from the deep predictor")
ax.set_title("From which depth is it ridge regression?")
ax.legend()
chapter.figure(
    fig,
    "fig-c-laws",
    few,
    many,
    alt="Relative errors of four laws against depth for two numbers of images: that of the expansion is above one up to a hundred "
    "layers, those of the ridge fall from a tenth to a thousandth.",
)
# %% [markdown] tags=["caption"]
# **Ridge regression holds from about thirty layers on.** Distance of the deep predictor from each law, over the predictor's own variation
# over fresh images; dashed: more images. First and second order are in $1/L$; uniform: valid for nearby inputs too.
# %% [markdown]
# ## The argmax need not forget the data
# At depth $10^6$ the accuracy is {claim}`C.Thm3-accuracy-balanced` with ten classes in equal parts, and
# {claim}`C.Thm3-accuracy-drawn` with classes as they are drawn ({numref}`fig-c-deep`). The kernel's next order in $1/L$ explains both.
# The flow $\partial_t f = -\bar\Theta(\cdot,X)(f(X)-y)$ predicts $f_t(x) = f_0(x) + \mathrm{op}_t(x)\cdot(y-f_0(X))$. Here the
# projection operator, one weight for each training target, is
#
# $$
# \mathrm{op}_t(x) = \bar\Theta(x,X)\,\bar\Theta(X,X)^{-1}\bigl(1-e^{-t\bar\Theta(X,X)}\bigr) .
# $$ (eq:C:operator)
#
# As in the paper's Remark 1 the flow has no factor $1/n$; with it all times are $n$ times longer.
#
# Let the ridge be large against all eigenvalues of $C$: depths far above the number of images. Then the inverse is explicit
# ({eq}`eq:C:deep-operator`). For targets $y$ of mean $\bar y$ and with $\beta = a/(1+(n-1)a)$ it gives the *closed law*
#
# $$
# f_\infty(x) = n\beta\,\bar y + \frac1{3L}\sum_i\Bigl[c(x\cdot x_i)-\frac1{n+3}\sum_{j\ne i}c_{ij}\Bigr]
# \Bigl(y_i-\frac{n}{n+3}\,\bar y\Bigr) + o\Bigl(\frac1L\Bigr) .
# $$ (eq:C:deep)
#
# The logarithm remains only in $n\beta = \frac{n}{n+3}\bigl(1+\frac{4(4a-1)}{n+3}+\dots\bigr)$, and is absent for targets of mean zero.
# The limit is the constant $\frac n{n+3}\bar y$, as the paper says. The next order is a regression with the kernel $c$, which does not
# depend on depth. With classes in equal parts $\bar y$ is the same for all classes. Then this order decides at *every* depth, and the
# accuracy has a limit, that of the kernel $c$. With classes as they are drawn the means differ by some $1/\sqrt n$. In very deep networks
# this is more than $1/L$, and the largest class is predicted everywhere.
# %%
balanced = chapter.rows(studies.deep_prediction, "balanced")
drawn = chapter.rows(studies.deep_prediction, "drawn")
fig, ax = plt.subplots()
for rows, words in ((balanced, "in equal parts"), (drawn, "as drawn")):
    accuracy = rows.groupby("depth")[["accuracy", "law_accuracy"]].mean()
    (line,) = ax.plot(accuracy.accuracy, "o-", markersize=4, label=words)
    ax.plot(accuracy.law_accuracy, "--", color=line.get_color(), linewidth=1, label="closed law")
ax.set(xscale="log", ylim=(0, 1), xlabel=r"depth $L$", ylabel="accuracy on fresh images")
ax.set_title("Are the data forgotten?")
ax.legend(loc="lower left")
chapter.figure(
    fig,
    "fig-c-deep",
    balanced,
    drawn,
    alt="Accuracy against depth: with classes in equal parts it levels off, with classes as drawn it falls to chance.",
)
# %% [markdown] tags=["caption"]
# **With classes in equal parts the accuracy stops falling; with classes as drawn it ends at chance.** Accuracy of kernel regression at
# infinite time (circles) and of its closed law (dashed).
# %% [markdown]
# ## The depth that the paper prescribes is a good one
# On 500 digits the accuracy at the prescribed depth, {glue:text}`recipe-depths`, is above that of depth 30 by
# {claim}`C.Thm3-recipe-depth`. It differs from the accuracy at the best of nine depths by {claim}`C.Thm3-recipe-best`
# ({numref}`fig-c-recipe`). The top is flat: neighbouring depths do as well. Thirty layers give too large a ridge, and the recipe avoids that.
#
# The paper prescribes the depth $L=\max_{ij}1/\sqrt{1-h(x_i\cdot x_j)}$, with the layer map $h$ of {eq}`eq:C:h`. It also prescribes training
# times up to $\lceil1/\lambda_n\rceil$, with $\lambda_n$ the smallest eigenvalue of the kernel matrix. The paper calls this
# the "Goldilocks" zone "where the NTK is stable, yet it retains its expressivity". We round the depth up, and draw the digits without
# regard to their classes.
# %%
rows = chapter.rows(studies.recipe, "main")
prescribed = rows[rows.depth == 0]
others = rows[rows.depth > 0].groupby("depth")
fig, ax = plt.subplots()
for time, words in (("accuracy", "t = ∞"), ("stopped", "t = ⌈1/λ⌉"), ("early", "t = 1")):
    score = others[time].agg(["mean", "sem"])
    line = ax.errorbar(score.index, score["mean"], score["sem"], fmt="o-", markersize=4, capsize=2, label=words)
    star = {"markersize": 15, "markeredgecolor": "black", "zorder": 9}
    ax.plot(prescribed.layers.mean(), prescribed[time].mean(), "*", color=line[0].get_color(), **star)
ax.set(xlabel=r"depth $L$", ylabel="accuracy on fresh images", title="Is the prescribed depth (stars) a good one?")
plots.curve_axes(ax, score.index, errors=False)
ax.legend()
chapter.glue("recipe-depths", f"{prescribed.layers.min()} to {prescribed.layers.max()}")
chapter.figure(
    fig,
    "fig-c-recipe",
    rows,
    alt="Three curves of accuracy against depth with a flat top between three and six layers, where the stars lie, falling from "
    "eight layers on; that of the first time lies below the others.",
)
# %% [markdown] tags=["caption"]
# **The prescribed depth is near the best, and the last stopping time changes little.** Accuracy against depth at infinite time and at two
# stopping times; stars: the depth that the paper prescribes, at its mean. Bars are standard errors over draws of the images, which all
# depths share.
# %% [markdown]
# (depth-details)=
# # Depth in detail: nearby inputs, early stopping, other layers
# This page derives how nearby inputs reach the limit, and the next order of the ridge. It has early stopping, the error as a function of
# data over depth, other layers, and operators of two points.
#
# ## Nearby inputs need depths beyond their inverse angle
# Nearby inputs are half-way to 1/4 at 2.975 of the paper's units of depth ({numref}`fig-c-crossover`). Corollary 1 says
# that the rate shows once $L\gg 1/\sqrt{1-\rho^{(2)}}$. For a pair at a small angle $\phi$ the whole path has a closed form. Keep
# $\phi_{L+1}=\phi_L-\phi_L^2/(3\pi)$ alone. Then $\phi_L = \phi/(1+u)$ and
#
# $$
# \bar\Theta^{(L)} \to F(u) = \frac{(1+u) - (1+u)^{-3}}{4u}, \qquad u = \frac{L\phi}{3\pi} ,
# $$ (eq:C:crossover)
#
# with $F(0)=1$, $F(\infty)=1/4$ and $F - 1/4\simeq 1/(4u)$. The natural unit is $(3\pi/\sqrt2)/\sqrt{1-\rho^{(2)}}$:
# the corollary's scaling with a constant of 6.66. The corollary's "$\gg$" allows such a constant. Its proof does not: it
# lets $1/\sqrt{e_L}$ grow by $\sqrt2/\pi$ a layer, where Theorem 2 has $\sqrt2/(3\pi)$. It grows by {claim}`C.Cor1-slope`. Half of the way is
# $F=\frac58$, at $u=0.4463$.
# %%
rows = chapter.rows(studies.normalised_kernel, "main")
nearby = rows[rows.rho.isin(sorted(curve_rho)[-3:])]
fig, ax = plt.subplots()
for rho, pair in nearby.groupby("rho"):
    ax.plot(pair.depth * np.arccos(rho) / (3 * np.pi), pair.kernel, "o", markersize=4, label=rf"$\rho={rho:g}$")
u = np.geomspace(1e-3, 1e3, 200)
ax.plot(u, rate.crossover(torch.from_numpy(u)), color=plots.COLOURS["theory"], label="$F(u)$")
ax.set(xscale="log", xlim=(1e-3, 1e3), xlabel=r"$u = L\phi/(3\pi)$", ylabel=r"$\bar\Theta^{(L)}$")
ax.set_title("Do nearby inputs share one curve?")
ax.legend()
chapter.figure(
    fig,
    "fig-c-crossover",
    nearby,
    alt="Kernels of nearby inputs against rescaled depth, on one falling curve from one to a quarter.",
)
# %% [markdown] tags=["caption"]
# **The closer the pair, the better all depths fall on one curve.** The kernel of nearby inputs against the rescaled depth, and the
# crossover law.
# %% [markdown]
# ## The next order changes the ridge, not the kernel
# At ten layers the law that is uniform in $c$ is within {claim}`C.Thm3-ridge-close` of the predictor on 500 images ({numref}`fig-c-laws`).
# A deep layer depends on a pair through $M=3\pi/\phi_L$ alone. Expand the Abel function and the solution of {eq}`eq:C:recursion` in
# powers of $\phi_L$, with the constants $a_1$ and $g_1$ of their series ($3\pi g_1=-\frac34\pi^3$, $3\pi a_1=6.92$). Let $M_1$ be the value of $M$ at the inputs:
#
# $$
# \begin{aligned}
# M - \tfrac32\ln M + \frac{3\pi a_1}{M} &= L + c, \\
# L\,\bar\Theta &= \frac M4 - \frac18 + \frac{3\pi g_1}{M} - \Bigl(\frac{M_1}4-\frac98\Bigr)\Bigl(\frac{M_1}{M}\Bigr)^{3} .
# \end{aligned}
# $$ (eq:C:uniform)
#
# The last term is $O(L^{-3})$, except for nearby inputs with $c\sim L$. Expanded in $c/L$, the order $1/L^2$ of the kernel is
# $\frac{3c}8$ and a constant: again *linear* in $c$. So the eigenvectors stay, and the ridge is divided by $1+\frac3{2L}$. The shape
# of the kernel changes only with $c^2/L^3$, and for nearby inputs.
# %% [markdown]
# ## Stopped early, and as a function of $n/L$
# A deep predictor that is stopped early is ridge regression stopped at the same time. The flow of {eq}`eq:C:operator` has the
# eigenvectors $v_i$ of $C+4La\mathbf1\mathbf1^\top$. With its eigenvalues $\mu_i$ the prediction at time $t$ is
#
# $$
# f_t(x) = \sum_i \frac{(k_x\cdot v_i)\,(v_i\cdot y)}{\mu_i+\Lambda}\Bigl(1-e^{-t(\mu_i+\Lambda)/4L}\Bigr),
# \qquad (k_x)_i = c(x\cdot x_i) + 4La .
# $$ (eq:C:stopped)
#
# All modes with $\mu_i\ll L$ have the same time, $t\approx\frac43$. So in deep networks stopping hardly selects among them.
#
# **A function of $n/L$.** At one $n/L$ 1000 images have at most {claim}`C.Thm3-collapse-all` times the error of an eighth of them
# ({numref}`fig-c-collapse`). For random points the eigenvalues of $C$ grow as $n$ times those of the operator $c$, and the ridge as $3L$. So
# the learnt share depends on $3L/n$. On a sphere the operator has one eigenvalue $\mu_\ell$ for each degree $\ell$, with $N_\ell$
# polynomials. It is a single quadrature. Averaged over data, the share of a target of degree $\ell$ that is not learnt is
#
# $$
# E_\ell = \frac{1}{1-\gamma}\Bigl(\frac{\kappa}{\mu_\ell+\kappa}\Bigr)^2, \qquad
# n\kappa = \Lambda - \sum_{\ell\ge1} \frac{N_\ell\,\mu_\ell^2}{\mu_\ell+\kappa}, \qquad
# \gamma = \frac1n\sum_{\ell\ge1} N_\ell\Bigl(\frac{\mu_\ell}{\mu_\ell+\kappa}\Bigr)^2 .
# $$ (eq:C:curve)
#
# The second term of $n\kappa$ accounts for the zero diagonal of $C$. At fixed $n/L$ it is of order 1 beside $3L$, and $\gamma$ is of
# order $1/n$. In the limit $\kappa=3L/n$.
# %%
images = chapter.rows(studies.size_over_depth, "images")
sphere = chapter.rows(studies.size_over_depth, "sphere")
fig, axes = plots.panels(2, width=4.3, height=3.8)
for n, rows in images.groupby("n"):
    axes[0].plot(rows.groupby("ratio").left.mean(), "o-", markersize=4, label=f"n = {n}")
for (degree, shares), colour in zip(sphere.groupby("degree"), plots.PALETTE):
    for (_, rows), marker in zip(shares.groupby("n"), "^so"):
        axes[1].plot(rows.groupby("ratio").left.mean(), marker, color=colour, markersize=4, fillstyle="none")
    axes[1].plot(rows.groupby("ratio").law.first(), color=colour, label=f"degree {degree}")
for ax, title in zip(axes, ("Images, ten classes", "Sphere")):
    ax.set(xlabel="points over depth, n/L", ylim=(0, 1), title=title)
    plots.curve_axes(ax, images.ratio.unique(), errors=False)
    ax.legend(fontsize="small")
axes[0].set_ylabel("share of the variance left")
fig.suptitle("Does the error depend on $n/L$ alone?", fontsize="medium")
chapter.figure(
    fig,
    "fig-c-collapse",
    images,
    sphere,
    alt="Two panels of falling curves against n over L. On images curves of four data sizes nearly coincide; on the sphere symbols "
    "lie on a theory line for each of three degrees.",
)
# %% [markdown] tags=["caption"]
# **On images four times the data in a network four times as deep learn the same; on the sphere the errors approach theory.** Share of a
# target's variance that is left at infinite time, against the number of points over the depth. Left: images, one line for each number of
# them. Right: polynomials on the sphere in six dimensions; triangles, squares and circles: more and more points; lines: theory for the
# most points.
# %% [markdown]
# ## Non-smooth activations have the limit 1/4, smooth ones 1/3
# At the largest depth the kernels are at {claim}`C.Thm2-kinked` and {claim}`C.Thm2-smooth` ({numref}`fig-c-layers`). Only the number 3 of
# {eq}`eq:C:quarter` is special to the ReLU. Let a layer keep the variance of its input, and let its map touch the identity at 1 as
# $1-h(1-e) = e - A\,e^{1+q}$. Then $e_L^q = 1/(AqL)$ and $h'(1-e_L) = 1-k/L$ with $k = (1+q)/q$. (The numbers $A$, $B$, $b$, $k$ and $q$
# belong to this section.) Hence
#
# $$
# \frac{dS}{dL} = 1 - k\,\frac SL, \qquad \bar\Theta^{(L)} \to \frac1{1+k} = \frac{q}{1+2q} .
# $$ (eq:C:universal)
#
# An activation with a kink, here called *non-smooth*, has $q=\frac12$ and $k=3$, a smooth one $q=1$ and $k=2$. The leaky ReLU and a residual
# layer $\sqrt{1-s}\,x+\sqrt s\,W\sigma(x)$ slow the ReLU's map down by a factor. They change neither $q$ nor the limit.
# A smooth activation keeps the variance and has $h'(1)=1$ after a scale and a shift that make
# $\mathbb E\sigma^2=\mathbb E\sigma'^2=1$; these always exist.
#
# Let $e_L^q = 1/\bigl(Aq(L+b\ln L+\dots)\bigr)$. The steps that led to 3/8 lead to
#
# $$
# \bar\Theta^{(L)} = \frac1{1+k}\Bigl(1 + b\,\frac{\ln L}{L}\Bigr) + O(1/L) .
# $$ (eq:C:universal-log)
#
# All non-smooth activations have $b=\frac32$. For smooth ones $b = 1-B/A^2$ is not universal and has either sign. Here
# $A=h^{(2)}(1)/2$ and $B=h^{(3)}(1)/6$ come from the derivatives of $h$ at 1.
#
# *Compare.* {cite}`hayou2019` have the two classes of activations, and the polynomial rate of residual layers. In
# {cite}`terjek2025spectrum` the ratio $b^2/(a^2+b^2)$ of a layer $as+b|s|$ sets the rate, and the absolute value does better than ReLU.
# {cite}`xiao2020` have a table of limits on the critical line, which we could not read; it may contain the limit 1/3.
# %%
rows = chapter.rows(studies.other_layers, "main")
fig, axes = plots.panels(2, width=4.4, height=4.2)
for layer, paths in rows[rows.rho == 0.5].groupby("layer", sort=False):
    limit = paths.limit.iloc[0]
    style = {1 / 4: "-", 1 / 3: "--"}.get(limit, "k:")
    (line,) = axes[0].plot(paths.depth, paths.kernel, style, label=layer)
    deep = paths[paths.depth >= 10]
    axes[1].plot(deep.depth, deep.depth * (deep.kernel - limit), style, color=line.get_color())
for limit in rows.limit.dropna().unique():
    axes[0].axhline(limit, color=plots.COLOURS["theory"], linewidth=0.8)
axes[0].set(xscale="log", xlabel=r"depth $L$", ylabel=r"$\bar\Theta^{(L)}$", ylim=(0.2, 0.55), title="Which limit?")
axes[1].set(xscale="log", xlabel=r"depth $L$", ylabel=r"$L\,(\bar\Theta^{(L)} - 1/(1+k))$", title="Which rate?")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
chapter.figure(
    fig,
    "fig-c-layers",
    rows,
    alt="Left, kernels of nine kinds of layers against depth, which run to one quarter or to one third. Right, "
    "rescaled distances: straight lines in the logarithm of depth, parallel for kinks.",
)
# %% [markdown] tags=["caption"]
# **Two limits, and one logarithm for all non-smooth activations.** Input correlation 1/2. Left: non-smooth activations and residual layers
# (full) go to 1/4, smooth ones (dashed) to 1/3, the thin lines; residual branches whose share is $1/L$ (dotted) keep the input. Right:
# depth times the distance from the limit; non-smooth ones end with the slope 3/8, smooth ones each with its own.
# %% [markdown]
# Residual branches of share $1/L$ (the dotted line) are not in the paper. With them depth is a unit of time of the flow $d\phi/d\tau$. The
# kernel of an infinitely deep network then still depends on its input.
#
# *The ridge is as general.* Let $c=\lim_L\, 1/(Aq\,e_L^q)-L-b\ln L$ be the offset of the layer. The steps that led to
# {eq}`eq:C:rate` lead to
#
# $$
# (1+k)\,L\,\bar\Theta^{(L)} = L + b\ln L + c(\rho) + d + o(1), \qquad \text{ridge}\quad k\,L - b\ln L - d .
# $$ (eq:C:every-layer)
#
# The number $d$ is $-\frac12$ for non-smooth activations and $\frac32\bigl(1-b-\frac1A-\frac b3\bigr)$ for smooth ones. Near angle
# 0 the kernel $c$ of a non-smooth activation has the ReLU's pole divided by the factor in front of its map. Smooth layers have a pole
# $2/(A\phi^2)$. Tanh and swish need some hundred layers for the ridge law; the others are near it at thirty.
# %%
rows = chapter.rows(studies.layer_prediction, "main")
distances = rows.pivot_table(index=["layer", "k"], columns="depth", values="first", sort=False)
distances.columns = [f"L = {depth}" for depth in distances.columns]
chapter.table(
    distances.reset_index(),
    "tab-c-layers",
    "Other layers are ridges, too. Distance of their predictor from ridge regression with their own offsets, over its variation, and "
    "the ridge over the depth in the limit. Means over draws of the images.",
    rows,
)
# %% [markdown]
# ## Operators of two points differ by the order $\sqrt n/L$
# The smallest difference that we find is {claim}`C.Thm3-nontrivial` over the depth. The first two terms of {eq}`eq:C:matrix` have the
# inverse $(I-\beta\mathbf 1\mathbf 1^\top)/(1-a)$ with the number $\beta = a/(1+(n-1)a)$. To first order in $C/L$,
#
# $$
# \mathrm{op}_\infty(x) = \beta\mathbf 1 + \frac{(I-\beta\mathbf 1\mathbf 1^\top)(c_x-\beta C\mathbf 1)}{4(1-a)L}
# + O\Bigl(\frac{\ln^2L}{L^2}\Bigr), \qquad (c_x)_i = c(x\cdot x_i) .
# $$ (eq:C:deep-operator)
#
# In the limit $\beta\to1/(n+3)$ and $4(1-a)\to3$. Applied to targets this is {eq}`eq:C:deep`. Two statements of the paper follow,
# where $L$ is large against the offsets times $n$.
#
# - **The operators of two points.** $L\,\|\mathrm{op}(x)-\mathrm{op}(x')\|\to\frac13\bigl\|\bigl(I-\frac{\mathbf 1\mathbf
#   1^\top}{n+3}\bigr)(c_x-c_{x'})\bigr\|$ is of order $\sqrt n$. Equation (5) of the paper bounds it from below by $\Omega(1/L)$, with a
#   constant that may depend on $n$.
# - **The distance from $\hat f_t$,** the predictor with the operator $\hat{\mathrm{op}}$ of the limit kernel. Theorem 3 a) says $|f_t-\hat
#   f_t|\in O(n)$. For the worst targets of size 1 the distance is $\sum_i|\mathrm{op}_i-\hat{\mathrm{op}}_i|$, of order $n/L$; for random
#   ones it is of order $\sqrt n/L$.
#
# At depth 30 the expansion is no approximation, the less so the more data there are. The ridge law {eq}`eq:C:ridge` is one there.
# %% [markdown]
# ## Exercises
# **1. Nearby inputs.** Derive {eq}`eq:C:crossover` from {eq}`eq:C:recursion`. At which $u$ is half the way to 1/4 done?
#
# <details class="solution"><summary>Solution</summary>
#
# With $d\phi_L/dL=-\phi_L^2/(3\pi)$ and $\phi$ at the start, $\phi_L=\phi/(1+u)$ with $u=L\phi/(3\pi)$. Then
# $dS/dL=1-\phi_LS/\pi$ is, in $u$,
#
# $$
# \frac{dS}{du}=\frac{3\pi}\phi-\frac{3S}{1+u},\qquad\text{solved by}\qquad S=\frac{3\pi}{4\phi}\bigl[(1+u)-(1+u)^{-3}\bigr],\quad S(0)=0 ,
# $$
#
# and $\bar\Theta=S/L=\phi S/(3\pi u)$. Half of the way is $F=\frac58$: $(1+u)-(1+u)^{-3}=\frac52u$ at $u=0.4463$.
#
# </details>
#
# **2. The limit 1/5.** Which activation would have it? Find $k$, then $q$, then how sharp its bend must be.
#
# <details class="solution"><summary>Solution</summary>
#
# $1/(1+k)=\frac15$ asks for $k=4$, so that $q=1/(k-1)=\frac13$, and the layer map must leave the identity as
# $(1-\rho)^{4/3}$. A singularity $|z|^s$ of the activation makes the term $(1-\rho)^{s+1/2}$ in $\mathbb
# E[\sigma(u)\sigma(v)]$: $s=1$, a kink, gives the exponent $\frac32$ of the ReLU. Here $s=\frac56$, sharper than a
# kink: $\sigma(z)=|z|^{5/6}$, shifted and scaled such that $\mathbb E\sigma^2=\mathbb E\sigma'^2=1$. (Between
# $s=\frac12$, where $\mathbb E\sigma'^2$ becomes infinite, and 1 the limit is $\frac q{1+2q}=\frac{2s-1}{4s}$.)
#
# </details>
#
# **3. A prediction.** The claims on Fig. 2 and Theorem 2 look at depth $10^6$. What will C.Thm2-limit measure at
# depth 1000, for the four pairs of Fig. 2?
#
# ```sh
# make chapter-05 PROFILE=smoke NAME=shallow PARAMS='-p curve_depth 1000 -p curve_rho "[0.0, 0.5, 0.9, 0.99]"'
# ```
#
# <details class="solution"><summary>Solution</summary>
#
# By {eq}`eq:C:rate` the distance of a pair is $\bigl[\frac38\ln1000+\frac14c(\rho)-\frac18\bigr]/1000$ to first
# order. The closest of the four pairs has the largest $c$, $c(0.99)=59.40$ by iterating {eq}`eq:C:offset`: 0.01731.
# That lies far outside the band of C.Thm2-limit, which is one for depth $10^6$; compare with what the run measures. How deep one must go is set by the closest pair.
#
# </details>
# %% [markdown]
# (depth-operators)=
# # Norms, eigenvalues and width: further statements of paper C
# This page has the paper's figures on the norm of the operator, on eigenvalues and on thirty layers, its Tables 1 and 2, and its single
# statements.
#
# ## The mean norm of the operator stays below one
# Stopping at $t=1$ lowers it: without stopping the norm is {claim}`C.Fig6-early-images` times as large on images and
# {claim}`C.Fig6-early-sphere` times on the sphere, on average over data sizes ({numref}`fig-c-fig6`). On the sphere this factor goes up
# and down with the data size. "The norm" is the Euclidean norm of the vector {eq}`eq:C:operator`, averaged over fresh points. The
# paper bounds it by $O(n)$ for $t\in o(1/\lambda_n)$, with $\lambda_n$ the smallest eigenvalue of $\bar\Theta(X,X)$. For every kernel
# with unit diagonal, every data set, depth and point,
#
# $$
# \|\mathrm{op}_t(x)\|_2 \le \Bigl(\max_u \frac{(1-e^{-u})^2}{u}\Bigr)^{1/2}\sqrt t = 0.638\ldots\sqrt t ,
# $$ (eq:C:norm)
#
# because $k_x^\top\bar\Theta^{-1}k_x\le\bar\Theta(x,x)=1$. At $t=1/\lambda_n$ the bound depends on the data size through $\lambda_n$
# alone.
#
# The paper stops at integers from 0 to $\lceil1/\lambda_n\rceil$. The last of them keeps at least $1-1/e$ of every mode. So it lowers the
# norm by a factor of at most 1.582, and by this much only where the smallest eigenvalues dominate. Stopping has most effect at $t=1$, the
# first time that predicts anything. The depth is rounded up.
# %%
rows = chapter.rows(studies.projection_norm)
times = (("norm", "o-", "t = ⌈1/λ⌉"), ("early", ":", "t = 1"), ("forever", "--", "t = ∞"))
fig, ax = plt.subplots()
for (cloud, norms), colour in zip(rows.groupby("cloud"), plots.PALETTE):
    for time, style, words in times:
        middle = norms.groupby("n")[time].mean()
        ax.plot(middle, style, markersize=4, color=colour, label=f"{cloud}, {words}")
ax.set(ylim=(0, 1), xlabel="data size n", ylabel="norm of the operator", title="Does the norm grow like n?")
plots.curve_axes(ax, rows.n.unique(), errors=False)
ax.legend(ncols=2)
chapter.figure(
    fig,
    "fig-c-fig6",
    rows,
    alt="Norm of the operator against data size for two kinds of data: all below one, those stopped at time 1 well below those "
    "stopped last and those never stopped, which nearly coincide.",
)
# %% [markdown] tags=["caption"]
# **All norms stay below one; stopping early lowers them, stopping late hardly.** Norm of the projection operator at the depth of Theorem 3,
# as in paper C, Fig. 6, stopped at the last of the figure's times, at the first, and not at all.
# %% [markdown]
# **Near-duplicates** (Theorem 3 b). Two points at a small angle $\phi$ have the kernel $1-(L-1)\phi/(2\pi)$. So
# $\lambda_n\simeq(L-1)\,\phi_{\min}/(2\pi)$ tends to 0 with their angle, and the bound $\lambda_n^{-1/2}$ of the norm to infinity. The norm
# itself stays bounded: its exponent in the angle is {claim}`C.Thm3-duplicates`. Near angle 0 the kernel is that of a path of independent
# steps, which is not extrapolated. We give each of twenty points on a sphere a second one at a small angle, and take the worst
# points beyond the pairs, at which the norm exceeds one.
# %%
rows = chapter.rows(studies.near_duplicates, "main")
chapter.table(
    rows.groupby(["depth", "gap"])[["smallest", "stopped", "forever"]].mean().reset_index(),
    "tab-c-duplicates",
    "The norm stays bounded as near-duplicates approach each other. Smallest eigenvalue against their angle (gap), and the largest norm "
    "of the operator beyond them, stopped at $\\lambda_n^{-1/2}$ and at infinite time. Means over data sets.",
    rows,
)
# %% [markdown]
# ## The smallest eigenvalue still rises at depth 30
# From depth 5 to 30 the smallest eigenvalue grows by a factor of {claim}`C.Fig7-stabilised` at the largest $n$
# ({numref}`fig-c-fig7`). The points are uniform on the sphere.
# %%
rows = chapter.rows(studies.smallest_eigenvalue, "main")
fig, ax = plt.subplots()
for (n, eigenvalues), colour in zip(rows.groupby("n"), plots.shades(rows.n.nunique())):
    ax.plot(eigenvalues.groupby("depth").smallest.mean(), "o-", markersize=4, color=colour, label=f"n = {n}")
ax.axhline(0.75, color=plots.COLOURS["feature"], linewidth=1, label="limit 3/4")
ax.set(xlabel=r"depth $L$", ylabel=r"$\lambda_n$", ylim=(-0.02, 0.8))
ax.set_title("Has the smallest eigenvalue settled at depth 5?")
plots.curve_axes(ax, rows.depth.unique(), errors=False)
ax.legend(ncols=2, fontsize="small")
chapter.figure(
    fig,
    "fig-c-fig7",
    rows,
    alt="Smallest eigenvalue against depth, one curve for each data size, all still rising at depth 30 towards a line at "
    "three quarters.",
)
# %% [markdown] tags=["caption"]
# **The smallest eigenvalue has not settled at depth 5.** Smallest eigenvalue of the kernel matrix against depth for several data sizes, as
# in paper C, Fig. 7. It rises with depth and falls with $n$.
# %% [markdown]
# The paper says: "For large values of $n$, a depth of 5 stabilizes the smallest eigenvalue". This is right if it means that the
# eigenvalue is away from 0: it is {claim}`C.Fig7-away` there. It has not settled, the less so the more data there are. It falls with
# $n$ at every depth by a theorem: the matrix of fewer points is a block of that of more, and eigenvalues interlace. The proof's
# lower bound $\Omega(1/L)$ is true but falls with depth, while $\lambda_n$ rises towards 3/4, as $\frac34-\frac38\ln L/L$.
#
# **The prescribed depth stays below 2 on the sphere.** Theorem 3 asks for $L\in O(\max_{ij} 1/\sqrt{1-h(x_i\cdot x_j)})$. Fig. 8 of the
# paper plots this number, and its Fig. 6 takes it for the depth. On the paper's sphere data it grows as $n$ to the power
# {claim}`C.Fig8-trend` and is {claim}`C.Fig8-invertible` at the largest $n$. Rounded up it is 2, the least depth at which the kernel of points
# without antipodes is invertible. (At $L=2$ its odd part is the inner product, of rank $n_0$, so that more than $n_0$ antipodal pairs make
# it singular.) On digits it is larger. With the constants of {eq}`eq:C:crossover`, half the way to the limit takes 2.975 of these units.
# %% [markdown]
# ## The accuracy at depth 30 is reproduced
# With the classes in equal parts it is {claim}`C.Tab2-accuracy`, and the F1 score {claim}`C.Tab2-f1`; Table 2 of the paper has 0.874 and
# 0.870. Its "average error" is 6.435, and App. D calls it the mean squared error, which is {claim}`C.Tab2-error` here. Ten times the mean
# norm of the residual is {claim}`C.Tab2-residual`, on digits as they are drawn. Both ways of drawing are in the table below. The
# table's deviations depend on the number of test digits, too, which is not given.
#
# Table 2 reports kernel regression on 500 MNIST digits at depth 30. It does not name the targets, the test set, the initial function or
# the stopping time. We take one-hot targets, $f_0 = 0$, infinite time, and disjoint splits of the 5000 digits that ship with a package.
# Fewer layers do better, as in {numref}`fig-c-recipe`.
# %%
balanced = chapter.rows(studies.mnist_regression, "main").assign(classes="in equal parts")
drawn = chapter.rows(studies.drawn_regression, "main").assign(classes="as drawn")
rows = pd.concat([balanced, drawn])
scores = rows.assign(residual=10 * rows.residual).groupby(["classes", "depth"], sort=False)
columns = ["accuracy", "f1", "mse", "residual"]
table = scores[columns].agg(lambda values: f"{values.mean():.3f} ± {values.std():.3f}").reset_index()
stated = [papers.stated(name) for name in ("C.depth", "C.accuracy", "C.f1")]
table.loc[len(table)] = ["paper C", *stated, "", ""]
chapter.table(
    table.rename(columns={"f1": "F1", "mse": "mean squared error", "residual": "ten times the residual's norm"}),
    "tab-c-tab2",
    "Depth 30 has the paper's accuracy. Kernel regression on images, classes in equal parts and as they are drawn, mean and standard "
    "deviation over splits. The last row is Table 2 of paper C.",
    balanced,
    drawn,
)
# %% [markdown]
# ## Eigenprojectors converge like $1/L$, the matrix does not
# The distance of the projectors from their limit falls with the exponent {claim}`C.Thm3-projector` in $L$ ({numref}`fig-c-projectors`).
# Theorem 3 compares the operator {eq}`eq:C:operator` with that of the limit $\frac14\mathbf 1\mathbf 1^\top+\frac34 I$. Its first
# statement has the rate of Theorem 2, and is corrected with it. Its second statement, that the eigenprojectors converge like $1/L$, is
# true, but the paper's proof does not show it: $\|\bar\Theta-\lim\|_2$ is of order $n\log L/L$.
#
# The reason is another. The logarithm is the same for every pair. So it shifts all off-diagonal entries and leaves the eigenvectors
# unchanged. Only the offsets $c(\rho_{ij})$ of {eq}`eq:C:rate` turn them. To first order, with a gap of $n/4$,
#
# $$
# L\,\|P^{(L)}-P\|_2 \to \operatorname{sd}_i\Bigl(\frac1n\sum_{j\ne i} c(\rho_{ij})\Bigr) .
# $$ (eq:C:projector)
#
# The paper's footnote on the sine of the angle between the subspaces has the matrix of ones in place of the limit. Its
# $v_1\cdot\tilde v_1\approx1-4\pi/L$ is $1-O(L^{-2})$, the cosine of an angle of order $1/L$.
# %%
rows = chapter.rows(studies.projectors)
fig, axes = plots.panels(2, width=4.3, height=3.6)
for (cloud, n0), matrices in rows.groupby(["cloud", "n0"]):
    means = matrices.groupby("depth")[["projectors", "matrix", "sharp"]].mean()
    name = f"sphere, $n_0={n0}$" if cloud == "sphere" else cloud
    (line,) = axes[0].plot(means.index * means.projectors, "o-", markersize=4, label=name)
    axes[0].axhline(means.sharp.iloc[0], color=line.get_color(), linewidth=0.8, linestyle="--")
    axes[1].plot(means.index * means.matrix, "o-", markersize=4)
axes[0].axhline(4 * np.pi, color=plots.COLOURS["paper"], label="paper: 4π")
axes[0].set(xscale="log", yscale="log", xlabel=r"depth $L$", ylabel=r"$L\,\Vert P^{(L)}-P\Vert$")
axes[1].set(xscale="log", xlabel=r"depth $L$", ylabel=r"$L\,\Vert\bar\Theta-\lim\Vert/n$")
for ax, title in zip(axes, ("Projectors: 1/L?", "Matrix: 1/L?")):
    ax.set_title(title)
axes[0].legend(loc="upper right", bbox_to_anchor=(1, 0.88), fontsize="small")
chapter.figure(
    fig,
    "fig-c-projectors",
    rows,
    alt="Left, rescaled distance of projectors against depth, levelling off at dashed constants below a line for "
    "the paper's bound. Right, that of the matrix, which keeps rising.",
)
# %% [markdown] tags=["caption"]
# **Projectors converge as $1/L$, the matrix as $\log L/L$.** Left: depth times the distance of the eigenprojectors from their limit, with
# the predicted constants (dashed) and the bound of the paper. Right: depth times the distance of the matrix over $n$, which a rate $1/L$
# would bound.
# %% [markdown]
# ## Thirty layers do not show the limit of the tangent kernel
# On digits {claim}`C.Fig5-theta` of its mean distance from 1/4 is left at depth 30. Figures 4 and 5 of the paper follow three kernels over
# 30 layers, for pairs of data and for a fresh point ({numref}`fig-c-fig4`). They are $\bar\Theta$, the correlation $\rho$, and
#
# $$
# \eta^{(L+1)} = \bigl(1+e^{-\eta^{(L)}}\bigr)^{-2}, \qquad \eta^{(1)} = x\cdot x' .
# $$ (eq:C:eta)
#
# "Uniform" points can be in either cube, $[-1,1]^{128}$ or $[0,1]^{128}$; we take the first.
# %%
cube = chapter.rows(studies.trajectories, "cube")
images = chapter.rows(studies.trajectories, "images")
names = {"theta": r"$\bar\Theta^{(L)}$", "rho": r"$\rho^{(L)}$", "eta": r"$\eta^{(L)}$"}
fig, axes = plots.panels(2, height=3.9, sharey=True)
for ax, rows, title in zip(axes, (cube, images), ("Cube", "Images")):
    pairs = rows.explode("pair").astype({"pair": float})
    distance = (pairs.pair - pairs.kernel.map(LIMITS)).abs()
    table = pairs.assign(distance=distance).pivot_table(index="depth", columns="kernel", values="distance")
    for kernel, name in names.items():
        ax.plot(table[kernel] / table[kernel].iloc[0], label=name)
    ax.axhline(0.1, color=plots.COLOURS["theory"], linewidth=1, label="a tenth")
    ax.set(yscale="log", xlabel=r"depth $L$", ylim=(1e-4, 2), title=title)
    plots.curve_axes(ax, [1, 2, 5, 10, 30], errors=False)
axes[0].set_ylabel("share of the distance left")
axes[0].legend()
chapter.figure(
    fig,
    "fig-c-fig4",
    cube,
    images,
    alt="Two panels on logarithmic axes: at depth 30 the tangent kernel's remaining distance lies far above those of the other two.",
)
# %% [markdown] tags=["caption"]
# **Correlation and $\eta$ reach their limits; the tangent kernel keeps more than a tenth of its distance.** Three kernels of paper C,
# Figs. 4 and 5, over 30 layers: their mean distance from the limit over pairs of data, relative to the first layer.
# %% [markdown]
# The paper says of thirty layers: "This depth limit is sufficient to show convergence". It calls the convergence of $\rho$ and $\eta$
# quick and that of $\bar\Theta$ sublinear. Of digits it says that the limit "is well approximated at such depths". We ask the same
# of all three kernels: is less than a tenth of the mean distance from the limit left at depth 30? This holds for $\rho$, which converges
# like $1/L^2$, and for $\eta$, whose map is a contraction. It does not hold for $\bar\Theta$, which converges like $\log L/L$. So the
# sentence on digits does not hold at depth 30. Of the cube the paper says less. There the curves cross the limit after some four layers and
# come back from above, so that the distance at one depth says little.
# %% [markdown]
# ## Table 1 of the paper excludes the lazy regime
# In the {term}`lazy regime` the largest change of a neuron falls with the width, with exponent {claim}`C.Tab1-individual`. Paper C's Table
# 1 has 0.33, and so has Adam after 20 steps, {claim}`C.Tab1-neurons`, where the norm grows about as in the table. Section 5 of the paper
# argues that "lazy" is a misnomer: single neurons of a wide network barely move, but the layer as a whole does. Table 1 is its evidence,
# from two hidden ReLU layers trained on text. In it single neurons move *more* at larger width, against the paper's interpretation.
#
# The words, targets, optimiser, rate and number of steps are not given. Our tokens are the most frequent words, one-hot. The target of a
# token is the distribution of the next one (bigrams), or the likeliest next word (words), or zero. With target zero nothing is learned:
# only the initial function $f_0$ is unlearned. In the NTK parametrisation gradient descent has a rate that keeps the kernel's speed the
# same at every width. Theory then has the exponents 0 and $-\frac12$, up to logarithms.
# %%
rows = chapter.rows(studies.text_training)
widths = np.array(papers.stated("C.widths"))
paper = {"optimiser": "paper C"}
for measure, name in (("norm", "C.norms"), ("largest", "C.largest"), ("ratio", "C.ratios")):
    paper[measure] = slopes(widths, np.array([papers.stated(name)]))[0].round(3)
table = pd.concat([width_exponents(rows).astype(object), pd.DataFrame([paper])])
lazy = rows.query("optimiser == 'gd' and parametrisation == 'ntk' and step == 20 and width == width.max()")
moved = lazy.groupby("targets").norm.mean()
chapter.glue("unlearnt-frequencies", moved.zero / moved.bigrams)
chapter.glue("unlearnt-words", moved.zero / moved.words)
chapter.table(
    table.fillna("—"),
    "tab-c-tab1",
    "Exponents depend on the training. Exponents in the width of the three measures of paper C, Tab. 1, with intervals over "
    "initialisations: norm of the change of the last hidden layer, its largest entry, and their ratio.",
    rows,
)
# %% [markdown]
# A table of two widths does not identify the training. Plain gradient descent at one rate for all widths gives
# such exponents after a few steps, Adam after some tens. Each passes on to others as training goes on: under Adam the norm's exponent
# falls by {claim}`C.Tab1-steps` from the first step to the 80th. The table excludes gradient descent at a rate that keeps the kernel's
# speed, the lazy regime of the theory.
#
# The learned part of the motion depends on the targets. Next-word frequencies are vectors of mean norm 0.4, beside an $f_0$ of order
# one: nearly all motion is unlearning. Towards zero the layer moves {glue:text}`unlearnt-frequencies` times as far at the largest width. For
# single next words, of norm one, this share is smaller, {glue:text}`unlearnt-words`. The norm of the layer's change does not vanish in the
# lazy regime either. So this statement of the paper is true, but it is no evidence against laziness.
# %% [markdown]
# ## Also checked
# The table below has single statements of the paper, and what comes of them.
#
# *Values and growth* (Prop. 5, Sec. 6.3). At $L=1$ the kernel is $\rho$ itself. At $L=2$ it is negative for correlations between $-1$ and
# $-0.394$. The derivative $h''$ diverges at $-1$. So from $L=2$ on the kernel first falls as the correlation rises from $-1$, and grows from
# $r_L$ on, with $r_2=-\cos\psi$, $\psi\tan\psi=\frac12$. Digits have positive inner products, and the paper's statements hold for them.
#
# *The kernels $\eta$* (Prop. 8). A positive definite kernel has *no* negative term in its power series. But the cubic one is negative in
# $(1+e^{-z})^{-2} = \frac14 + \frac z4 + \frac{z^2}{16} - \frac{z^3}{48} - \dots$ Twelve evenly spaced points on a circle,
# a great circle of every sphere, show it. All entries of $\eta^{(L)}$, the diagonal included, tend to one number: the limit is singular.
#
# *The closest two inputs* (Prop. 7, Example 2). The proof bounds the probability that an *angle* is at most $\delta$, by
# $\binom n2\sqrt{n_0/2}\,\delta^{n_0-1}/(\sqrt\pi(n_0-1))$. The statement has the inner product $1-\delta$, which belongs to the angle
# $\arccos(1-\delta)\simeq\sqrt{2\delta}$. For $n=2^{30}$ points in 128 dimensions we compute the event from the exact law of one pair.
#
# *Biases* (App. A; here of standard deviation $\beta$). The variance of a layer tends to $2\beta^2$, half of which all inputs share. So
# the correlation map has slope 1/2 at its fixed point. The entries tend to the diagonal as $2^{-L/2}$, and the limit is not invertible.
#
# *Collinear points* (App. B). The inverse stereographic projection $x\mapsto(2x,|x|^2-1)/(|x|^2+1)$ works as stated.
#
# *The toy network* (Example 1). A layer of $m$ neurons at $m^{-1-\alpha}$ has the sum of moduli $m^{-\alpha}$. Its Euclidean norm is
# $m^{-1/2-\alpha}$ and vanishes for $\alpha=0$, too.
#
# *Inner products of hidden layers* (Prop. 4). They keep changing by $O(1)$, while they are themselves $O(m)$: the change has the
# exponent {claim}`C.Prop4-inner-product` in the width $m$. Relative to themselves it vanishes like $1/m$, with the exponent
# {claim}`C.Prop4-features`. This holds where all layers grow together. We do not train networks whose last layer stays finite.
# %%
checked = [claim for claim in claims.claims_of("05") if claim.figure == "tab-c-checked"]
statements = [{"statement": claim.statement, "of": claim.source} for claim in checked]
chapter.table(
    pd.DataFrame(statements),
    "tab-c-checked",
    "Single statements of the paper and of ours, and where they are from. What we find is below.",
    chapter.rows(studies.biases, "main"),
    chapter.rows(studies.colinear, "main"),
)
# %% [markdown]
# ## Errata and open points
# *Errors.* Two corrections follow from the corrected rate ({ref}`erratum <erratum-c-rate>`): the unit of
# {ref}`nearby inputs <erratum-c-corollary-1>` and the {ref}`projectors <erratum-c-projector>`. Others are {ref}`range and
# monotonicity <erratum-c-range>`, {ref}`angle or inner product <erratum-c-angle>`, {ref}`eta <erratum-c-eta>`, {ref}`biases
# <erratum-c-biases>` and {ref}`the toy network <erratum-c-example-1>`.
#
# *Limits* of statements: {ref}`depth 30 <erratum-c-depth-30>` and {ref}`norms <erratum-c-norm>`.
#
# *Interpretations*, where the paper leaves something open: {ref}`depth 5 <erratum-c-depth-5>`, {ref}`the bound on the depth
# <erratum-c-depth-bound>`, {ref}`operators of two points <erratum-c-nontrivial>`, {ref}`what a deep predictor forgets
# <erratum-c-data-independent>`, {ref}`Table 1 <erratum-c-table-1>`, {ref}`Proposition 4 <erratum-c-proposition-4>` and
# {ref}`Table 2 <erratum-c-table-2>`.
#
# *Open*: the paper's settings for Tables 1 and 2; a proof of the ridge uniform in $n$; the law of a finite network's kernel, which
# depends on depth over width {cite}`hanin2020`.
#
# ## Try it yourself
# - `make chapter-05 NAME=mine PARAMS='-p curve_rho "[0.3, 0.6, 0.95, 0.999]"'` draws other pairs.
# - `-p corpus fashion_mnist` repeats everything on clothes; `-p text wiki_text8style` reads Wikipedia, where it is in `$REGIMES_DATA`.
# - `-p 05.size_over_depth.images.ratio "[1.0, 50.0]"` goes to networks as deep as there are images, and to shallow ones. Where does the collapse end?
# - Derive {eq}`eq:C:universal-log` with $b=\frac32$ at every kink: what does the factor in front of the ReLU's map do?
