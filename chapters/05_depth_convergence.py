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
# **Guess first:** how much of their kernel do two opposite inputs keep, and does a deeper network learn more? Move the sliders.
#
# <div class="explore" data-name="depth">
#
# All pairs of inputs end near one kernel, 1/4, and a deeper network learns less along each eigenvector. Left: two inputs after $L$
# layers. Middle: their normalised kernel. Right: the share that ridge regression with the ridge of depth $L$ learns.
#
# </div>
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
curve_rho: "distinct numbers from -1 to 0.999999" = [0.0, 0.5, 0.9, 0.99, -1.0, -0.9, 0.9999]  # input correlations (paper C, Fig. 2: the first four)
curve_depth: "count from 1000 to 1e7" = 1000000  # deepest network of the curves (paper C, Fig. 2: not stated)
tab2_n: "count from 10 to 1e5" = 500  # training points (paper C, Tab. 2: 500)
tab2_test: "count from 10 to 1e5" = 2000  # test points (paper C: not stated)
# fmt: on
# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

from companion.report import plots, sketches
from companion.report.chapter import Chapter
from companion.studies import depth as studies
from companion.theory.depth import deep_limit, ridge
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
# %% tags=["key"]
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
