// Chapter 3: the simplest lazy networks, of which the readout alone learns: f(x) = Σ a σ(ω·x/√d), one parameter a neuron, at the end
// of training on the quadratic hinge. Labels are the sign of x₁, some flipped. Tests give the engine the same weights and points.
(function (explore) {
  "use strict";
  const SLACK = 1e-4, DECAYS = Array.from({ length: 6 }, (_, k) => 100 ** -(k + 0.5)), ROUNDS = 60;

  function dot(u, v) {
    let sum = 0;
    for (let i = 0; i < u.length; i++) sum += u[i] * v[i];
    return sum;
  }

  // σ = √2 max(0, ·) of each neuron, for rows of inputs
  const hidden = (x, neurons) => x.map((row) => Float64Array.from(neurons, (omega) => Math.SQRT2 * Math.max(0, dot(omega, row)) / Math.sqrt(row.length)));

  // a with (K + decay) a = 1 on some rows and columns, by Cholesky
  function solve(K, rows, decay) {
    const L = [], a = [];
    rows.forEach((m, i) => {
      const row = new Float64Array(i + 1);
      for (let j = 0; j <= i; j++) {
        let sum = K[m][rows[j]] + (i === j ? decay : 0);
        for (let k = 0; k < j; k++) sum -= row[k] * (i === j ? row[k] : L[j][k]);
        row[j] = i === j ? Math.sqrt(Math.max(sum, 1e-300)) : sum / L[j][j];
      }
      L.push(row);
      a.push((1 - dot(a, row)) / row[i]);
    });
    for (let i = a.length - 1; i >= 0; i--) {
      a[i] /= L[i][i];
      for (let j = 0; j < i; j++) a[j] -= L[i][j] * a[i];
    }
    return a;
  }

  // the least weights of the least hinge: Newton's method with an exact line search, and a decay that falls until all points fit
  function fit(signed) {
    const P = signed.length, N = signed[0].length, K = signed.map((u) => signed.map((v) => dot(u, v)));
    const unit = K.reduce((sum, row, m) => sum + row[m], 0) / Math.min(P, N);
    let weights = new Float64Array(N), margins = new Float64Array(P);
    for (const share of DECAYS) {
      for (let round = 0, same = false; round < ROUNDS && !same; round++) {
        const active = [...signed.keys()].filter((m) => margins[m] < 1), aim = new Float64Array(N), old = weights;
        solve(K, active, share * unit).forEach((value, i) => signed[active[i]].forEach((s, k) => (aim[k] += value * s)));
        const there = signed.map((row) => dot(row, aim));
        same = there.every((margin, m) => margin < 1 === margins[m] < 1);
        const t = same ? 1 : along(margins, there, old, aim, share * unit);
        weights = old.map((value, k) => value + t * (aim[k] - value));
        margins = margins.map((value, m) => value + t * (there[m] - value));
      }
      if (Math.min(...margins) > 1 - SLACK) break;
    }
    return { weights, margins, left: margins.reduce((count, margin) => count + (margin <= 1 - SLACK), 0) };
  }

  // how far towards `aim` the loss falls, whose slope along the line increases
  function along(from, to, weights, aim, decay) {
    let low = 0, high = 1;
    const slope = (t) => weights.reduce((sum, w, k) => sum + decay * (w + t * (aim[k] - w)) * (aim[k] - w), 0)
      - to.reduce((sum, end, m) => sum + Math.max(0, 1 - from[m] - t * (end - from[m])) * (end - from[m]), 0);
    for (let i = 0; i < 40; i++) {
      const t = (low + high) / 2;
      [low, high] = slope(t) < 0 ? [t, high] : [low, t];
    }
    return (low + high) / 2;
  }

  // Cover: the share of random labels of P points that N parameters separate
  function cover(P, N) {
    let term = 2 ** (1 - P), sum = 0;
    for (let k = 0; k < N; k++) {
      sum += term;
      term *= (P - 1 - k) / (k + 1);
    }
    return sum;
  }
  explore.jam = { hidden, fit, cover };

  const D = 10, MEMBERS = 15, MOST = 96, STEP = 2, TEST = 1000, FIRST = 4;
  const cut = (rows, count) => rows.map((row) => row.subarray(0, count));

  // networks of all widths on one training set: a wider one has the neurons of the narrower, and more
  function ensemble(P, flipped, seed) {
    const normal = explore.normal(seed), inputs = (count) => Array.from({ length: count }, () => Float64Array.from({ length: D }, normal));
    const x = inputs(64).slice(0, P), flips = Float64Array.from({ length: 64 }, () => explore.below(normal()));
    const y = x.map((row, m) => Math.sign(row[0]) * (flips[m] < flipped ? -1 : 1)), tested = inputs(TEST), all = inputs(MEMBERS * MOST);
    const members = Array.from({ length: MEMBERS }, (_, e) => {
      const own = all.slice(e * MOST, (e + 1) * MOST), signed = hidden(x, own);
      signed.forEach((row, m) => row.forEach((value, k) => (row[k] = y[m] * value)));
      return { signed, tested: hidden(tested, own).map((row, m) => row.map((value) => value * Math.sign(tested[m][0]))) };
    });
    return { rows: [], members, half: null };
  }

  function voter(member, N) {
    const found = fit(cut(member.signed, N)), F = cut(member.tested, N).map((row) => dot(row, found.weights));
    return { ...found, F, norm: Math.sqrt(dot(F, F) / TEST) };
  }

  // of members whose outputs count positive where they are right
  function poll(N, found) {
    const wrong = (values) => values.reduce((sum, v) => sum + (v < 0) + (v === 0) / 2, 0) / TEST, mean = (values) => values.reduce((a, b) => a + b) / MEMBERS;
    const summed = (of) => found[0].F.map((_, m) => found.reduce((sum, one) => sum + of(one.F[m], one), 0)), norms = found.map((one) => one.norm).sort((a, b) => a - b);
    return {
      N, margins: found[0].margins, fit: mean(found.map((one) => +(one.left === 0))), left: mean(found.map((one) => one.left)), spread: norms[MEMBERS - 1] / norms[MEMBERS >> 1],
      single: mean(found.map((one) => wrong(one.F))), mean: wrong(summed((f) => f)), vote: wrong(summed((f) => Math.sign(f))), normed: wrong(summed((f, one) => f / one.norm)),
    };
  }
  let key, it;

  function start({ neurons, points, flipped, seed }) {
    const now = [points, flipped, seed].join();
    if (key !== now) [key, it] = [now, ensemble(points, flipped / 100, seed)];
    const { rows, members } = it, next = () => FIRST + STEP * rows.length, P = points;
    let found = [];

    function advance(budget) {
      const end = performance.now() + budget;
      while (next() <= neurons && performance.now() < end) {
        found.push(voter(members[found.length], next()));
        if (found.length === MEMBERS) [found, rows[rows.length]] = [[], poll(next(), found)];
      }
      return next() <= neurons;
    }
    const at = () => rows[Math.min(rows.length, 1 + (neurons - FIRST) / STEP) - 1];

    function draw([one, share, errors]) {
      if (!rows.length) return;
      const now = at(), sorted = Array.from(now.margins).sort((a, b) => a - b), ticks = [0, 32, 64, 96].map((n) => [n, n]);
      const margins = explore.plot(one, { from: 0, to: P + 1, ticks: [], label: `${P} points` }, { from: -2, to: 4, ticks: [[-2, "−2"], [0, "0"], [1, "1"], [4, "4"]] });
      margins.line([[0, 1], [P + 1, 1]], one.faint, [4, 4]);
      sorted.forEach((margin, m) => margins.dot(m + 1, margin, 3, margin <= 1 - SLACK ? one.minus : margin < 1 + SLACK ? one.green : one.plus));

      const x = { from: 0, to: MOST, ticks, label: "neurons N" }, part = explore.plot(share, x, { from: 0, to: 1, ticks: [[0, "0"], [0.5, "½"], [1, "1"]] });
      part.line(Array.from({ length: MOST }, (_, n) => [n + 1, cover(P, n + 1)]), share.faint, [6, 4]);
      part.line(rows.map((row) => [row.N, row.left / P]), share.minus);
      part.line(rows.map((row) => [row.N, row.fit]), share.plus);
      part.dot(now.N, now.fit, 4, share.plus);

      const axes = explore.plot(errors, x, { from: 0.1, to: 0.6, ticks: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6].map((v) => [v, `${Math.round(100 * v)} %`]) });
      [["single", errors.pink], ["mean", errors.minus], ["vote", errors.green], ["normed", errors.plus, "mean over norms"]].forEach(([name, colour, label], i) => {
        axes.line(rows.map((row) => [row.N, row[name]]), colour);
        axes.dot(now.N, now[name], 4, colour);
        axes.say(label || name, 0.97 * MOST, 0.56 - 0.04 * i, colour, "right");
      });
    }

    function said() {
      const now = at(), share = (value) => `${explore.number(100 * value)}\u00a0%`;
      return `With ${now.N} neurons ${Math.round(now.fit * MEMBERS)} of ${MEMBERS} networks fit all ${P} points; on random labels Cover has ${share(cover(P, now.N))}. `
        + (now.left ? `On average ${explore.number(now.left)} points are left. ` : "No point is left. ")
        + `The largest norm is ${explore.number(now.spread)} times the median. `
        + `Wrong on new points: single ${share(now.single)}, mean ${share(now.mean)}, vote ${share(now.vote)}, mean over norms ${share(now.normed)}.`;
    }
    return { advance, draw, said };
  }

  explore.add("jam", {
    knobs: {
      neurons: { label: "neurons N", min: FIRST, max: MOST, step: STEP, value: 24, says: String },
      flipped: { label: "labels flipped", min: 0, max: 50, step: 10, value: 10, says: (v) => (v === 50 ? "random" : `${v} %`) },
      points: { label: "training points P", min: 32, max: 64, step: 16, value: 64, says: String },
      seed: { label: "seed", min: 1, max: 20, value: 4, says: String },
    },
    panels: [
      { title: "one network: its points by their margin", alt: "The margins of the training points, sorted." },
      { title: "blue: networks that fit; orange: points left", alt: "The share of networks that fit, and of points left, against the neurons." },
      { title: "wrong on new points", alt: "Test errors against the neurons.", wide: 0.74 },
    ],
    start,
  });
})(globalThis.Explore = globalThis.Explore || {});
