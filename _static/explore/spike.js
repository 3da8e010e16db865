// Chapter 7: one gradient step of a tanh network, by paper E's model. Results 3.1 to 3.3: the spike, the features given the input's
// projection k on it, and the saddle point of a ridge readout with as many neurons as dimensions. Tests compare each with the engine.
(function (explore) {
  "use strict";
  const REACH = 8, ROOT = Math.sqrt(2 * Math.PI);
  const normal = (z) => Math.exp(-z * z / 2) / ROOT;

  // nodes and weights of the normal measure
  function nodes(count) {
    const step = 2 * REACH / count;
    return Array.from({ length: count + 1 }, (_, i) => [i * step - REACH, step * normal(i * step - REACH)]);
  }
  const INNER = nodes(160);
  const mean = (of, at = INNER) => at.reduce((sum, [z, w]) => sum + w * of(z), 0);

  // E y, E z y and E y² of a function of a normal number
  function averages(of) {
    let first = 0, slope = 0, square = 0;
    for (let i = 0; i < INNER.length; i++) {
      const z = INNER[i][0], w = INNER[i][1], y = of(z);
      first += w * y;
      slope += w * z * y;
      square += w * y * y;
    }
    return [first, slope, square];
  }

  // targets σ*, with E_s σ*(a + b s), E_s s σ*(a + b s), E_s σ*² for a normal s
  const smooth = (f) => ({ f, given: (a, b) => averages((s) => f(a + b * s)) });
  const sign = { f: Math.sign, given: (a, b) => [2 * explore.below(a / b) - 1, 2 * normal(a / b), 1] };
  const TARGETS = [["sine", smooth(Math.sin)], ["sign", sign], ["cubic", smooth((x) => x + (x ** 3 - 3 * x) / Math.sqrt(6))]];

  const H1 = mean((z) => 1 - Math.tanh(z) ** 2), H1_CHECK = mean((z) => (1 - Math.tanh(z) ** 2) ** 2) - H1 ** 2;
  const moments = TARGETS.map(([, target]) => {
    const [, t1, t2] = target.given(0, 1);
    return { t1, t2 };
  });

  // Result 3.1: strength r and cosine γ of the spike, variance c of the bulk
  function spike(target, step, alpha0) {
    const { t1, t2 } = moments[target], length = Math.sqrt(t1 ** 2 + t2 / alpha0);
    return { r: step * H1 * length, gamma: t1 / length, c: 1 + step ** 2 * t2 * H1_CHECK / alpha0 };
  }

  // Result 3.2 at each node: κ₀, κ₁, κ₁², κ_*², and the target's part
  function channel(target, { r, gamma, c }) {
    const root = Math.sqrt(c), across = Math.sqrt(1 - gamma ** 2);
    return nodes(Math.max(160, 2 * Math.ceil(33 * r))).map(([k, w]) => {
      const [k0, slope, square] = averages((z) => Math.tanh(r * k + root * z));
      const [h, hs, h2] = TARGETS[target][1].given(gamma * k, across);
      return { k, w, k0, k1: slope / root, s1: slope ** 2 / c, s2: Math.max(0, square - k0 ** 2 - slope ** 2), h, hs, h2 };
    });
  }

  // V = (tr D/S, tr 1/S) of S = s + B D over the bulk's spectrum, with minus its derivatives; p = d
  function bulk(B, s, c) {
    const load = c * B, g = 2 / (s + Math.sqrt(s * s + 4 * load * s)), u = 1 + load * g, w = 1 / g ** 2 - (load / u) ** 2, cross = c / (u * u * w);
    return [c * g / u, g, [cross * c / u ** 2 + (c * g / u) ** 2, cross, 1 / w]];
  }

  // Result 3.3: the readout's overlaps m, ζ, ψ and the test error, with α = n/d samples and the penalty λ
  function solve(e, c, alpha, lam) {
    const over = (of) => e.reduce((sum, x) => sum + x.w * of(x, 1 + V1 * x.s1 + V2 * x.s2), 0), hats = () => [over((x, one) => x.s1 / one), over((x, one) => x.s2 / one)];
    let V1 = c / lam, V2 = 1 / lam, P = null;
    for (let i = 0, gap = 1; i < 3000 && gap > 1e-11; i++) {
      const [B, s] = hats(), [next1, next2, slopes] = bulk(alpha * B, lam + alpha * s, c);
      gap = Math.abs(next1 / V1 - 1) + Math.abs(next2 / V2 - 1);
      [V1, V2, P] = [next1, next2, slopes];
    }
    const A = alpha * over((x, one) => x.k0 ** 2 / one), D = alpha * over((x, one) => x.k0 * x.k * x.k1 / one), F = alpha * over((x, one) => (x.k * x.k1) ** 2 / one) + 1 / (c * V2);
    const b0 = alpha * over((x, one) => x.k0 * x.h / one), b1 = alpha * over((x, one) => x.k * x.k1 * x.h / one), b2 = alpha * over((x, one) => x.k1 * x.hs / one);
    const det = A * F - D * D, none = A < 1e-20, m = none ? 0 : (b0 * F - D * b1) / det, zeta = none ? b1 / F : (A * b1 - D * b0) / det, psi = V1 * b2, hat = zeta / (c * V2);
    const known = (x, C = m * x.k0 + zeta * x.k * x.k1) => x.h2 - 2 * C * x.h + C * C - 2 * x.hs * psi * x.k1;
    const [p11, p12, p22] = P, source = (name) => alpha * over((x, one) => x[name] * known(x) / one ** 2), curve = (a, b) => alpha * over((x, one) => x[a] * x[b] / one ** 2);
    const along = [c * hat * hat * p12 + b2 * b2 * p11, c * hat * hat * p22 + b2 * b2 * p12], [g1, g2] = [source("s1"), source("s2")], [c11, c12, c22] = [curve("s1", "s1"), curve("s1", "s2"), curve("s2", "s2")];
    const y1 = p11 * g1 + p12 * g2 + along[0], y2 = p12 * g1 + p22 * g2 + along[1];
    const M = [1 - p11 * c11 - p12 * c12, -p11 * c12 - p12 * c22, -p12 * c11 - p22 * c12, 1 - p12 * c12 - p22 * c22], size = M[0] * M[3] - M[1] * M[2];
    const q1 = (y1 * M[3] - M[1] * y2) / size, q2 = (M[0] * y2 - M[2] * y1) / size;
    return { m, zeta, psi, error: e.reduce((sum, x) => sum + x.w * (known(x) + q1 * x.s1 + q2 * x.s2), 0) };
  }

  // all of it at a step of a size on α₀ samples a dimension
  function theory(target, step, alpha0, alpha, lam) {
    const at = spike(target, step, alpha0), e = channel(target, at);
    return { ...at, e, ...solve(e, at.c, alpha, lam) };
  }

  // the mean output given t = θ·x, with κ₀ and κ₁ between their nodes
  function learned({ e, gamma, m, zeta, psi }, t) {
    const across = Math.sqrt(1 - gamma ** 2);
    return mean((u) => {
      const k = gamma * t + across * u, place = Math.max(0, Math.min(e.length - 1.001, (k + REACH) / (2 * REACH) * (e.length - 1))), i = Math.floor(place);
      const at = (name) => e[i][name] + (place - i) * (e[i + 1][name] - e[i][name]);
      return m * at("k0") + (zeta * k + psi * (across * t - gamma * u)) * at("k1");
    });
  }
  explore.spike = { theory, moments, learned };

  const LAM = 0.1, SIZES = Array.from({ length: 31 }, (_, i) => 10 ** (i / 12 - 1)), T = Array.from({ length: 61 }, (_, i) => i / 10 - 3);
  const many = (power) => `${power < 0 ? ["½", "¼"][-power - 1] : power ? 2 ** power : ""} d`.trim();

  function start({ size, step, readout, target }) {
    const alpha0 = 2 ** step, alpha = 2 ** readout, { t1, t2 } = moments[target], linear = t2 - t1 ** 2, here = 10 ** (size / 12);
    const now = theory(target, here, alpha0, alpha, LAM), output = T.map((t) => [t, learned(now, t)]), curve = [];

    function advance(budget) {
      const end = performance.now() + budget;
      while (curve.length < SIZES.length && performance.now() < end) {
        const one = SIZES[curve.length];
        curve.push([one, theory(target, one, alpha0, alpha, LAM).error / t2]);
      }
      return curve.length < SIZES.length;
    }

    function draw([circle, shape, errors]) {
      const middle = circle.width / 2, root = Math.sqrt(now.c), unit = 0.86 * middle / Math.max(2, root, now.r), turn = Math.acos(now.gamma);
      const rim = Array.from({ length: 91 }, (_, i) => [middle + unit * root * Math.cos(i * Math.PI / 45), middle - unit * root * Math.sin(i * Math.PI / 45)]);
      circle.line(rim, circle.faint);
      circle.line([[middle, middle], [middle, 0.07 * circle.width]], circle.ink, [6, 4]);
      const end = [middle + unit * now.r * Math.sin(turn), middle - unit * now.r * Math.cos(turn)];
      circle.line([[middle, middle], end], circle.green);
      circle.dot(...end, 5, circle.green);
      circle.say(`${explore.number(turn * 180 / Math.PI)}°`, middle, 1.75 * middle, "center");

      const x = { from: -3, to: 3, ticks: [[-3, "−3"], [0, "0"], [3, "3"]], label: "projection on the target" };
      const axes = explore.plot(shape, x, { from: -2, to: 2, ticks: [[-2, "−2"], [0, "0"], [2, "2"]] });
      axes.line(T.map((t) => [t, TARGETS[target][1].f(t)]), shape.ink, [6, 4]);
      axes.line(output, shape.green);

      const sizes = { from: SIZES[0], to: SIZES[SIZES.length - 1], log: true, ticks: [0.1, 1, 10].map((v) => [v, v]), label: "step size η̃" };
      const part = explore.plot(errors, sizes, { from: 0, to: 1.2, ticks: [[0, "0"], [0.5, "½"], [1, "1"]] });
      part.line([[SIZES[0], linear / t2], [sizes.to, linear / t2]], errors.ink, [6, 4]);
      part.line(curve, errors.pink);
      part.dot(here, now.error / t2, 5, errors.pink);
    }

    function said() {
      const [best, least] = curve.reduce((a, b) => (b[1] < a[1] ? b : a));
      return `A step of size ${explore.number(here)} on ${many(step)} samples gives a spike of strength ${explore.number(now.r)}, at ${explore.number(Math.acos(now.gamma) * 180 / Math.PI)}° `
        + `from the target. With ${many(readout)} samples for the readout the model's error is ${explore.number(now.error / linear)} times that of the best linear estimator. `
        + (best > SIZES[0] && best < SIZES[30] ? `At the best size of the step, near ${explore.number(best)},` : `The ${best > 1 ? "largest" : "smallest"} step here is the best:`)
        + ` it is ${explore.number(least * t2 / linear)} times.`;
    }
    return { advance, draw, said };
  }

  explore.add("spike", {
    knobs: {
      size: { label: "step size η̃", min: -12, max: 18, value: 6, says: (v) => explore.number(10 ** (v / 12)) },
      step: { label: "samples, step", min: -2, max: 6, value: 1, says: many },
      readout: { label: "samples, readout", min: -1, max: 4, value: 2, says: many },
      target: { label: "target", min: 0, max: 2, value: 1, says: (v) => TARGETS[v][0] },
    },
    panels: [
      { title: "the spike; dashed: the target's direction", alt: "An arrow at an angle to the target, beside a circle as large as the bulk." },
      { title: "what it learns; dashed: the target", alt: "The mean output against the projection on the target." },
      { title: "test error over the target's size; dashed: best linear", alt: "Test error against the size of the step.", wide: 0.74 },
    ],
    start,
  });
})(globalThis.Explore = globalThis.Explore || {});
